#!/bin/sh
# An installed libroller: it exports roller_ names only and a program builds against it, shared and
# static, in C and as C++.
. tests/tap

try 'the library exports what it should' tools/symbols "$BUILD"
unset MAKEFLAGS MAKELEVEL
try 'make install' make -s install BUILD="$BUILD" DESTDIR="$dir/root"
lib=$dir/root/usr/local/lib
flags="$(PKG_CONFIG_SYSROOT_DIR=$dir/root PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags roller)
       -L$lib"
cat >"$dir/use.c" <<'END'
#include <roller.h>
#include <stdio.h>
int main(void) {
    RollerCtx *ctx = NULL;
    RollerStatus s = roller_ctx_create(NULL, &ctx);
    roller_ctx_destroy(ctx);
    printf("%d\n", (int)s);
    return s != 0;
}
END
cp "$dir/use.c" "$dir/use.cc"
try 'a C program, shared' ${CC:-cc} -std=c11 -Wall -Werror $flags -o "$dir/shared" "$dir/use.c" \
    -L"$lib" -lroller
try 'it runs' env LD_LIBRARY_PATH="$lib" "$dir/shared"
try 'a C program, static' ${CC:-cc} -std=c11 $flags -o "$dir/static" "$dir/use.c" \
    "$lib/libroller.a" -ljansson -lm -lpthread -ldl
try 'it runs without the shared library' "$dir/static"
if command -v "${CXX:-c++}" >/dev/null; then
    try 'the header is C++' ${CXX:-c++} -Wall -Werror $flags -fsyntax-only "$dir/use.cc"
fi
