#!/bin/sh
# Pages of reference are what their sources say; what pages show of commands is what these print,
# and only times may differ.  Blocks of Python need hosts that are not here: they run in `make
# test-torch` (docs/torch*.md) and `make test-hosts` (docs/onnx.md, docs/host-*.md), where what they
# show of printed figures is not compared.
. tests/tap
python3 -c 'import numpy' 2>/dev/null || PATH=/usr/bin:$PATH
export PATH
python3 tools/reference --check "$BUILD"
tools/docs --check "$BUILD"
is 'README.md and docs have commands' "$(cat README.md docs/*.md | grep -c '^```console')" -ge 15

# The check can fail: a figure that is no time is found, a time is not.
printf '```console\n$ echo took 3.5 us in 4 blocks\ntook 9.9 us in 4 blocks\n```\n' >"$dir/time.md"
printf '```console\n$ echo took 3.5 us in 4 blocks\ntook 3.5 us in 5 blocks\n```\n' >"$dir/figure.md"
try 'another time passes' tools/docs --check "$BUILD" "$dir/time.md"
is 'another figure does not' "$(tools/docs --check "$BUILD" "$dir/figure.md" | grep -c '^not ok')" -eq 1
tools/docs "$BUILD" "$dir/figure.md" >"$dir/log"
has "$dir/figure.md" 'in 4 blocks' 'make docs mends it'

# A page of reference that is not what its sources say is found and mended.
cp -r docs/reference "$dir/reference"
echo stale >>"$dir/reference/plan.md"
is 'a stale page of reference is found' "$(python3 tools/reference --check "$BUILD" "$dir/reference" | grep -c '^not ok')" -eq 1
python3 tools/reference "$BUILD" "$dir/reference" >"$dir/log"
try 'and made anew' cmp docs/reference/plan.md "$dir/reference/plan.md"
