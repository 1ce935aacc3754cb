#!/bin/sh
# benchmarks/gpu on the simulated driver: its parts, one by one, and the one command from end to end.
. tests/tap
unset ROLLER_LIBCUDA ROLLER_PROFILE_PATH
cd "$dir" || exit 1
kit=$dir/kit
mkdir -p "$kit/bin" "$kit/lib"
ln -s "$BUILD/roller-gen" "$kit/bin"
ln -s "$BUILD/libroller.so.0" "$BUILD/simdriver" "$kit/lib"
(cd "$root" && "$BUILD/benchmarks/expressions") >"$kit/rows.jsonl" || echo 'not ok - expressions'
ROLLER_PROFILE_PATH=$root/profiles python3 "$root"/tests/gpu/units.py "$kit"
[ -z "${LONG-}" ] || python3 "$root"/tests/gpu/peers.py "$kit"

# call STATUS NAME ARGS...: the one command; what it says in `out`.
call() {
    want=$1 name=$2
    shift 2
    "$root/benchmarks/gpu/run" --kit "$kit" --simulated a100 --quick --results "$dir/r" \
        --jobs 2 "$@" >out 2>&1 </dev/null
    got=$?
    if [ $got -eq "$want" ]; then ok "$name"; else echo "# exit $got"; bad "$name"; fi
}
said() { has out "$1" "$2"; }
lines() { wc -l <"$dir/r/journal.jsonl"; }

call 0 'list' --list && said '^sweep ' 'lists the parts'
call 2 'unknown part' nowhere && said 'no part nowhere' 'names it'
call 0 'no time at all' --time 8 && said 'the next call goes on' 'stops at once'
# A tool that measures what the shipped profile says, a little off the second time.
cat >"$kit/bin/roller-profile" <<END
#!/bin/sh
[ "\$1" = --validate ] && exit 0
[ "\$1" = --list ] && exit 0
[ "\$1" = --compare ] && { echo 'one figure differs'; exit 0; }
[ "\$1" = --show ] && exit 0
case "\$*" in *--dry-run*) printf 'dram 1 s memory\nmma 1 s units\nall 2 s\n'; exit 0 ;; esac
[ -n "\$BROKEN" ] && case "\$*" in *--only\ dram*) ;; *) echo 'mma fails' >&2; exit 3 ;; esac
while [ "\$1" != -o ]; do shift; done
[ -z "\$SPOILED" ] || { echo '{' >"\$2"; exit 0; }
case \$2 in
*1.json) cp "$root/profiles/a100.json" "\$2" ;;
*) sed 's/"value": 108,/"value": 109,/' "$root/profiles/a100.json" >"\$2" ;;
esac
END
chmod +x "$kit/bin/roller-profile"
call 0 'some parts' environment sanity profile core && {
    said 'sanity check: ok' 'a kernel is checked'
    said 'sanity timed: ok' 'a kernel is timed through ctypes'
    said 'figures agree within 3 %' 'two profiles are compared'
    said 'core 3/3 tiny-c-2: .* us, best .* fake .* ratio' 'ours and a peer are timed'
}
before=$(lines)
printf '{"part": "core", "key": "half' >>"$dir/r/journal.jsonl"
call 0 'all parts, after a kill' --pack "$dir/all.tar.gz" && {
    said 'check: .* cases to do' 'goes on with the next part'
    said '^.[0-9:]*. complete' 'is complete'
    try 'does nothing twice' test "$(sort "$dir/r/journal.jsonl" | cut -c 1-60 | uniq -d | wc -l)" -eq 0
    try 'keeps what was there' test "$(lines)" -gt "$before"
    try 'the checks are right' grep -q '^\([0-9]*\) of \1 cases are right' "$dir/r/README.md"
    try 'device and simulator give the same bits' grep -q \
        'Of \([0-9]*\) run in the simulator as well, \1 gave' "$dir/r/README.md"
    try 'says that it was simulated' grep -q 'Simulated: these times' "$dir/r/README.md"
    try 'the shipped profile is timed beside' grep -q '"kind": "shipped"' "$dir/r/ansor.json"
    try 'the measured profile is the one used' grep -q 'profile profile-1.json' "$dir/r/README.md"
    for set in roller119 ansor tvm21; do
        try "$set.json has samples" python3 -c "
import json
d = json.load(open('$dir/r/$set.json'))
c = d['rows'][0]['contenders']
assert len(c[0]['samples']) >= 5 and d['rows'][0]['figures']['ratio1'] > 0, c"
    done
    try 'the archive has it all' sh -c "tar -tzf '$dir/all.tar.gz' | grep -q journal.jsonl"
}
after=$(lines)
call 0 'once more' && try 'nothing is left to do' test "$(lines)" -eq "$after"

# Where the whole profile cannot be measured, its parts are tried.
rm -rf "$dir/r"
BROKEN=1
export BROKEN
call 1 'a profiler that fails' profile && {
    said 'profile first: status 3' 'is reported'
    said 'profile only dram: ok' 'what works is measured'
    said 'profile only mma: status 3' 'what fails is known'
}
unset BROKEN

# What ends one part ends no other, and what there is gets packed.
rm -rf "$dir/r"
SPOILED=1
export SPOILED
call 1 'a part that breaks down' profile core --pack broken.tar.gz && {
    said 'part profile FAILED' 'is reported'
    said 'part core is complete' 'the other part is done'
    try 'what there is gets packed' sh -c 'tar -tzf broken.tar.gz | grep -q journal.jsonl'
}
unset SPOILED

# A kernel that faults costs its row and no other; one that hangs is ended with its process.
rm -rf "$dir/r"
ROLLER_SIM_FAULTS='kernel@2=719'
export ROLLER_SIM_FAULTS
call 0 'faults' core && {
    said 'tiny-a-0: CudaError' 'a fault is reported'
    said 'core 3/3' 'the next rows are tried'
    try 'and written down' grep -q 'Not timed in core' "$dir/r/README.md"
}
unset ROLLER_SIM_FAULTS
# The kit itself, packed here and unpacked elsewhere: every part of it, its own profiler as well.
if [ -n "${LONG-}" ]; then
    unset ROLLER_SIM_FAULTS
    try 'the kit is made' make -s -C "$root" BUILD="$BUILD" gpu-kit
    mkdir -p there/build
    (cd "$root" && tar -c benchmarks/gpu benchmarks/workloads examples profiles tests/cases) |
        tar -x -C there
    (cd "$BUILD" && tar -c gpu-kit) | tar -x -C there/build
    ends 0 'the unpacked kit' env -u ROLLER_CACHE_DIR there/benchmarks/gpu/run --simulated a100 \
        --quick && ok 'the unpacked kit'
    has out 'profile quick: ok' 'measures a profile'
    has out '^.[0-9:]*. complete' 'is complete'
fi
exit 0
