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
