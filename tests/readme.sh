#!/bin/sh
# The README's roller-gen commands work as they stand.
. tests/tap
ln -s "$root/examples" "$root/profiles" "$dir" && ln -s "$BUILD" "$dir/build" && cd "$dir" || exit 1
sed -n '/^```sh/,/^```/p' "$root/README.md" | grep '^build/' | sed 's/ *#.*//' >commands
[ -s commands ] || echo 'not ok - the README has no commands'
while IFS= read -r command; do
    ends 0 "$command" sh -c "$command" && ok "$command"
done <commands
for f in matmul.cu mm.sm_80.cu mm.sm_80.cubin mm.sm_89.cu mm.json; do
    is "$f" -s "$f"
done
