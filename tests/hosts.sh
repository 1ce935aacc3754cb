#!/bin/sh
# Hosts in C that launch kernels themselves, on the simulated driver: docs/host-c.md.
. tests/tap
strict='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
try 'the host compiles' ${CC:-cc} -std=c11 $strict -Iinclude -o "$dir/host" examples/host.c \
    "$BUILD/libroller.a" -ljansson -lm -lpthread -ldl
for profile in h200 a100 t4; do
    try "$profile: description and code" "$BUILD/roller-gen" -q --profile $profile --emit ptx,json \
        -D M=512 -D N=256 -D K=128 examples/matmul.te -o "$dir/$profile.ptx"
    try "$profile: the host binds and launches, without NVRTC" env ROLLER_NVRTC=/nowhere \
        ROLLER_SIM_PROFILE=$profile LD_LIBRARY_PATH="$BUILD/simdriver" \
        "$dir/host" "$dir/$profile.json" "$dir/$profile.ptx"
    has "$dir/log" 'launches, the last row is right' "$profile: it computes"
done
sed -n '/^```c host.c/,/^```$/p' docs/host-c.md | sed '1d;$d' >"$dir/lines"
try 'docs/host-c.md has its lines' python3 -c 'import sys
page, host = (open(f).read() for f in sys.argv[1:])
assert page.count("\n") > 9 and page in host' "$dir/lines" examples/host.c

# TVM-FFI: docs/host-tvm-ffi.md.
cat >"$dir/mm.te" <<'END'
param M = 1..64;
op mm(A: f32[M,32], B: f32[32,48], s: f32) -> C: f32[M,48] { t[m,n] += A[m,k] * B[k,n]; C[m,n] = t[m,n] * s; }
END
cat >"$dir/chain.te" <<'END'
op chain(A: f32[12,32], B: f32[32,48], D: f32[48,48]) -> C: f32[12,48] { t[m,n] += A[m,k] * B[k,n]; C[m,n] += t[m,k] * D[k,n]; }
END
try 'the environment compiles' ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Wno-unused-function -D_POSIX_C_SOURCE=200809L -Iinclude \
    -Isrc -rdynamic -o "$dir/tvm_ffi" tests/hosts/tvm_ffi.c -lpthread -ldl
for op in mm chain; do
    try "$op: a module" "$BUILD/roller-gen" -q --profile a100 --emit tvmffi "$dir/$op.te" -o "$dir/$op.tvmffi.so"
done
env -u ROLLER_LIBCUDA LD_LIBRARY_PATH="$BUILD/simdriver" ROLLER_SIM_PROFILE=a100 "$dir/tvm_ffi" "$BUILD/libroller_tvm_ffi.so" \
    "$dir/mm.tvmffi.so" "$dir/chain.tvmffi.so" >"$dir/said" 2>&1 || echo 'not ok - the environment ends well'
cat "$dir/said"
is 'every case was run' "$(grep -c '^ok' "$dir/said")" -ge 25
for version in 0.0.9 0.2.0 1.0.0; do
    try "version $version" env ENV_VERSION=$version "$dir/tvm_ffi" "$BUILD/libroller_tvm_ffi.so"
    has "$dir/log" "^ImportError: this module was made for TVM-FFI 0.1, and this one is $version" 'is refused'
done
