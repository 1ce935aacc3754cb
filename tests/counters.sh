#!/bin/sh
# Counters of a device: a CUPTI of our own over the simulated driver; each of its functions fails in
# turn.  Where CUPTI is installed: does it know the counters?
. tests/tap
export ROLLER_LIBCUDA="$BUILD/simdriver/libcuda.so.1" ROLLER_SIM_PROFILE=a100
unset CUDA_PATH
ROLLER_CACHE_DIR=$dir/kernels    # the one kernel is not compiled again
cd "$dir" || exit 1
mkdir new old
${CC:-cc} -std=c11 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden "$root/tests/cupti/fake.c" \
    -Wl,-soname,libcupti.so.19 -o new/libcupti.so.19 2>err || bad 'the library builds'
echo 'int cuptiGetResultString(int c, const char **t) { *t = "x"; return c - c; }' |
    ${CC:-cc} -fPIC -shared -x c - -o old/libcupti.so.19
cat >mm.te <<'END'
op mm(A: f32[64,32], B: f32[32,48]) -> C: f32[64,48] { C[m,n] += A[m,k] * B[k,n]; }
END

# count STATUS NAME [LIBRARIES]: counters of the small product.
count() {
    ends "$1" "$2" env LD_LIBRARY_PATH="$dir/${3:-new}" "$BUILD/roller-gen" --counters --device 0 \
        --profile a100 --dry-run mm.te
}

count 0 'counters' && {
    has out 'check: ok' 'the kernel is checked'
    has out '^ *device *model *simulator *least block' 'device, model and simulator beside each other'
    # Counters 2, 4 and 0, 1 of the table; sectors are 32 bytes.
    has out '^global load sectors  *3000  *[0-9]*  *[0-9]* ' 'sectors'
    has out '^shared load wavefronts  *5000  *[0-9]*  *[0-9]* ' 'wavefronts'
    has out '^unique sectors read  *31  *-  *[0-9]*$' 'bytes as sectors'
    has out '^DRAM bytes  *3000  *[0-9]*  *-$' 'a sum of two'
    has out '^barriers (warp)  *-  *-  *[0-9]* ' 'what the device does not count'
    has out '^unit instructions (warp)  *312 ' 'threads as warps'
    is 'no warning' ! -s err
}
# The counts of model and simulator are those without a device.
grep 'shared load wavefronts' out | awk '{ print $5, $6 }' >with
"$BUILD/roller-gen" --counters --device sim --profile a100 --dry-run mm.te |
    grep 'shared load wavefronts' | awk '{ print $5, $4 }' >without
try 'as without a device' cmp with without

# rows TABLE: the functions of `#define CUPTI_COUNTER_API(X)` or `#define CUPTI_API(X)`.
rows() { sed -n "/define $1(X)/,/^\$/s/^    X(\(cupti[A-Za-z]*\),.*/\1/p" "$root/src/hal/cupti_api.h"; }
for call in $(rows CUPTI_COUNTER_API); do
    export FAKE_CUPTI=$call=9
    case $call in *Disable | *einitialize | *DeInitialize)
        count 0 "$call fails" && has out '^DRAM bytes  *3000' "$call fails at the end: no harm"
        continue ;;
    esac
    count 0 "$call fails" && {
        has err "warning: no counters of NVIDIA A100.*: $call failed: FAKE_ERROR (9)" "$call fails"
        has out '^shared load wavefronts' "$call fails: the simulator's are shown"
    }
done
FAKE_CUPTI=cuptiGetResultString=1,cuptiProfilerInitialize=9
count 0 'no text of an error' && has err 'cuptiProfilerInitialize failed: unknown (9)' \
    'no text of an error'
FAKE_CUPTI=cuptiProfilerGetCounterAvailability=35
count 0 'no permission' && {
    has err 'may not read .* (ERR_NVGPUCTRPERM)' 'no permission: says so'
    has err 'hint: run as root' 'no permission: says what helps'
}
FAKE_CUPTI=lacks=3
count 0 'a counter that the GPU does not have' && {
    has out '^global load sectors  *-  *[0-9]' 'is not told'
    has out '^shared load wavefronts  *5000  *[0-9]*' 'the others are'
}
FAKE_CUPTI=lost
count 0 'a lost range' && has err 'CUPTI lost 1 ranges' 'a lost range'
FAKE_CUPTI=endless
count 0 'passes without end' && has err 'more than 64 passes' 'passes without end'
# The check launches the kernel once on each kind of data, counting once for each pass.
ROLLER_SIM_FAULTS='kernel@9=719'
export ROLLER_SIM_FAULTS
count 0 'a kernel that faults' && has err 'no counters of .*CUDA_ERROR_LAUNCH_FAILED' \
    'a kernel that faults while it is counted'
unset ROLLER_SIM_FAULTS
unset FAKE_CUPTI
count 0 'an old CUPTI' old && has err 'no function cuptiProfilerInitialize' 'an old CUPTI'
python3 "$root/tests/cupti/metrics.py" "$root/src/hal/cupti.h"

# ---- records of kernels, which time them ----
mkdir lib64
cp new/libcupti.so.19 lib64
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root/src" "$root/tests/cupti/activity.c" \
    "$BUILD/libhal.a" "$BUILD/libte.a" "$BUILD/libbase.a" -ljansson -lm -lpthread -ldl \
    -o activity 2>err || bad 'the program builds'
# watch NAME PATTERN: what both of its rounds say.
watch() {
    CUDA_PATH=$dir ./activity >out 2>err
    if [ "$(grep -c -e "$2" out)" -eq 2 ] && [ "$(wc -l <out)" -eq 2 ]; then ok "$1"
    else bad "$1"; fi
}
watch 'kernels in order' '^2 kernels, 100 to 101, 200 to 202$'
for call in $(rows CUPTI_API); do
    export FAKE_CUPTI=$call=9
    case $call in
    cuptiActivityDisable) watch "$call fails: no harm" '^2 kernels, 100 to 101, 200 to 202$' ;;
    cuptiActivityGetNextRecord) watch "$call fails: no kernels are seen" '^0 kernels$' ;;
    cuptiGetResultString)
        FAKE_CUPTI=$call=9,cuptiActivityEnable=7
        watch "$call fails" 'error: cuptiActivityEnable failed: unknown (7)' ;;
    *) watch "$call fails" "error: $call failed: FAKE_ERROR (9)" ;;
    esac
done
unset FAKE_CUPTI
export FAKE_KERNELS=40000
watch 'many kernels' '^40000 kernels, 100 to 101, 200 to 202, 300 to 303$'
FAKE_KERNELS=70000
watch 'more kernels than there is room for' '^error: CUPTI lost records$'
unset FAKE_KERNELS
cp old/libcupti.so.19 lib64
watch 'an old CUPTI cannot time' 'CUPTI has no function cuptiActivityRegisterCallbacks'
exit 0
