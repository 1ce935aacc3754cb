#!/bin/sh
# Golden cases: what roller-gen says of an expression, kept in the file of the expression.
#
# A golden case is a .te file that ends in blocks: `#$ OPTIONS` is a dry run of roller-gen on the
# file, the lines `#| ...` below are what it printed and, unless 0, its exit status.  A case passes
# if running it again gives the same file.  UPDATE=1 rewrites the files, to be reviewed as a diff.
#
#   tests/golden.sh [FILE...]        (make golden [UPDATE=1]; all of tests/cases and tests/errors)
: "${BUILD:=build}"
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export ROLLER_CACHE_DIR=

# The file as it should be.
again() {
    sed '/^#\$/,$d' "$1"
    grep '^#\$' "$1" | while IFS= read -r line; do
        printf '%s\n' "$line"
        (
            cd "$(dirname "$1")" || exit 1
            eval "set -- $(printf '%s' "${line#??}" | tr '`$' '  ') $(basename "$1")"
            "$BUILD/roller-gen" --dry-run --color=never "$@" 2>&1 </dev/null
            status=$?
            [ $status -eq 0 ] || echo "exit $status"
        ) | sed 's/^/#| /; s/ *$//'
    done
}

if [ "${1-}" = --one ]; then
    name=${2#tests/} name=${name%.te}
    grep -q '^#\$' "$2" || exit 0
    new=$(mktemp) || exit 1
    again "$2" >"$new"
    if diff -u "$2" "$new" >"$new.diff"; then
        echo "ok - $name"
    elif [ -n "${UPDATE-}" ]; then
        cat "$new" >"$2"
        echo "ok - $name (rewritten)"
    else
        # One write, so that cases that run side by side do not mix.
        printf '%s\nnot ok - %s\n' "$(head -n 60 "$new.diff")" "$name"
    fi
    rm -f "$new" "$new.diff"
    exit 0
fi

[ $# -gt 0 ] || set -- $(ls tests/cases/*.te tests/errors/*.te 2>/dev/null)
[ $# -gt 0 ] || { echo 'not ok - no golden cases'; exit 1; }
ROLLER_PROFILE_PATH=$PWD/profiles
export BUILD UPDATE ROLLER_PROFILE_PATH
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc 2>/dev/null || echo 1)" "$0" --one >"$BUILD/golden.log"
cat "$BUILD/golden.log"
! grep -q '^not ok' "$BUILD/golden.log"
