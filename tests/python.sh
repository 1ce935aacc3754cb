#!/bin/sh
# The Python package over this build: its layout of structs, in the simulator, and on the simulated
# driver.  tests/python.sh [FILE] tests an installed package with the Python that FILE is.
. tests/tap
export PYTHONDONTWRITEBYTECODE=1
python=${1-}
[ -n "$python" ] || for p in python3 /usr/bin/python3; do
    "$p" -c 'import numpy' 2>/dev/null && { python=$p; break; }
done
[ -n "$python" ] || { echo 'not ok - a Python with NumPy (tools/setup installs one)'; exit; }
if [ $# -eq 0 ]; then
    export PYTHONPATH="$BUILD/python"
    # NVRTC that tools/setup fetched lies where a program finds it, and Python is another program.
    for so in "$BUILD"/nvrtc/libnvrtc.so.1[0-9]; do [ ! -e "$so" ] || export ROLLER_NVRTC="$so"; done
    "$python" tests/python/layout.py >"$dir/layout.c" &&
        try 'python: structs and functions are those of the header' ${CC:-cc} -std=c11 -Iinclude \
            -fsyntax-only "$dir/layout.c"
    is 'python: every function is there' \
        "$(sed -n "s/^    '\(roller_[a-z_0-9]*\)': .*/\1/p" "$BUILD/python/roller/_abi.py" | sort)" \
        = "$(cat packaging/libroller.symbols)"
fi
"$python" tests/python/run.py test_package
sed -n '/^```python/,/^```/p' README.md | sed '/^```/d' >"$dir/readme.py"
is 'python: README.md has its lines' "$(grep -c . "$dir/readme.py")" -ge 5
try 'python: they run' "$python" "$dir/readme.py"
env -u ROLLER_LIBCUDA ROLLER_SIM_PROFILE=h200 LD_LIBRARY_PATH="$BUILD/simdriver" \
    "$python" tests/python/run.py test_device
