#!/bin/sh
# roller-profile as a user sees it, on a simulated GPU: files, streams, exit codes, interruption.
. tests/tap
ROLLER_LIBCUDA=$BUILD/simdriver/libcuda.so.1
ROLLER_SIM_PROFILE=$root/profiles/tiny.json
export ROLLER_SIM_PROFILE
cd "$dir" || exit 1

run() {
    status=$1 what=$2
    shift 2
    ends "$status" "$what" "$BUILD/roller-profile" "$@" && ok "$what"
}

run 0 "help" --help
has out '--set-default' "help lists the options"
run 0 "version" -V
run 0 "the devices" --list
has out '^0: tiny (simulated), sm_75, GPU-.*profile tiny' "each with its architecture and profile"
run 0 "the devices in JSON" --list --json
has out '"name": "tiny (simulated)", "arch": "sm_75"' "JSON has them too"
run 0 "a dry run" --dry-run --quick
has out '^granularity ' "names the measurements"
is "and writes nothing" ! -e profiles
run 2 "an unknown measurement" --dry-run --only clocks
has err "there is no measurement 'clocks'" "is named"
run 3 "a profile in no folder" --only clock -o nowhere/p.json
has err "cannot write 'nowhere/p.json'" "is refused before anything is measured"
run 3 "a comparison with nothing" --only clock --compare ./nothing.json
has err "nothing.json" "names what is missing"

fast='clock,launch,latency,smem'
XDG_DATA_HOME=$dir/data own=$dir/data/roller/profiles
run 0 "a measurement" --only $fast --set-default
has out "^$own/tinysimulated.json: tiny (simulated) (sm_75), [0-9]* figures simulated" \
    "says what it wrote"
has "$own/tinysimulated.json" '"launch_stream": {"value": 2000, .*"simulated"' "and wrote it"
has "$own/default" '^tinysimulated$' "the default is set"
is "no other file" "$(ls "$own" | tr '\n' ' ')" = 'default tinysimulated.json '
is "nothing in the current folder" ! -e profiles
is "nothing on standard error" ! -s err
run 0 "every measurement, where blocks end at 128 threads and 4 KB" --quick -o all.json
has all.json '"atomic_same": {.*"source": "simulated"' "writes what it measured"
run 2 "an existing file is not replaced" --only clock
has err "$own/tinysimulated.json exists" "says so"
run 0 "unless forced" --only clock -f
has "$own/tinysimulated.json" '"launch_stream": {"value": 2000, .*"simulated"' \
    "of some rows, all else stays as it was measured"
run 0 "standard output" --only clock -o -
has out '^{"schema": "roller-profile"' "gets the profile alone"
run 0 "a report in JSON" --only clock -o other.json --json
has out '"ok": true, "name": "tinysimulated", "origin": "simulated", "path": "other.json"' \
    "names the file and what its figures are"
run 0 "progress where it is wanted" --only clock -f --progress=always
has err '^\[ 1/ 1\] SM clock' "on standard error"
run 0 "two measurements agree" --only $fast -o again.json
run 0 "a comparison of them" --compare tinysimulated again.json
has out ' 0 of them significantly' "finds no significant difference"
sed 's/"launch_stream": {"value": 2000/"launch_stream": {"value": 2100/' again.json >changed.json
run 0 "a changed figure" --compare again.json changed.json
has out '^launch_stream  *2000  *2100  *+5.00 %  significant' "is in the table"
run 0 "compare with the device" --compare changed.json --only launch --json
has out '"figure": "launch_stream", "old": 2100, "new": 2000' "in JSON too"

run 0 "a valid profile" --validate again.json
has out 'ok, simulated profile of tiny (simulated)' "says that no GPU made it"
sed 's/"value": 2000/"value": -1/; s/"sm_count": {"value": 3/"sm_count": {"value": 0/' again.json \
    >broken.json
run 1 "a broken one" --validate broken.json
is "all its faults at once" "$(grep -c '^broken.json:.*error' err)" -ge 2
run 0 "a sheet" --show again.json
has out 'launch_stream  *2000 ns  simulated' "has the figures"
has again.svg '^</svg>$' "and a roofline beside it"
has again.svg 'ffma meets dram at' "with ridge points"
run 0 "a profile by name" --show tiny
has tiny.svg '^</svg>$' "has its roofline in the current folder"

# The default holds in every folder, also where another profile of that name comes first.
gen() {
    status=$1 what=$2
    shift 2
    ends "$status" "$what" env -u ROLLER_PROFILE_PATH "$@" "$BUILD/roller-gen" --dry-run \
        "$root/examples/matmul.te" && ok "$what"
}
mkdir -p there/profiles && cd there
cp "$root/profiles/tiny.json" profiles/tinysimulated.json
gen 0 "roller-gen plans for the default in another folder"
has out ' for tinysimulated (sm_75, simulated profile)' "which is the one that was measured"
gen 0 "unless a variable says otherwise" ROLLER_PROFILE="$root/profiles/t4.json"
has out ' for t4 ' "for this once"
ROLLER_PROFILE=t4 run 0 "a default that is not the default here" --only clock --set-default -f
has err "^note: the default is t4 here" "is noted"
ends 0 "a profile that another one hides" env -u ROLLER_PROFILE_PATH "$BUILD/roller-profile" \
    --only clock -f
has err '^note: --profile tinysimulated means ./profiles/tinysimulated.json in this' "is noted"
cd ..

# The user's folder: an absolute path, made when it is missing, or a clear refusal.
HOME=$dir/home XDG_DATA_HOME=relative run 0 "a relative XDG_DATA_HOME" --only clock --set-default
is "is ignored" -s home/.local/share/roller/profiles/tinysimulated.json -a ! -e relative
is "the folders made are the user's alone" "$(stat -c %a home home/.local/share/roller)" = "700
700"
HOME='' XDG_DATA_HOME='' run 3 "no home" --only clock
has err 'neither XDG_DATA_HOME nor HOME is an absolute path' "says what is missing"
has err 'hint: set one of them, or name a file with -o' "and what to do"
HOME='' XDG_DATA_HOME='' run 0 "and with -o" --only clock -o homeless.json
HOME='' XDG_DATA_HOME=$dir/a:b run 3 "a folder that the search would part" --only clock
: >file
XDG_DATA_HOME=$dir/file run 3 "a folder that cannot be made" --only clock
has err "cannot make the folder '$dir/file/roller" "is named before anything is measured"
XDG_DATA_HOME=/proc/1 run 3 "a file system that takes no folder" --only clock
has err "cannot make the folder '/proc/1/roller/profiles'" "is refused in the same way"
if [ "$(id -u)" != 0 ]; then
    mkdir -p locked/roller/profiles && chmod 500 locked/roller/profiles
    XDG_DATA_HOME=$dir/locked run 3 "a folder that may not be written to" --only clock
fi
run 2 "a default apart from the user's profiles" --set-default -o x.json
has err 'leave -o out; ROLLER_PROFILE=FILE' "says what does it"
run 2 "a default without a measurement" --set-default --list
XDG_DATA_HOME=/nowhere

run 2 "an unknown option" --frob
run 2 "contradictory options" --quick --full
run 2 "an unknown measurement" --only clock,dran -f
has err 'there are clock, issue, launch' "lists those there are"
run 3 "no such device" --device 9
has err 'the driver sees 0: tiny (simulated)' "lists those seen"
run 3 "no folder to write to" -o nowhere/x.json
ROLLER_LIBCUDA=/nonexistent run 3 "no driver" -f
has err 'roller-gen --device sim needs none' "the hint names the tool it is of"
ROLLER_SIM_FAULTS='cuEventElapsedTime=999' run 3 "a call that fails" --only launch -o failed.json
has err 'cuEventElapsedTime failed' "is named"
is "and leaves no file" ! -e failed.json

# A figure that cannot be measured costs itself alone.  Faults count from the start of each process:
# here every process that runs 20 kernels loses its device.
ROLLER_SIM_FAULTS='cuEventElapsedTime@3=999' run 5 "one call that fails" --only launch -o part.json
has out '^1 figure not measured, .*; --only ROWS -f tries again' "costs a figure"
has out 'launch_stream: cuEventElapsedTime failed' "which is named with the reason"
has part.json '"launch_graph": {.*"simulated"' "the others are measured"
ROLLER_SIM_FAULTS='kernel@20=719' run 5 "kernels that fault" --only $fast -o part.json -f --json
has out '"launch_stream": "cuEventSynchronize failed: CUDA_ERROR_LAUNCH_FAILED' "are reported"
has part.json '"not_measured": {' "the profile says so"
has part.json '"block_start": {.*"simulated"' "what follows is measured in another process"
run 0 "such a profile" --validate part.json
run 0 "its sheet" --show part.json --dry-run
has out '^not measured' "names what is missing"
run 0 "what is missing alone" --only $fast -o part.json -f
is "is no longer named" "$(grep -c not_measured part.json)" -eq 0
# Limits by a clock that stands still while anything works: only what the device sleeps counts.
${CC:-cc} -std=c11 -O2 -fPIC -shared -I"$root/tests/unit" "$root/tests/unit/still_clock.c" \
    -o still.so 2>err || bad 'the clock builds'
still() {
    head -c 4096 /dev/zero >clock
    LD_PRELOAD=$dir/still.so STILL_CLOCK=$dir/clock run "$@"
}
ROLLER_SIM_FAULTS='cuEventSynchronize@9=60000ms' still 5 "a device that hangs now and then" \
    --limit 5 --only clock,launch,smem -o part.json -f
has out 'did not answer' "is left behind"
has part.json '"clock_sm_sustained": {.*"simulated"' "what it answers is measured"
run 0 "its profile" --validate part.json
# Every wait takes a while: too long together.
ROLLER_SIM_FAULTS=cuEventSynchronize=70ms still 5 "a device that is slow" --limit 3 \
    --only clock,launch,latency,smem -o slow.json
has out '^  smem.*: the \(time\( for it\)\? was over\|device did not answer\)' "has no time for all"
has slow.json '"clock_sm_sustained": {.*"simulated"' "what it had time for is measured"
has slow.json '"not_measured": {' "the profile names the rest"
is "and is the only file" "$(ls | grep -c slow)" -eq 1
run 0 "it" --validate slow.json
# Away from the build, which has profiles beside it.
mkdir empty && cd empty && cp "$BUILD/roller-profile" .
ROLLER_PROFILE_PATH=$dir/none HOME=$dir XDG_DATA_HOME= \
    ends 1 "no profile to start from" ./roller-profile && ok "no profile to start from"
has err 'ROLLER_PROFILE_PATH names folders' "says where they are searched"
cd ..

# begun ARG...: a measurement in the background that has begun, and that heeds the keyboard.
begun() {
    : >err
    env --default-signal=INT "$BUILD/roller-profile" --progress=always "$@" >out 2>err &
    tool=$!
    until grep -q '^\[ *1/' err || ! kill -0 $tool 2>/dev/null; do sleep 0.05; done
}
# ended SIGNAL STATUS NAME: whether that ends it so.
ended() {
    kill -"$1" $tool
    wait $tool
    is "$3" $? -eq "$2"
}
ROLLER_SIM_PROFILE=$root/profiles/h200.json
export ROLLER_SIM_FAULTS=cuEventSynchronize=5000ms         # it would take minutes
begun --only dram -o half.json
ended INT 130 "an interrupted measurement exits with 130"
begun --only dram -o half.json --json
ended INT 130 "and with JSON too"
has out '"exit": 130' "which says so"
is "and leaves nothing behind" "$(ls | grep -c half)" -eq 0
ROLLER_SIM_PROFILE=$root/profiles/tiny.json

# A device that does not answer: a signal ends the wait.
export ROLLER_SIM_FAULTS='cuEventSynchronize@3=hang'
begun --only launch -o half.json
ended TERM 143 "a device that does not answer: a signal ends the tool"
is "and leaves nothing behind" "$(ls | grep -c half)" -eq 0
unset ROLLER_SIM_FAULTS

# Times from a file need no device.
cat >times.csv <<'END'
op,sizes,tile,us
"op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }",M=512;N=512;K=512,64x64x32,400
"op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }",M=1024;N=512;K=512,64x64x32,800
"op mm(A: f32[M,K], B: f32[K,N]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[k,n]; }",M=1024;N=1024;K=512,7x9x32,1600
END
ROLLER_LIBCUDA=$dir/none run 0 "a calibration from a file" --calibrate --from times.csv \
    "$root/profiles/a100.json" -v -o from.json
has err 'mm, line 4 *not timed: no plan of ours has the tile 7x9x32' "names what it left out"
has err '^  mm, line 2 *400.00 us, predicted' "and what it was fitted to"
has out '^from.json: .*, from the times in times.csv' "says where the profile comes from"
run 0 "its profile" --validate from.json
sed 's/,400$/,4000/; s/,800$/,8000/' times.csv >slow.csv
run 0 "a GPU that is far slower" --calibrate --from slow.csv "$root/profiles/a100.json" -o far.json
has err 'is as far from 1 as a factor may be' "names a factor at its bound"
run 2 "such a file again" --calibrate --from times.csv "$root/profiles/a100.json" -o from.json
has err 'from.json exists' "is not replaced"
echo 'x.te,M=1,8x8x8,soon' >>times.csv
run 1 "a file with a fault" --calibrate --from times.csv "$root/profiles/a100.json" -o no.json
has err "times.csv:5:16: error: 'soon' is no time" "is told with line and column"
ln times.csv hard.csv
run 2 "an output that is the input" --calibrate --from times.csv "$root/profiles/a100.json" -f -o hard.csv
has err "'hard.csv' would replace the input 'times.csv'" "is refused, with -f, too"
cp "$root/profiles/a100.json" own.json && ln -s own.json own.svg
run 2 "a roofline over its profile" --show own.json
is "the profile is as it was" "$(cmp own.json "$root/profiles/a100.json" && echo same)" = same
run 2 "--from alone" --from times.csv
has err '^roller-profile: hint: roller-profile --calibrate --from FILE PROFILE' "says how it goes"

# A device that hangs is left behind also where time has no limit: after 20 s at rest.
if [ -n "${LONG-}" ]; then
    ROLLER_SIM_FAULTS='cuStreamSynchronize@2=hang' run 3 "a device that hangs" --only clock -o hung.json
    has err 'the device did not answer' "is given up"
    is "and leaves no file" ! -e hung.json
fi

# Calibration runs every kernel of its table in the simulator.
if [ -n "${LONG-}" ]; then
    run 0 "a calibration" --only clock --calibrate -v -o calibrated.json
    has err '^calibrated: [1-9]' "says how well it fits"
    has calibrated.json '"factors": {' "stores the factors"
    has calibrated.json '"kernels": ".*add' "and the kernels they come from"
fi
