#!/bin/sh
# Fragments against PyPI's tensor-layouts, which writes NVIDIA's instructions down for itself; where a
# Python has it.
. tests/tap
export PYTHONDONTWRITEBYTECODE=1
python3 -c 'import tensor_layouts' 2>/dev/null ||
    { echo 'ok - fragments # SKIP no tensor-layouts for python3'; exit; }
LIST=1 "$BUILD/tests/test_fragment" >"$dir/cases" 2>/dev/null
python3 tests/layouts.py "$dir/cases"
