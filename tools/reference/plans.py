"""The text form of plans, of the tables that it is printed and read by."""
import re

HEAD = """# Plan text

Made by `make docs` of the tables in `src/rprogram` and `src/te`; do not edit. `roller-gen --dump=plan` prints it, `--plan`
takes it back. One line is one key; words are separated by blanks, and `#` begins a comment. The first line is
`roller-plan 1`. [terms.md](../terms.md) explains the words; the head of `src/rprogram/rprog.h` defines what a
program means, to the last index.
"""


def table(path, name):
    """Rows X(...) of a table, each with the comment behind it: (arguments, comment)."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    body = re.search(rf"#define {name}\(X\)(.*?[^\\])\n", text, re.S)[1].replace("\\\n", "\n")
    for row in re.finditer(r"X\(((?:[^()]|\([^()]*\))*)\)(?:\s*/\*(.*?)\*/)?", body, re.S):
        arguments = [a.strip().strip('"') for a in row[1].split(",", 2)]
        yield arguments, " ".join(re.sub(r"\n *\*", "\n", row[2] or "").split())


def rows(path, name):
    for arguments, said in table(path, name):
        yield f"| `{arguments[1]}` | {said or arguments[-1]} |\n"


def listed(title, path, name):
    return f"\n## {title}\n\n| | |\n|---|---|\n" + "".join(rows(path, name))


def lines():
    yield "\n## Lines of a kernel\n\nA kernel section is `kernel N`, then:\n\n| line | |\n|---|---|\n"
    for arguments, said in table("src/rprogram/internal.h", "RPROG_KEYS"):
        form, _, meaning = said.partition(": ")
        form = form.replace("|", "\\|")
        yield f"| `{arguments[1]} {form}` | {meaning} |\n"


def page():
    return (HEAD + "".join(lines())
            + listed("Skeletons", "src/rprogram/rprog.h", "RPROG_SKELETONS")
            + listed("Kinds of loads", "src/rprogram/rprog.h", "RPROG_LOADS")
            + listed("Where a row is kept", "src/rprogram/rprog.h", "RPROG_KEEPS")
            + listed("What blocks have of rows", "src/rprogram/rprog.h", "RPROG_STATS")
            + listed("Decisions: `statement N WORD ...` before the kernels", "src/te/te.h", "TE_DECISIONS")
            + "\n## Choices\n\nOf an op with run-time sizes the kernels follow lines `upto MEASURE N ... take K ...` and a last\n"
              "`else take K ...`: a launch takes the first line of which no measure is exceeded. `kernel N of G` is one\n"
              "more program for group G, `other` begins another fusion strategy, and `take strategy S` names it.\n"
              "Before its kernels `given s2 8` says that it is for multiples of 8 of the third size alone, and `given s0 upto 1` for no\n"
              "first size above 1; lines that take it bound `s2%8` by 0, or `s0` by 1.\n"
            + listed("Why programs are dropped (`--explain`)", "src/rprogram/rprog.h", "RPROG_REJECTS"))
