#!/bin/sh
# Memory that runs out in roller-gen: whichever allocation fails, it ends with a message and nothing
# half done.  LONG: every allocation; else a share, drawn by the commit.
. tests/tap
cd "$dir" || exit 1
case ${CFLAGS-} in *sanitize*) exit 0 ;; esac
${CC:-cc} -std=c11 -O2 -fPIC -shared "$root/tests/memory/fail.c" -o fail.so -ldl 2>err ||
    bad 'the library builds'
cat >mm.te <<'END'
op mm(A: f32[64,32], B: f32[32,48]) -> C: f32[64,48] { C[m,n] += A[m,k] * B[k,n]; }
END
seed=$(cd "$root" && git rev-parse --short=7 HEAD 2>/dev/null || echo 1)

# swept NAME OPTION...: the share, and all allocations from one of them on.
swept() {
    name=$1
    shift
    if python3 "$root/tests/memory/sweep.py" "$BUILD/roller-gen" "$seed" "${LONG:-}" "$@" >out 2>err; then
        sed 's/^/# /' out
        ok "$name"
    else bad "$name"; fi
}

swept 'allocations of a whole run' --emit cu,ptx,cubin,json -o k.cu mm.te
swept 'allocations of a report' --dry-run --json --dump=te,plan mm.te
for kib in 9000 20000 60000 150000; do
    (ulimit -v $kib; exec timeout 60 "$BUILD/roller-gen" -o v.cu mm.te) >out 2>err </dev/null
    is "a run with $kib KiB" $? -eq 3
    has err '^roller-gen: error: ' 'says why it ends'
done
exit 0
