#!/bin/sh
# Every function of NVRTC that is used fails in turn: a clear message, exit code 3 or 4, no artefact
# of half a compilation.
. tests/tap
for real in "${CUDA_PATH:-/nowhere}"/lib64/libnvrtc.so.1[0-9] /usr/local/cuda/lib64/libnvrtc.so.1[0-9] \
    /usr/local/cuda-*/lib64/libnvrtc.so.1[0-9] "$root"/build/nvrtc/libnvrtc.so.1[0-9]; do
    [ ! -e "$real" ] || break
done
[ -e "$real" ] || { echo 'ok - NVRTC fails # SKIP no libnvrtc at the usual places'; exit 0; }
cflags='-std=c11 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden'
${CC:-cc} $cflags tests/nvrtc/fake.c -o "$dir/libnvrtc.so.13" -ldl || echo 'not ok - the library builds'
${CC:-cc} $cflags -DWITHOUT_VERSION tests/nvrtc/fake.c -o "$dir/poor.so" -ldl
export REAL_NVRTC="$real" LD_LIBRARY_PATH="$(dirname "$real")" ROLLER_NVRTC="$dir/libnvrtc.so.13"
echo 'op f(X: f32[64]) -> Y: f32[64] { Y[i] = X[i] + 1; }' >"$dir/f.te"
cd "$dir" || exit 1

# compile STATUS NAME: artefacts in the current folder.
compile() {
    rm -f f.*.ptx f.*.cubin f.cu
    ends "$1" "$2" "$BUILD/roller-gen" --profile a100 --emit=cu,ptx,cubin f.te
}
fails() {   # fails STATUS FUNCTION PATTERN
    export FAKE_NVRTC="$2=${4:-5}"
    compile "$1" "$2 fails" || return
    if ! grep -q "$3" err; then bad "$2 fails: says why"
    elif [ -e f.sm_80.cubin ] || [ -e f.sm_80.ptx ]; then bad "$2 fails: writes nothing"
    else ok "$2 fails"; fi
    unset FAKE_NVRTC
}

compile 0 'all is well' && if [ -s f.sm_80.cubin ]; then ok 'all is well'; else bad 'all is well'; fi
for call in CreateProgram CompileProgram GetProgramLogSize GetProgramLog GetPTXSize GetPTX \
    GetCUBINSize GetCUBIN; do
    fails 3 nvrtc$call 'NVRTC [0-9.]* failed: NVRTC_ERROR'
done
fails 4 nvrtcCompileProgram 'refused the source' 6
fails 3 nvrtcCreateProgram 'NVRTC_ERROR_OUT_OF_MEMORY' 1
# ptxas without memory names no error; nor does another plan have more of it.
export FAKE_NVRTC_LOG='ptxas fatal   : Ptx assembly aborted due to errors' ROLLER_REFUSED=
fails 3 nvrtcCompileProgram 'NVRTC_ERROR_OUT_OF_MEMORY' 6 &&
    if grep -q 'next plan' err; then bad 'no plan follows where there is no memory'
    else ok 'no plan follows where there is no memory'; fi
has err 'hint: free some memory' 'what to do about it is told'
FAKE_NVRTC_LOG="ptxas kernel.ptx, line 7; error   : Unknown symbol 'x'
$FAKE_NVRTC_LOG"
fails 4 nvrtcCompileProgram "refused the source.*Unknown symbol 'x'" 6
unset FAKE_NVRTC_LOG
export ROLLER_REFUSED=fail
fails 3 nvrtcVersion 'does not tell its version'
fails 3 nvrtcGetNumSupportedArchs 'does not tell its architectures'
fails 3 nvrtcGetSupportedArchs 'does not tell its architectures'
FAKE_NVRTC=nvrtcDestroyProgram=5
export FAKE_NVRTC
compile 0 'nvrtcDestroyProgram fails' && ok 'nvrtcDestroyProgram fails: no harm'
unset FAKE_NVRTC
# Those of the table are all here.
for call in $(sed -n '/define NVRTC_API/,/^$/s/^    X(\([A-Za-z]*\),.*/\1/p' "$root/src/hal/nvrtc_library.h"); do
    grep -q "$call" "$root/tests/nvrtc.sh" || [ "$call" = GetErrorString ] ||
        echo "not ok - nvrtc$call has no test"
done
ROLLER_NVRTC=$dir/poor.so
compile 3 'a library without a function' && {
    if grep -q 'has no function nvrtcVersion' err; then ok 'a missing function is named'
    else bad 'a missing function is named'; fi
}

# NVRTC is loaded while the op is planned: what is wrong with it is said once, by who needs it.
ROLLER_NVRTC=$dir/none.so
compile 3 'no library' && {
    if [ "$(grep -c 'cannot be loaded' err)" = 1 ]; then ok 'a missing library is told once'
    else bad 'a missing library is told once'; fi
}
sed 's/+ 1/+ q/' f.te >wrong.te
ends 1 'an error in the text, no library' "$BUILD/roller-gen" --profile a100 wrong.te && {
    if grep -q 'NVRTC' err; then bad 'only the error in the text is told'
    else ok 'only the error in the text is told'; fi
}
# Who ends the process when it is loaded.
echo '#include <stdlib.h>
__attribute__((constructor)) static void end(void) { _Exit(99); }' >trap.c
${CC:-cc} $cflags trap.c -o "$dir/trap.so"
ROLLER_NVRTC=$dir/trap.so
ends 99 'a library that is a trap' "$BUILD/roller-gen" --profile a100 f.te && ok 'a trap works'
for options in '--dump te,access --dry-run' '--list-ops' '-M'; do
    ends 0 "$options" "$BUILD/roller-gen" --profile a100 $options f.te &&
        ok "$options does not load NVRTC"
done
exit 0
