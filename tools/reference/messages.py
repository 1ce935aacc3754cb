"""The page of messages, of the cases of tests/errors and tests/profiles/invalid.

Each case is an expression, a plan or a profile that is refused, and what is said of it.  Messages
that differ in names and numbers alone are told once, by the shortest cause.
"""
import collections
import glob
import itertools
import json
import re

HEAD = """# Messages

Made by `make docs` of the cases in `tests/errors` and `tests/profiles/invalid`; do not edit. Each line has what is said of
an expression, a plan or a profile that is refused, something that causes it, and the hint that follows. The kind stands in brackets behind a message
([te.md](../te.md#errors)). Names and numbers are those of the cause.
"""
LONGEST = 100                 # of what is shown of a profile
ABOUT = dict(lex="characters and numbers", syntax="grammar", name="names", parts="parts of outputs",
             type="types, literals, stores", rank="number of subscripts",
             axis="indices on one side alone", extent="two extents for one index",
             range="ranges that cannot be found", bounds="reads that may leave their tensor",
             size="values of sizes", assign="assigned twice, never, or read too early",
             recurrence="recurrences that are not linear", annot="annotations", limit="limits",
             plan="texts of plans", profile="files of profiles")
# The first error of a case, the line that it shows, and the hint that follows at the same place.
ERROR = re.compile(r"#\| ([^:]+:\d+:(\d+)): error: (.*) \[(\w+)\]\n#\|   (.*)\n#\| +\^"
                   r"(?:\n#\| \1: hint: (.*))?")


def cause(line, at):
    """The statement that the caret at a column of the line is in, or the head of the op."""
    begin = max(line.rfind(mark, 0, at) for mark in "{;") + 1
    end = min((k for k in (line.find(mark, at) for mark in "{;") if k >= 0), default=len(line))
    return line[begin:end].strip(" }") or line.strip()


def cases():
    for name in sorted(glob.glob("tests/errors/*.te")):
        with open(name, encoding="utf-8", errors="replace") as file:
            text = file.read()
        error = ERROR.search(text)
        if error:
            _, column, message, kind, line, hint = error.groups()
            yield kind, message, cause(line, int(column) - 1), hint


def profile_cases():
    """What is changed in a profile that is right, on one line, and what is said of it."""
    for name in sorted(glob.glob("tests/profiles/invalid/*.json")):
        with open(name, encoding="utf-8") as file:
            case = json.load(file)
        message, place, *hint = case["expect"][0]
        if len(case["expect"]) == 1 and message[0] != "*":          # *: any before
            changed = " ".join(str(case["edits"][-1][1]).split())
            yield "profile", message, changed if 0 < len(changed) <= LONGEST else place, hint[0] if hint else None


def page():
    kinds = collections.defaultdict(dict)
    for kind, message, why, hint in itertools.chain(cases(), profile_cases()):
        shape = re.sub(r"'[^']*'|-?\d+|\b[fiu]\d+\b", "#", message)
        known = kinds[kind].get(shape)
        if not known or len(why) < len(known[1]):
            kinds[kind][shape] = message, why, hint
    text = HEAD
    for kind, about in ABOUT.items():
        text += f"\n## {kind}: {about}\n\n"
        for message, why, hint in sorted(kinds.pop(kind).values()):
            text += f"- `{message}`: `{why}`" + (f"; hint: `{hint}`" if hint else "") + "\n"
    assert not kinds, f"kinds without a title: {sorted(kinds)}"
    return text
