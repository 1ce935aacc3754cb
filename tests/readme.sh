#!/bin/sh
# The README's roller-gen commands work as they stand.
: "${BUILD:=build}"
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
root=$PWD
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
ln -s "$root/examples" "$root/profiles" "$dir" && ln -s "$BUILD" "$dir/build" && cd "$dir" || exit 1
sed -n '/^```sh/,/^```/p' "$root/README.md" | grep '^build/' | sed 's/ *#.*//' >commands
[ -s commands ] || echo 'not ok - the README has no commands'
while IFS= read -r command; do
    if timeout 120 sh -c "$command" >log 2>&1 </dev/null; then
        echo "ok - $command"
    else
        sed 's/^/# /' log
        echo "not ok - $command"
    fi
done <commands
for f in matmul.cu mm.sm_80.cu mm.sm_80.cubin mm.sm_89.cu mm.json; do
    if [ -s "$f" ]; then echo "ok - $f"; else echo "not ok - $f"; fi
done
