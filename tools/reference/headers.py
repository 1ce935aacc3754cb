"""The C interface, of the comments of include/roller."""
import re

HEAD = """# The C interface

Made by `make docs` of the headers' comments; do not edit. [library.md](../library.md) shows how the calls go
together. Every call that can fail returns a `RollerStatus`:

| status | exit code of the tools | |
|---|--:|---|
"""
ORDER = ("context", "profile", "plan", "check", "device", "bind")
SECTION = re.compile(r"/\* ---- (.*) ---- \*/")
COMMENT = re.compile(r"/\*\s*(.*?)\s*\*/", re.S)
# A declaration with what stands above it and behind it: a struct or enum, or a function.
DECLARED = re.compile(
    r"(?:^/\*(?! ----)(?P<above>(?:(?!\*/).)*)\*/\n)?"
    r"^(?P<code>typedef struct \{.*?^\} \w+;|typedef enum \{[^}]*\} \w+;|enum \{[^}]*\};"
    r"|ROLLER_API [^;]*;)(?:[ ]*/\*(?P<behind>(?:(?!\*/).)*)\*/)?", re.S | re.M)


def words(comment):
    """A comment as one paragraph."""
    return " ".join(re.sub(r"\n *\*", "\n", comment or "").split())


def linked(text):
    """Pages that a comment names, as links from docs/reference."""
    return re.sub(r"docs/(?:reference/)?([\w-]+\.md)",
                  lambda m: f"[{m.group(1)}]({place(m.group(1))})", text)


def place(page):
    return page if page in ("profile.md", "messages.md", "plan.md") else f"../{page}"


def entry(match):
    code = re.sub(r"^ROLLER_API ", "", match["code"])
    lines = code.splitlines()
    if len(lines) > 1 and not code.startswith(("typedef", "enum")):
        code = " ".join(line.strip() for line in lines)
    said = linked(" ".join(filter(None, (words(match["above"]), words(match["behind"])))))
    return f"```c\n{code}\n```\n" + (f"{said}\n" if said else "")


def header(name):
    with open(f"include/roller/{name}.h", encoding="utf-8") as f:
        text = f.read()
    about = COMMENT.search(text)
    yield f"## roller/{name}.h\n\n{linked(words(about[1]))}\n"
    rest = text[about.end():]
    found = list(DECLARED.finditer(rest))
    assert len(re.findall("^ROLLER_API ", rest, re.M)) == sum("ROLLER_API" in m[0] for m in found)
    marks = sorted([(m.start(), f"### {m[1][0].upper()}{m[1][1:]}\n") for m in SECTION.finditer(rest)]
                   + [(m.start(), entry(m)) for m in found])
    yield from (text for _, text in marks)


def statuses():
    with open("src/base/status.h", encoding="utf-8") as f:
        for name, code, meaning in re.findall(r"X\((\w+), +(\d+), \"([^\"]*)\"\)", f.read()):
            yield f"| `ROLLER_{name}` | {code} | {meaning} |\n"


def page():
    return HEAD + "".join(statuses()) + "\n" + "\n".join(part for name in ORDER for part in header(name))
