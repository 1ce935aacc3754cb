#!/bin/sh
# Functions that are looked up in libraries: each has a test in which it fails.  Those of NVML here,
# where a failure means that a number is not known; of the others, whether there is one.
. tests/tap
cd "$dir" || exit 1
cc=${CC:-cc}
flags='-std=c11 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-soname,libnvidia-ml.so.1'
mkdir new old
# shellcheck disable=SC2086
{ $cc $flags "$root/tests/nvml/fake.c" -o new/libnvidia-ml.so.1 &&
    $cc $flags -DWITHOUT_INIT "$root/tests/nvml/fake.c" -o old/libnvidia-ml.so.1; } 2>err ||
    bad 'the library builds'
$cc -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root/src" "$root/tests/nvml/state.c" "$BUILD/libhal.a" \
    "$BUILD/libte.a" "$BUILD/libbase.a" -ljansson -lm -lpthread -ldl -o state 2>err ||
    bad 'the program builds'

# state NAME LIBRARY WANTED [FUNCTION]: what both of its rounds say.
state() {
    FAKE_NVML=${4:+$4=999} LD_LIBRARY_PATH=$dir/$2 ./state >out 2>err
    if [ "$(grep -c "^$3\$" out)" -eq 2 ]; then ok "$1"; else bad "$1"; fi
}
state 'all is told' new 'there: 1830 MHz, 2619 MHz, 45 C, 345 W'
nothing='none: 0 MHz, 0 MHz, 0 C, 0 W'
for call in $(grep -o 'dlsym([a-z>-]*, "nvml[A-Za-z0-9_]*"' "$root/src/hal/nvml.c" | cut -d '"' -f 2); do
    case $call in
    nvmlInit_v2 | nvmlDeviceGetHandleByUUID) want=$nothing ;;
    nvmlShutdown) want='there: 1830 MHz, 2619 MHz, 45 C, 345 W' ;;
    nvmlDeviceGetClockInfo) want='there: 0 MHz, 0 MHz, 45 C, 345 W' ;;
    nvmlDeviceGetTemperature) want='there: 1830 MHz, 2619 MHz, 0 C, 345 W' ;;
    nvmlDeviceGetPowerUsage) want='there: 1830 MHz, 2619 MHz, 45 C, 0 W' ;;
    *) echo "not ok - $call has no test"; continue ;;
    esac
    state "$call fails" new "$want" "$call"
done
state 'a library without a function' old "$nothing"
state 'no library' nowhere "$nothing"

# Functions come from four tables, each of which a test goes through, and from names in quotes.
cd "$root" || exit 1
is 'a table for every name that is not in quotes' "$(grep -h 'dlsym(' src/hal/*.c |
    grep -vc 'dlsym([a-z>-]*, "')" -eq 3
try 'the table of the driver is gone through' grep -q 'CUDA_API(X)' tests/unit/test_hal_cuda.c
try 'the table of NVRTC is gone through' grep -q 'define NVRTC_API' tests/nvrtc.sh
try 'the table of CUPTI is gone through' grep -q 'define CUPTI_API' tests/counters.sh
try 'the table of counters is gone through' grep -q CUPTI_COUNTER_API tests/counters.sh
for call in $(grep -ho 'dlsym([a-z>-]*, "[A-Za-z0-9_]*"' src/hal/*.c | cut -d '"' -f 2); do
    case $call in
    nvml* | roller_sim_driver_*) ;;
    *) is "$call fails in a test" -n "$(grep -l "${call%_v2}=" tests/unit/test_hal_*.c)" ;;
    esac
done
