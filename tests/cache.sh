#!/bin/sh
# The kernel cache as users of roller-gen see it: hits, places, crashes, full disks, hostile files.
. tests/tap
cd "$dir" || exit 1
gen=$BUILD/roller-gen
export ROLLER_CACHE_DIR="$dir/cache"

run() { status=$1 what=$2; shift 2; ends "$status" "$what" "$gen" "$@"; }
mm() { run 0 "$1" --emit=cu,ptx,cubin,json,h,c,py -o k.cu "${2:-mm.te}" -v; }
same() { for x in cu sm_90a.ptx sm_90a.cubin json h c py; do cmp "$1.$x" "$2.$x" || return 1; done; }
entries() { ls cache | grep -c '\.rk$'; }
# The entry of the kernel; the other one tells which NVRTC there is.
kernel() { ls -S cache/*.rk | head -n 1; }
hit='the kernel was there'

cat >mm.te <<'END'
param M = 64, N = 48, K = 32;
op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }
END
# mm in other words.
sed 's/\bmm\b/product/; s/\bA\b/Left/g; s/\bM\b/Rows/g; s/\bk\b/z/g' mm.te >other.te

run 0 'without a cache' --no-cache --emit=cu,ptx,cubin,json,h,c,py -o ref.cu mm.te
run 0 'other names without a cache' --no-cache --emit=cu,ptx,cubin,json,h,c,py -o ref2.cu other.te
is '--no-cache makes no folder' ! -e cache
mm 'a miss' && try 'makes the same artefacts' same k ref
is 'the folder is for its user alone' "$(stat -c %a cache)" = 700
rm -f k.*
mm 'a hit' && { try 'gives the same bytes' same k ref; has out "$hit" 'and -v says so'; }
mm 'a hit by other names' other.te && {
    try 'gives what those would' same k ref2
    has out "$hit" 'without compiling'
}
# What is loaded, as the loader tells it.
LD_DEBUG=files "$gen" -q -o k.cu --emit=cubin mm.te 2>hit.log
LD_DEBUG=files "$gen" -q -o k.cu --emit=cubin --no-cache mm.te 2>miss.log
if grep -q libnvrtc miss.log; then
    try 'a hit does not load NVRTC' sh -c '! grep -q libnvrtc hit.log'
fi
run 0 'the JSON report' --json -o k.cu mm.te && has out '"cache": "hit"' 'tells a hit'
run 0 'reasons' --no-cache --explain -o k.cu mm.te && cp out why
run 0 'reasons of a hit' --explain -o k.cu mm.te && try 'are the same' cmp out why
run 0 'a check of a hit' --check --device sim -o k.cu mm.te

run 0 'the list' --cache-list && {
    has out ' sm_90a .* mm M=64 N=48 K=32$' 'shows op, sizes, arch'
    is 'and nothing else' "$(wc -l <out)" -eq 1
}
run 2 'no cache to list' --no-cache --cache-list
echo mine >cache/mine
run 0 'clear' --cache-clear && is 'removes entries' "$(entries)" -eq 0
is 'and nothing else' -f cache/mine
rm cache/mine

# -- places --
run 0 'an empty ROLLER_CACHE_DIR' --version
ROLLER_CACHE_DIR='' XDG_CACHE_HOME=$dir/xdg run 0 'no folder' -o k.cu mm.te
is 'an empty ROLLER_CACHE_DIR means none' ! -e xdg
(
    unset ROLLER_CACHE_DIR
    XDG_CACHE_HOME=$dir/xdg run 0 'XDG_CACHE_HOME' -o k.cu mm.te
    is 'is taken' -d xdg/roller
    unset XDG_CACHE_HOME
    HOME=$dir/home run 0 'HOME' -o k.cu mm.te
    is 'is the last resort' "$(stat -c %a home/.cache/roller)" = 700
    HOME=$dir/home run 0 '--cache-dir' --cache-dir here -o k.cu mm.te
    is 'goes before all' -d here
    unset HOME
    run 0 'no home' -o k.cu mm.te && try 'needs no word' test ! -s err
)
chmod 777 here
run 0 'a folder open to others' --cache-dir here -o k.cu -v mm.te && {
    has err 'others may write to it' 'is warned of'
    try 'and not used' sh -c '! grep -q "there" out'
}
run 0 'a file for a folder' --cache-dir mm.te -o k.cu mm.te &&
    has err "cache 'mm.te' is not used" 'is warned of'

# -- broken and hostile entries: told of, missed, and mended --
mend() {
    mm "$1" && { try 'the kernel is right' same k ref; has err "$2" 'the reason is told'; }
    mm 'again' && has out "$hit" 'the entry is whole again'
}
mm 'a good entry'
truncate -s 5000 "$(kernel)" && mend 'a truncated entry' 'is not used: its lengths are wrong'
printf 'X' | dd of="$(kernel)" bs=1 seek=4000 conv=notrunc 2>log
mend 'a changed byte' 'is not used: its bytes have changed'
entry=$(kernel) && echo 'something else' >"$entry" && mend 'another file' 'is not used: it is no entry'
mv "$entry" target && cp target before && ln -s "$dir/target" "$entry"
mend 'a symbolic link' 'is not used: it is a symbolic link'
try 'what it pointed to is as it was' cmp target before
rm "$entry" && mkfifo "$entry" && mend 'a pipe' 'is not used: it is no regular file'

# -- no room --
fresh() { rm -rf cache && mkdir -m 700 cache; }
# To a pipe, since the limit is for every file.
limited() { ulimit -f 8; { "$gen" -v --emit=cubin -o - mm.te 2>&3 | cat >&4; } 3>&2 4>&1; }
fresh
(limited 2>&1 >/dev/null) >err 2>&1
has err 'cannot be written: File too large' 'a file that is too large is noted'
is 'and leaves nothing' -z "$(find cache -type f -size +8 -o -name '*.tmp')"
fresh
if unshare -rm sh -c 'mount -t tmpfs -o size=16k tmpfs cache' 2>log; then
    unshare -rm sh -c "mount -t tmpfs -o size=16k tmpfs cache && chmod 700 cache &&
        '$gen' --emit=cubin -o full.cubin -v mm.te >out 2>err && ls cache >left"
    has err 'cannot be written: No space left' 'a full disk is noted'
    try 'the kernel is there' cmp full.cubin ref.sm_90a.cubin
    try 'and no temporary file' sh -c '! grep tmp left'
fi

# -- killed at any moment --
fresh
rounds=5
[ -z "${LONG-}" ] || rounds=100
${CC:-cc} -std=c11 -O2 -fPIC -shared "$root/tests/signals.c" -o signal.so -ldl
LD_PRELOAD=$dir/signal.so SIGNAL_COUNT=count "$gen" --emit=cubin -o killed.cubin -q mm.te
# Half of the moments among what it does with files, half among its allocations.
echo "${SEED-}" | cksum | awk -v n=$rounds 'FNR == NR { srand($1); next }
    $1 == "call" || $1 == "alloc" { of[$1] = $2 }
    END { for (i = 0; i < n; i++) { kind = i % 2 ? "alloc" : "call"
          printf "%s:%d\n", kind, 1 + int((i + rand()) / n * of[kind]) } }' - count >when
while read -r after; do
    rm -f cache/*.rk
    LD_PRELOAD=$dir/signal.so SIGNAL_AT=$after:9 "$gen" --emit=cubin -o killed.cubin -q mm.te
    "$gen" --emit=cubin -o after.cubin -q mm.te 2>err &&
        cmp -s after.cubin ref.sm_90a.cubin && [ ! -s err ] || {
            echo "# killed at $after"
            bad 'the next process makes the kernel'
        }
done <when 2>log
ok "killed at $rounds moments"

# -- many at once --
fresh
for i in 1 2 3 4 5 6 7 8; do
    "$gen" --emit=cubin -o "many$i.cubin" -q mm.te 2>"many$i.err" &
done
wait
for i in 1 2 3 4 5 6 7 8; do
    cmp "many$i.cubin" ref.sm_90a.cubin && [ ! -s "many$i.err" ] || bad "process $i of eight"
done
ok 'eight processes at once'
is 'leave the kernel and no temporary file' "$(ls cache | grep -vc '\.rk$')-$(entries)" = 0-2
mm 'the next' && has out "$hit" 'finds it'

# -- shared by a group --
head -c 32 /dev/urandom >secret && chmod 600 secret
run 0 'a key file' --cache-key-file secret -o k.cu -v mm.te &&
    has err 'the key file does not vouch for it' 'refuses entries without its tag'
run 0 'a key file again' --cache-key-file secret -o k.cu -v mm.te && has out "$hit" 'takes its own'
chmod 644 secret
run 0 'a key file that others read' --cache-key-file secret -o k.cu mm.te &&
    has err 'its key file is open to others' 'is none'
