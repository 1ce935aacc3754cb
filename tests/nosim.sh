#!/bin/sh
# A build without the simulator (make SIM=0): it plans, generates and compiles as any other, and
# says where a simulator would be needed.  Beside a whole build it is made under LONG=1 only.
. tests/tap

if [ -e "$BUILD/roller-sim" ]; then
    if [ -z "${LONG:-}" ] || [ "$LONG" = 0 ]; then
        echo 'ok - a build without the simulator # SKIP it is built under LONG=1'
        exit 0
    fi
    try 'a build without the simulator' env -u MAKEFLAGS make -s SIM=0 BUILD="$dir/nosim" all
    BUILD=$dir/nosim
fi
gen=$PWD/$BUILD/roller-gen
case $BUILD in /*) gen=$BUILD/roller-gen ;; esac

is 'there is no roller-sim' ! -e "$BUILD/roller-sim"
is 'there is no simulated driver' ! -e "$BUILD/simdriver"
is 'there is a worker' -x "$BUILD/roller-worker"
is 'the library has no simulator' -z "$(nm "$BUILD/roller-gen" | grep sim_cluster_run)"
try 'a kernel is planned and compiled' "$gen" examples/matmul.te --no-cache -o "$dir/mm.cu" \
    --emit cu,ptx,cubin,json
is 'with machine code' -n "$(find "$dir" -name 'mm*.cubin')"

# fails COMMAND...: with the simulator's exit code and the reason.
fails() {
    "$@" >"$dir/said" 2>&1
    [ $? = 4 ] && grep -q 'this build of roller has no simulator' "$dir/said" &&
        grep -q 'hint: .*--device' "$dir/said"
}
try 'a check says what it lacks' fails "$gen" examples/matmul.te --no-cache --check -o "$dir/mm.cu"
