"""Runs the lines of a page's ```python blocks, one program, and compares what the page shows right
behind one with what the program prints, in which only times may differ: page.py PAGE.  Prints TAP."""
import contextlib
import io
import re
import sys
import traceback


def lines(text):
    """Without what differs from run to run."""
    timeless = re.sub(r" *[0-9.]+ (?:ns|us|ms|s)\b", " a time", text)
    return [line.rstrip() for line in timeless.splitlines()]


def shown(text):
    """The blocks without a language that follow a ```python block."""
    return re.findall(r"^```python[^\n]*\n(?:(?!^```).)*^```\n+```\n(.*?)^```", text, re.M | re.S)


def run(page, blocks):
    """What the program prints, and whether it ended well."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            exec(compile("\n".join(blocks), page, "exec"), {"__name__": "__main__"})
            return said.getvalue(), True
        except Exception:
            print(traceback.format_exc())
    return said.getvalue(), False


def main(page):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    blocks = re.findall(r"^```python.*?\n(.*?)^```", text, re.M | re.S)
    if not blocks:
        return True
    said, well = run(page, blocks)
    if not well:
        print("".join(f"# {line}\n" for line in said.splitlines()), end="")
    print(f"{'ok' if well else 'not ok'} - {page}: its lines run")
    missing = [line for block in shown(text) for line in lines(block) if line not in lines(said)]
    print("".join(f"# not printed: {line}\n" for line in missing), end="")
    if shown(text):
        print(f"{'not ok' if missing else 'ok'} - {page}: they print what it shows")
    return well and not missing


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1]))
