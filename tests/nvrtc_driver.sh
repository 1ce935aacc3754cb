#!/bin/sh
# Which NVRTC is taken before which driver, and what is said where none fits (docs/nvrtc.md): the
# simulated driver of several versions, and NVRTCs of several versions in a toolkit, an older toolkit
# and a wheel.
. tests/tap
for real in "${CUDA_PATH:-/nowhere}"/lib64/libnvrtc.so.13 /usr/local/cuda/lib64/libnvrtc.so.13 \
    /usr/local/cuda-*/lib64/libnvrtc.so.13 "$root"/build/nvrtc/libnvrtc.so.13; do
    [ ! -e "$real" ] || break
done
[ -e "$real" ] || { echo 'ok - NVRTC by driver # SKIP no libnvrtc.so.13 at the usual places'; exit 0; }
real=$(readlink -f "$real")
case $BUILD in /*) sim=$BUILD ;; *) sim=$root/$BUILD ;; esac
export REAL_NVRTC="$real" LD_LIBRARY_PATH="$dir/builtins" ROLLER_SIM_PROFILE=a100
export ROLLER_LIBCUDA="$sim/simdriver/libcuda.so.1" ROLLER_PROFILE_PATH="$root/profiles"
export CUDA_PATH="$dir/toolkit" VIRTUAL_ENV="$dir/venv" HOME="$dir"
unset CONDA_PREFIX ROLLER_NVRTC
mkdir "$dir/builtins" && ln -s "$(dirname "$real")"/libnvrtc-builtins.so.13.* "$dir/builtins"

# fake FOLDER MAJOR MINOR ISA
fake() {
    mkdir -p "$1"
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -DMAJOR=$2 -DMINOR=$3 \
        "-DISA=\"$4\"" tests/nvrtc/fake.c -o "$1/libnvrtc.so.$2" -ldl || echo 'not ok - the fakes build'
    : | ${CC:-cc} -shared -x c - -o "$1/libnvrtc-builtins.so.$2.$3"
}
# Versions of 13 that are newer than real ones, so that others on the machine lose.
fake "$dir/toolkit/lib64" 13 19 9.9
fake "$dir/venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib" 12 9 8.8
fake "$dir/venv/lib/python3.11/site-packages/nvidia/cu13/lib" 13 18 9.8
echo 'op f(X: f32[64]) -> Y: f32[64] { Y[i] = X[i] + 1; }' >"$dir/f.te"
cd "$dir" || exit 1
gen="$BUILD/roller-gen --no-cache --profile a100 --emit=json,ptx f.te"

# taken NAME DRIVER VERSION OPTION...: the kernel runs on the device, and VERSION made it.
taken() {
    name=$1 driver=$2 version=$3
    shift 3
    export ROLLER_SIM_FAULTS="$driver"
    ends 0 "$name" $gen "$@" || return
    has f.json "\"nvrtc\": \"$version" "$name: NVRTC $version"
}
# refused NAME DRIVER PATTERN...
refused() {
    name=$1
    export ROLLER_SIM_FAULTS="$2"
    shift 2
    ends 3 "$name" $gen --check --device 0 || return
    for pattern; do has err "$pattern" "$name: names $pattern"; done
}

taken 'driver 525' version=12000 12\\. --check --device 0
taken 'driver 550' version=12040 12\\. --check
taken 'driver 570' version=12080 12\\. --check --device 0
taken 'driver 580' version=13000 13\\. --check --device 0
taken 'no device is used' version=12040 13\\. --check --device sim
refused 'driver 470' version=11040 'the driver, which is for CUDA 11.4' 'found 13' \
    'libnvrtc.so.12)' 'nvidia-cuda-nvrtc-cu11' cuda-nvrtc-11-8
# An NVRTC that the user names is the only one.
export ROLLER_NVRTC="$dir/toolkit/lib64/libnvrtc.so.13"
refused 'the NVRTC that is named, driver 535' version=12020 'is NVRTC 13.19, whose code does not load' \
    'for CUDA 12.2' 'NVRTC 12.9 fits' 'pip install "nvidia-cuda-nvrtc-cu12'
taken 'the same, driver 580' version=13000 13.19 --check --device 0
export ROLLER_NVRTC="$dir/venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
taken 'an older one, driver 580' version=13000 12.9 --check --device 0
unset ROLLER_NVRTC
# In the library: a kernel that was compiled for any driver is compiled again when it is loaded.
${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$root/include" "$root/tests/nvrtc/load.c" \
    "$BUILD/libroller.so.0" -Wl,-rpath,"$BUILD" -o load || echo 'not ok - the program builds'
export ROLLER_SIM_FAULTS=version=12040
ends 0 'a kernel for any driver, driver 550' ./load && has out '"13' 'it was compiled by NVRTC 13'
ends 0 'a kernel for this driver' ./load here && has out '"12' 'it was compiled by NVRTC 12'
ROLLER_SIM_FAULTS=version=11040
ends 6 'no NVRTC for driver 470' ./load && {
    for pattern in 'cuLibraryLoadData failed\|cuModuleLoadDataEx failed' 'for CUDA 11.4; found 13' \
        nvidia-cuda-nvrtc-cu11; do
        has out "$pattern" "names $pattern"
    done
}
# Code for an older architecture goes as PTX, which has to be no newer than the driver.
export ROLLER_SIM_PROFILE=h200 ROLLER_SIM_FAULTS=version=12090
ends 0 'PTX for driver 575' ./load && has out '"13' 'it was compiled by NVRTC 13'
ROLLER_SIM_FAULTS=version=12040
ends 6 'PTX for driver 550' ./load && {
    has out 'has to compile PTX' 'says that PTX is needed'
    has out 'nvidia-cuda-nvrtc-cu12==12.4' 'names NVRTC 12.4'
}
ROLLER_SIM_PROFILE=a100
# One that cannot work is left out for the next.
rm "$dir/toolkit/lib64/libnvrtc-builtins.so.13.19"
taken 'builtins are missing' version=13000 13\\. --check --device 0
exit 0
