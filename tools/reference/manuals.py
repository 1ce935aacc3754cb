"""Options, exit codes, variables and files of the tools, of their manual pages."""
import re
import subprocess

HEAD = """# Options

Made by `make docs` of the tables that the tools parse their command lines by; do not edit. `TOOL --help` prints the
options, `TOOL --generate man` the manual page.
"""
TOOLS = ("roller-gen", "roller-profile", "roller-sim")
ESCAPES = (("\\-", "-"), ("\\(aq", "'"), ("\\(ti", "~"), ("\\(ha", "^"), ("\\(ga", "`"), ("\\&", ""),
           ("\\e", "\\"))
SKIPPED = ("NAME", "SEE ALSO")


def plain(text):
    text = re.sub(r"\\f.", "", text)
    for escape, character in ESCAPES:
        text = text.replace(escape, character)
    return text


def rows(lines):
    """`.TP`, what is told, and what is said of it."""
    for i, line in enumerate(lines):
        if line == ".TP":
            yield plain(lines[i + 1]), plain(lines[i + 2])


def table(title, lines):
    yield f"\n**{title}**\n\n| | |\n|---|---|\n"
    for left, text in rows(lines):
        cell = re.sub(r"\|", r"\\|", left), re.sub(r"\|", r"\\|", text)
        yield f"| `{cell[0]}` | {cell[1]} |\n"


def sections(tool, build):
    """Of a manual page: (title, its lines)."""
    text = subprocess.run([f"{build}/{tool}", "--generate", "man"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    for part in text.split("\n.SH ")[1:]:
        title, *lines = part.splitlines()
        yield title, lines


def manual(tool, build):
    yield f"\n## {tool}\n\n"
    for title, lines in sections(tool, build):
        if title in SKIPPED:
            continue
        if title == "SYNOPSIS":
            usage = [plain(l) for l in lines if not l.startswith(".")]
            yield "```\n" + "\n".join(usage) + "\n```\n"
        elif title == "DESCRIPTION":
            yield "\n" + "\n\n".join(plain(l) for l in lines if not l.startswith(".")) + "\n"
        elif title == "EXAMPLES":
            yield "\n```sh\n" + "".join(f"{'    ' * 0}{e}\n" for e in examples(lines)) + "```\n"
        else:
            yield from table(title.capitalize(), lines)


def examples(lines):
    said = ""
    for line in lines:
        if line.startswith("."):
            continue
        if not said:
            said = plain(line).rstrip(":")
        else:
            yield f"{plain(line):60} # {said}"
            said = ""


def page(build):
    return HEAD + "".join(part for tool in TOOLS for part in manual(tool, build))
