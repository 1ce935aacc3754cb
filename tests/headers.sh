#!/bin/sh
# Our own declarations of CUDA's driver, NVRTC and CUPTI against the vendor's headers, where a
# toolkit of 12.6 or newer is installed; a C++ compiler compares their types.
. tests/tap

toolkit=${CUDA_PATH:-/usr/local/cuda}
include=$toolkit/include
skip() { echo "ok - the vendor's headers # SKIP $1"; exit 0; }
version=$(sed -n 's/^#define CUDA_VERSION //p' "$include/cuda.h" 2>/dev/null)
[ "${version:-0}" -ge 12060 ] || skip "no cuda.h of 12.6 or newer in $include"
command -v "${CXX:-c++}" >/dev/null || skip 'no C++ compiler here'

# compare NAME HEADER OPTION...: builds tests/headers/NAME.cc, which says the rest.
compare() {
    name=$1 header=$2
    shift 2
    if ! [ -e "$include/$header" ] && ! [ -e "$toolkit/extras/CUPTI/include/$header" ]; then
        echo "ok - $name # SKIP no $header in $toolkit"
    elif ${CXX:-c++} -std=c++20 -O0 -w -D_Static_assert=static_assert -D_Alignas=alignas \
        -D_Noreturn= -Isrc -Itests/headers -isystem "$include" \
        -isystem "$toolkit/extras/CUPTI/include" "$@" -o "$dir/$name" "tests/headers/$name.cc" \
        >"$dir/log" 2>&1
    then "$dir/$name"
    else
        grep error "$dir/log" | head -n 20 | sed 's/^/# /'
        bad "$name builds against $header"
    fi
}

enumerators=$(grep -oh '\<CU_[A-Z0-9_]* = ' src/simdriver/*.h | sort -u | sed 's/\(.*\) = /X(\1)/')
compare simdriver cuda.h "-DENUMERATORS(X)=$(echo $enumerators)"
compare hal cupti_range_profiler.h
