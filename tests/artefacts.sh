#!/bin/sh
# Kernels launched without roller: from STEM.json and code, by STEM.py, by STEM.c as a host compiles
# it and as STEM.so, on the simulated driver.
. tests/tap
cd "$dir" || exit 1
gen=$BUILD/roller-gen tests=$root/tests/artefacts
export PYTHONDONTWRITEBYTECODE=1
python3 "$tests/cases.py"
for te in *.te; do
    stem=${te%.te}
    ends 0 "$stem: all artefacts" "$gen" -q --profile h200 --emit cu,ptx,cubin,json,h,c,py,so "$te" \
        -o "$stem.cu"
done
try 'STEM.json is as its schema says' \
    python3 "$tests/validate.py" "$root/schemas/kernel.schema.json" ./*.json
sed 's/"role": "input"/"role": "inputs"/' mm.json >wrong.txt
ends 1 'the schema refuses another role' \
    python3 "$tests/validate.py" "$root/schemas/kernel.schema.json" wrong.txt &&
    has out 'role: is none of' 'the schema refuses another role'
sed 's/"params"/"parameters"/' mm.json >wrong.txt
ends 1 'the schema needs the parameters' \
    python3 "$tests/validate.py" "$root/schemas/kernel.schema.json" wrong.txt &&
    has out 'has not all of' 'the schema needs the parameters'
# distinct FILE.json: how many launches it has, how many kernels, how many of them take tensor maps.
distinct() {
    python3 -c 'import json, sys
k = json.load(open(sys.argv[1]))["targets"][0]["kernels"]
print(len(k), len({x["symbol"] for x in k}), len({x["symbol"] for x in k if x["tensor_maps"]}))' "$1"
}
is 'equal layers share a kernel' "$(distinct repeated.json)" = '4 3 0'
is 'and one with tensor maps' "$(distinct shifted.json)" = '4 3 3'
is 'which is in the code once' "$(grep -c '\.entry' shifted.sm_90a.ptx)" -eq 3

# launches NAME [VARIABLE=VALUE...] CASE...: TAP of every launch.
launches() {
    env ROLLER_SIM_PROFILE=h200,a100 LD_LIBRARY_PATH="$BUILD/simdriver" "$@" >out 2>err ||
        bad 'launches end well'
    grep -aE '^(ok|not ok|#)' out
}
launches python3 "$tests/compare.py"
env LD_LIBRARY_PATH="$BUILD/simdriver" python3 "$tests/torch_op.py" 2>err || bad 'PyTorch ends well'
# As a driver does that takes cubins: it finds their PTX by their hash.
mkdir hashes
for stem in mm splitk; do python3 "$tests/hashes.py" "$stem" hashes; done
launches CODE=cubin ROLLER_SIM_PTX_DIR="$dir/hashes" python3 "$tests/compare.py" mm splitk

# Blocks that stay for several tiles are as many as the board holds, whatever the profile says.
mkdir boards && cd boards || exit 1
python3 "$tests/boards.py" "$root/profiles/h200.json"
for plan in *.plan; do
    stem=${plan%.plan}
    ends 0 "$stem: all artefacts" "$gen" -q --profile h200 --plan "$plan" \
        --emit cu,ptx,cubin,json,h,c,py,so "$stem.te" -o "$stem.cu"
done
try 'their STEM.json is as its schema says' \
    python3 "$tests/validate.py" "$root/schemas/kernel.schema.json" alone.json fours.json
# blocks STEM BOARD LOG NUMBER: along x in all launches of the program's first kernel.
blocks() {
    symbol=$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["targets"][0]["kernels"][0]["symbol"])' "$1.json")
    is "$1 on $2: blocks" "$(grep "^$symbol " "$3" | cut -d' ' -f3 | sort -u)" = "$4,1,1"
}
# holds BOARD STEM...: by every launcher.
holds() {
    board=$1
    shift
    launches ROLLER_SIM_PROFILE="$board.json" ROLLER_SIM_LAUNCHES="$PWD/$board.log" \
        ROLLER_SIM_RACES=0 python3 "$tests/compare.py" "$@"
    for stem; do
        blocks "$stem" "$board" "$board.log" \
            "$(python3 "$tests/boards.py" held "$board" "$stem")"
    done
}
holds uneven alone pairs fours eights turns shares
holds few fours shares
# A driver that does not tell leaves what the profile says.
launches ROLLER_SIM_PROFILE=few.json ROLLER_SIM_LAUNCHES="$PWD/untold.log" ROLLER_SIM_RACES=0 \
    ROLLER_SIM_FAULTS='cuOccupancyMaxActiveClusters=CUDA_ERROR_NOT_SUPPORTED' \
    python3 "$tests/compare.py" fours
blocks fours 'a board that does not tell' untold.log \
    "$(python3 -c 'import json
print(json.load(open("fours.json"))["targets"][0]["kernels"][0]["grid"][0])')"
ends 0 'a check on the board' env ROLLER_LIBCUDA="$BUILD/simdriver/libcuda.so.1" \
    ROLLER_SIM_PROFILE=few.json ROLLER_SIM_LAUNCHES="$PWD/check.log" "$gen" -q --profile h200 \
    --plan fours.plan --check --device 0 -o checked.cu fours.te &&
    blocks fours 'the board that checks' check.log "$(python3 "$tests/boards.py" held few fours)"
cd ..

# The text in C.
strict='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
for cc in gcc clang; do
    command -v $cc >/dev/null || { echo "ok - STEM.c with $cc # SKIP no $cc"; continue; }
    # shellcheck disable=SC2086
    for stem in turned nothing; do
        try "$stem.c with $cc" $cc -std=c11 $strict -fsyntax-only $stem.c
    done
    # shellcheck disable=SC2086
    try "two programs in one host with $cc" $cc -std=c11 $strict -I. "$tests/main.c" mm.c scaled.c \
        -o host -ldl
    ends 0 "the host says that there is no driver ($cc)" ./host && ok "the host runs ($cc)"
done
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2086
    try 'STEM.h in C++' c++ $strict -I. -x c++ -fsyntax-only "$tests/main.c"
    printf '#include "roller.h"\n#include "mm.h"\n' >both.c
    # shellcheck disable=SC2086
    try 'STEM.h beside roller.h' cc -std=c11 $strict -I. -I"$root/include" -fsyntax-only both.c
else
    echo 'ok - STEM.h in C++ # SKIP no c++'
fi
is 'STEM.so exports its functions alone' \
    "$(nm -D --defined-only mm.so | awk '{ print $3 }' | grep -v '^roller_mm_' | tr '\n' ' ')" = ''
try 'STEM.c holds nothing of the place' sh -c "! grep -F '$dir' mm.c mm.py mm.so mm.json"

# Several targets, and what cannot be.
ends 0 'two targets' "$gen" -q --profile a100,h200 --emit json,c,h,py -o two.json mm.te &&
    is 'both are in the launcher' "$(grep -c '_target_\|/\* sm_' two.c)" -eq 2
mkdir again
ends 0 'again' "$gen" -q --profile h200 --emit c,so,py,h,json -o again/mm.json mm.te &&
    for f in mm.c mm.so mm.py mm.h mm.json; do try "$f has the same bytes" cmp $f again/$f; done
ends 0 'the ending of -o' "$gen" -q --profile h200 -o alone.so mm.te &&
    try 'a library by its name' test -s alone.so -a ! -e alone.cu
ends 3 'no C compiler' env CC=/nowhere/cc "$gen" -q --profile h200 --emit so -o none.so mm.te && {
    has err "needs a C compiler, and '/nowhere/cc' is none" 'the message names the compiler'
    has err 'hint: .*--emit c' 'and what does without'
    try 'nothing half done' test ! -e none.so
}
ends 0 '--abi plain' "$gen" -q --profile h200 --abi plain --emit json -o plain.json mm.te &&
    is 'has no tensor maps' "$(grep -c '"tensor_maps": \[\]' plain.json)" -eq "$(grep -c '"tensor_maps"' plain.json)"
ends 0 '--abi plain is explained' "$gen" --profile h200 --abi plain --explain --dry-run mm.te &&
    has out 'no tensor maps, as asked for: no plan has the movers tma.tile' 'the movers that it leaves out'
"$gen" --profile h200 --dry-run --dump=plan mm.te 2>/dev/null |
    sed 's/cp\.async\.[0-9]*/tma.tile/' >tma.plan
ends 1 'a plan with another ABI' "$gen" -q --profile h200 --abi plain --dry-run --plan tma.plan mm.te &&
    has err 'hint: tma.tile needs tensor maps' 'the message names the mover'
ends 2 '--abi of another kind' "$gen" -q --abi c mm.te && has err 'pointers and scalars' 'names both'
