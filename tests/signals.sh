#!/bin/sh
# Signals at any moment of roller-gen: it ends in a moment, by the signal, and leaves nothing half
# done.  LONG: 200 of them, also while it measures.
. tests/tap
cd "$dir" || exit 1
cat >mm.te <<'END'
op mm(A: f32[64,32], B: f32[32,48]) -> C: f32[64,48] { C[m,n] += A[m,k] * B[k,n]; }
END
ROLLER_SIM_PROFILE=a100
export ROLLER_SIM_PROFILE

${CC:-cc} -std=c11 -O2 -fPIC -shared "$root/tests/signals.c" -o signal.so -ldl 2>err ||
    bad 'the library builds'

# The folder in /proc of a process that runs; a zombie does not.
alive() { grep -qs '^State:.[^ZX]' "/proc/$1/status" && echo "/proc/$1"; }

# sent NAME N SEED OPTION...: N signals at moments all over the run.
sent() {
    name=$1
    shift
    if python3 "$root/tests/signals.py" "$BUILD/roller-gen" "$@" >out 2>err; then
        sed 's/^/# /' out
        ok "$name"
    else bad "$name"; fi
}

sent 'signals while it plans, compiles and writes' "$([ -z "${LONG-}" ] && echo 24 || echo 200)" 1 \
    --emit cu,ptx,cubin,json
ROLLER_LIBCUDA=$BUILD/simdriver/libcuda.so.1
[ -z "${LONG-}" ] || [ ! -e "$ROLLER_LIBCUDA" ] ||
    sent 'signals while it measures' 100 2 --emit cu,json --profile a100 --measure --top 2

# --emit so: the compiler, which asks for the end itself, is gone with what it has
# begun and its folder.
cat >cc <<'END'
#!/bin/sh
sleep 1000 &
{ pwd; echo $$; echo $!; } >"$SAID"
kill -"$ASKED" "$PPID"
wait
END
chmod +x cc
SAID=$dir/said TMPDIR=$dir CC=$dir/cc
export SAID TMPDIR CC ASKED
for each in TERM:143 INT:130 HUP:129; do
    ASKED=${each%:*}
    # As a terminal's program has them: a shell ignores some in what it runs behind it.
    ends ${each#*:} "SIG$ASKED while the C compiler works" \
        env --default-signal "$BUILD/roller-gen" --profile a100 --emit so mm.te -o mm.so || continue
    { read -r folder; read -r one; read -r two; } <"$SAID"
    is "SIG$ASKED while the C compiler works: nothing is left" ! -e "$folder" -a ! -e mm.so -a \
        ! -e "$(alive "$one")" -a ! -e "$(alive "$two")"
done
exit 0
