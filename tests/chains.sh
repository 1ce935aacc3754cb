#!/bin/bash
# Attention of every kind, and products back to back of every type, are one kernel, and right over all
# their data, on five families of GPUs: five of 460 cases, which SEED draws; all of them with LONG=1.
. tests/tap
cd "$dir" || exit 1
python3 "$root/tests/chains.py" . || exit 1
case=0
for file in *.te; do
    program=${file%.te}
    for gpu in t4 a100 rtx4090 h200 rtx5090; do
        case=$((case + 1))
        [ -z "${LONG-}" ] && [ $((case % 100)) -ne $((${SEED:-1} % 100)) ] && continue
        ends 0 "$program on $gpu" "$BUILD/roller-gen" --profile $gpu --check --dry-run "$file" || continue
        # t4 has no matrix unit of bf16, which heads of other sizes are of, nor of tf32; few have one of
        # f64, and on h200 two kernels may be as fast
        case "$gpu $program" in
        't4 '*-other_heads | 't4 pair_tf32'* | [!a]*' pair_f64'*) ;;
        *) has out ': chain for' "$program is one kernel on $gpu" ;;
        esac
        has out '^check: ok' "$program is right on $gpu"
    done
done
