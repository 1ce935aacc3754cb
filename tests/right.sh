#!/bin/bash
# Programs whose kernels once had wrong numbers, read where nothing is, or were called wrong though they
# were right: each is right now, over all its data, by the plan beside it or the one that is chosen.
# SEED draws a third of those that take no seconds; LONG=1 takes all.
. tests/tap
cd "$dir" || exit 1
number=0
for file in "$root"/tests/right/*.te; do
    name=${file##*/}
    number=$((number + 1))
    if [ -z "${LONG-}" ]; then
        grep -q '^# Long' "$file" && continue
        [ $((number % 3)) -eq $((${SEED:-1} % 3)) ] || continue
    fi
    profile=$(sed -n 's/^# Profile: //p' "$file")
    plan=()
    [ ! -e "${file%.te}.plan" ] || plan=(--plan "${file%.te}.plan")
    ends 0 "${name%.te}" "$BUILD/roller-gen" --profile "${profile:-h200}" --check --dry-run \
        "${plan[@]}" "$file"
    has out '^check: ok' "${name%.te} is right"
done
