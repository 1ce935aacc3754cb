"""Runs the lines of a page's ```python blocks, one program: page.py PAGE.  Prints TAP."""
import re
import sys
import traceback

page = sys.argv[1]
blocks = re.findall(r"^```python.*?\n(.*?)^```", open(page, encoding="utf-8").read(), re.M | re.S)
if blocks:
    try:
        exec(compile("\n".join(blocks), page, "exec"), {"__name__": "__main__"})
        print(f"ok - {page}: its lines run")
    except Exception:
        print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")
        print(f"not ok - {page}: its lines run")
        sys.exit(1)
