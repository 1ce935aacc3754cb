#!/bin/sh
# What is handed to others besides `make install`: the single-file roller-gen, Debian packages.
. tests/tap
unset MAKEFLAGS MAKELEVEL

try 'make static' make -s static BUILD="$BUILD"
single=$BUILD/static/roller-gen
try 'needs libc alone' sh -c '! ldd "$0" | grep -vE "linux-vdso|lib[cm]\.so|ld-linux|^	statically"' "$single"
mkdir "$dir/empty" && cd "$dir/empty" || exit 1
alone() { env -i "$single" "$@"; }
ends 0 'in an empty folder, without a home' alone --list-profiles
is 'it has every profile' "$(wc -l <out)" -eq "$(ls "$root/profiles" | wc -l)"
has out '^h200 .*(in this program)$' 'and says where'
ends 0 'it plans' alone --profile H100 --dry-run --dump=plan "$root/examples/matmul.te" &&
    has out '^roller-plan 1' 'it plans'
ends 0 'a make rule' alone --profile h100 -M "$root/examples/matmul.te"
has out '^matmul.cu: [^ ]*matmul.te$' 'names no file that is none'
ends 3 'a profile that it does not have' alone --profile h201 "$root/examples/matmul.te"
has err 'did you mean h20*' 'is refused with the names there are'
mkdir profiles && sed 's/"name": "h200"/"name": "mine"/' "$root/profiles/h200.json" >profiles/h200.json
ends 0 'a file' alone --profile h200 --dry-run --dump=plan --json "$root/examples/matmul.te"
has out '"name": "mine"' 'comes before what is inside'

cd "$root" || exit 1
if [ -n "${LONG-}" ] && command -v dh lintian >/dev/null; then
    try 'the packages are built, and lintian is content' make -s deb BUILD="$dir/build"
    try 'the interface is that of the last version' tools/abi "$BUILD"
else
    echo 'ok - the packages are built # SKIP takes minutes: LONG=1, and debhelper and lintian'
fi
