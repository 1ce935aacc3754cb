#!/bin/bash
# Programs whose kernels once had wrong numbers, read where nothing is, or were called wrong though they
# were right: each is right now, over all its data.  What takes seconds runs with LONG=1.
. tests/tap
cd "$dir" || exit 1
for file in "$root"/tests/right/*.te; do
    name=${file##*/}
    [ -z "${LONG-}" ] && grep -q '^# Long' "$file" && continue
    ends 0 "${name%.te}" "$BUILD/roller-gen" --profile h200 --check --dry-run "$file"
    has out '^check: ok' "${name%.te} is right"
done
