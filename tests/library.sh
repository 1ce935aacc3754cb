#!/bin/sh
# An installed libroller, wherever it is moved: it exports roller_ names only, and a program builds
# against it by pkg-config and by CMake, shared and static, in C and as C++.
. tests/tap

try 'the library exports what it should' tools/symbols "$BUILD"
unset MAKEFLAGS MAKELEVEL
# Where a distribution has its libraries: lib/x86_64-linux-gnu, or lib.
lib=lib/$(${CC:-cc} -print-multiarch 2>/dev/null)
try 'make install' make -s install BUILD="$BUILD" DESTDIR="$dir/staged" LIBDIR="/usr/local/${lib%/}"
# Every file goes into one Debian package, on a system that has folders as Debian has them.
listed() { cd "$dir/staged/usr/local" && find . -type f -o -type l | sed 's|^\.|usr|'; }
for file in $([ "$lib" = lib/ ] || listed); do
    claims=0
    for pattern in $(cat packaging/debian/*.install packaging/debian/not-installed |
            awk '{ print $1 }'); do
        case $file in $pattern | $pattern/*) claims=$((claims + 1)) ;; esac
    done
    [ $claims -eq 1 ] || bad "$claims packages have $file"
done
mv "$dir/staged/usr/local" "$dir/moved"
lib=$dir/moved/${lib%/}
export PKG_CONFIG_PATH="$lib/pkgconfig"
flags() { pkg-config "$@" roller; }
cat >"$dir/use.c" <<'END'
#include <roller.h>
#include <stdio.h>
int main(void) {
    RollerCtx *ctx = NULL;
    RollerStatus s = roller_ctx_create(NULL, &ctx);
    roller_ctx_destroy(ctx);
    puts(ROLLER_VERSION);
    return s != 0 || roller_version() != ROLLER_VERSION_HEX;
}
END
try 'a C program, shared' ${CC:-cc} -std=c11 -Wall -Werror $(flags --cflags) \
    -o "$dir/shared" "$dir/use.c" $(flags --libs)
try 'it runs' env LD_LIBRARY_PATH="$lib" "$dir/shared"
try 'a C program, static' ${CC:-cc} -std=c11 $(flags --cflags) -o "$dir/static" "$dir/use.c" \
    $(flags --static --libs | sed "s|-lroller|$lib/libroller.a|")
try 'it runs without the shared library' "$dir/static"
# On a device, by the worker of this installation, which the library finds wherever it is moved.
cat >"$dir/device.c" <<'END'
#include <roller.h>
#include <stdio.h>
#include <string.h>
static const char op[] = "op add(A: f32[64], B: f32[64]) -> C: f32[64] { C[i] = A[i] + B[i]; }";
int main(int argc, char **argv) {
    RollerCtx *ctx = NULL;
    RollerProfile *gpu = NULL;
    RollerOp *add = NULL;
    RollerKernel *k = NULL;
    RollerCheckReport r = {.struct_size = sizeof r};
    RollerCheckOptions check = {.struct_size = sizeof check, .device = "0"};
    RollerCtxOptions o = {.struct_size = sizeof o, .worker = argc > 1 ? argv[1] : NULL};
    RollerStatus s = roller_ctx_create(&o, &ctx);
    roller_worker(argc, argv);
    if (!s) s = roller_profile_load(ctx, "t4", &gpu);
    if (!s) s = roller_parse(ctx, op, strlen(op), "add.te", NULL, &add);
    if (!s) s = roller_compile(ctx, add, gpu, NULL, &k);
    if (!s) s = roller_check(ctx, k, &check, &r);
    puts(s ? roller_error(ctx)->message : r.text);
    roller_kernel_destroy(k);
    roller_op_destroy(add);
    roller_profile_destroy(gpu);
    roller_ctx_destroy(ctx);
    return s != ROLLER_OK;
}
END
simulated="ROLLER_LIBCUDA=$lib/roller/simdriver/libcuda.so.1 ROLLER_SIM_PROFILE=t4"
try 'a program that uses a device, shared' ${CC:-cc} -std=c11 -Wall -Werror $(flags --cflags) \
    -o "$dir/device" "$dir/device.c" $(flags --libs)
try 'the worker of the moved installation checks for it' env -u ROLLER_WORKER \
    LD_LIBRARY_PATH="$lib" $simulated "$dir/device"
try 'pkg-config knows the worker' test -x "$(flags --variable=worker)"
try 'the same, static' ${CC:-cc} -std=c11 $(flags --cflags) -o "$dir/own" "$dir/device.c" \
    $(flags --static --libs | sed "s|-lroller|$lib/libroller.a|")
mv "$dir/moved/libexec" "$dir/gone"
try 'it is its own worker' env -u ROLLER_WORKER $simulated \
    ROLLER_PROFILE_PATH="$dir/moved/share/roller/profiles" "$dir/own" "$dir/own"
fails_without() {
    ! env -u ROLLER_WORKER LD_LIBRARY_PATH="$lib" $simulated "$dir/device" >"$dir/said" &&
        grep -q 'roller-worker was not found' "$dir/said"
}
try 'without a worker there is an error' fails_without
mv "$dir/gone" "$dir/moved/libexec"
strict='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only'
for header in roller $(cd include && ls roller/*.h); do
    header=${header%.h}
    # Alone, twice, and in any order with the whole.
    printf '#include <%s.h>\n#include <%s.h>\n#include <roller.h>\n' "$header" "$header" \
        >"$dir/header.c"
    echo 'static RollerStop stop; int use(void); int use(void) { return stop ? ROLLER_CANCELLED : 0; }' \
        >>"$dir/header.c"
    cp "$dir/header.c" "$dir/header.cc"
    try "$header.h is C11" ${CC:-cc} -std=c11 $strict $(flags --cflags) "$dir/header.c"
    if command -v "${CXX:-c++}" >/dev/null; then
        for std in c++11 c++20; do
            try "$header.h is $std" ${CXX:-c++} -std=$std $strict $(flags --cflags) "$dir/header.cc"
        done
    fi
done
try 'pkg-config knows the version' pkg-config --exact-version="$("$dir/static")" roller
is 'no file names the place it was installed to' -z \
    "$(grep -rl "$dir\|/usr/local" "$lib/pkgconfig" "$lib/cmake")"
is 'the licence is installed' -s "$dir/moved/share/doc/roller/LICENSE"
for file in man/man1/roller-gen.1 bash-completion/completions/roller-sim \
    zsh/site-functions/_roller-profile; do
    is "$file is installed" -s "$dir/moved/share/$file"
done
mkdir "$dir/empty"
try 'the tools find their profiles' env -C "$dir/empty" -u ROLLER_PROFILE_PATH \
    "$dir/moved/bin/roller-gen" --list-profiles
has "$dir/log" "^h200 .*$dir/moved/share/roller/profiles/h200.json" 'which moved with them'
cat >"$dir/find.c" <<'END'
#include <roller.h>
int main(void) {
    RollerCtx *ctx;
    RollerProfile *gpu = 0;
    RollerStatus s = roller_ctx_create(0, &ctx);
    if (!s) s = roller_profile_load(ctx, "h200", &gpu);
    roller_profile_destroy(gpu);
    roller_ctx_destroy(ctx);
    return (int)s;
}
END
try 'a program that loads a profile' ${CC:-cc} $(flags --cflags) -o "$dir/find" "$dir/find.c" \
    $(flags --libs)
try 'finds it through the library' env -C "$dir/empty" -u ROLLER_PROFILE_PATH \
    LD_LIBRARY_PATH="$lib" "$dir/find"

# cmakes REQUEST: a project that asks find_package for that version.
cmakes() {
    cat >"$dir/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.19)
project(use C)
find_package(Roller $1 REQUIRED)
add_executable(use use.c)
target_link_libraries(use Roller::roller)
END
    cmake -S "$dir" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$dir/moved"
}
refuses() { ! cmakes "$1" >"$dir/said" 2>&1 && grep -q 'RollerConfig.cmake, version' "$dir/said"; }
if command -v cmake >/dev/null; then
    for version in 0 0.1.0...0.2 '0.1.0 EXACT' 0.1; do
        try "CMake finds version $version" cmakes "$version"
    done
    try 'a CMake program' cmake --build "$dir/cmake"
    try 'it runs where it was built' "$dir/cmake/use"
    for version in 0.2 0.0.9 0.1.99 1.0 0.2...1; do
        try "CMake refuses version $version" refuses "$version"
    done
else
    echo 'ok - a CMake program # SKIP no cmake here'
fi

simdriver=$lib/roller/simdriver
try 'the simulated driver has both names of the real one' cmp "$simdriver/libcuda.so" \
    "$simdriver/libcuda.so.1"
try 'and a script that runs programs on it' "$simdriver/run" sh -c 'test -n "$LD_PRELOAD"'
try 'and is not where a loader finds it' test ! -e "$lib/libcuda.so.1" -a ! -e "$lib/libcuda.so"
try 'it finds the profiles' env -C "$dir" HOME="$dir" XDG_DATA_HOME= ROLLER_PROFILE_PATH= \
    ROLLER_LIBCUDA="$simdriver/libcuda.so.1" ROLLER_SIM_PROFILE=t4 \
    "$dir/moved/bin/roller-profile" --list
