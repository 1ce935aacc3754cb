"""Facts of the sources that docs/te-reference.md says again: types, errors of intrinsics, limits."""
import re

PAGE = "docs/te-reference.md"
# Limits as the page says them, by their names in the sources.
LIMITS = {"TE_MAX_SIZES": "{} sizes", "TE_MAX_OPS": "{} ops", "TE_MAX_NAME": "{} bytes",
          "TE_MAX_DEPTH": "{} levels", "TE_MAX_TREE": "{} operators deep", "TE_MAX_ARGS": "{} arguments",
          "TE_MAX_STMTS": "{} statements", "TE_MAX_NODES": "{} nodes", "TE_MAX_RANK": "{} dimensions",
          "TE_MAX_INDICES": "{} indices"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def rows(text, heading):
    """Of the first table of a section: its cells."""
    section = text.split(f"\n## {heading}\n", 1)[1]
    table = re.search(r"^\|---.*\n((?:\|.*\n)+)", section, re.M)[1]
    return [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()]


def said_types(text):
    for names, size, _, compute in rows(text, "Types"):
        words, sizes = re.findall(r"`(\w+)`", names), re.findall(r"\d+", size)
        kinds = re.findall(r"`(\w+)`", compute)
        for i, name in enumerate(words):
            yield name, (int(sizes[i if len(sizes) > 1 else 0]), kinds[i if len(kinds) > 1 else 0])


def types():
    body = re.search(r"#define TE_DTYPES\(X\)(.*?[^\\])\n", read("src/base/dtype.h"), re.S)[1]
    for name, size, compute in re.findall(r'X\(\w+, +"(\w+)", +(\d), (\w+),', body):
        yield name, (int(size), compute.lower())


def said_errors(text):
    for names, _, error in rows(text, "Intrinsics"):
        numbers = [0.0] if error == "exact" else [float(x) for x in re.findall(r"[\d.]+", error.split(" ulp")[0])]
        for i, name in enumerate(re.findall(r"`(\w+)[`(]", names)):
            yield name, numbers[i if len(numbers) > 1 else 0]


def errors():
    body = re.search(r"#define TE_INTRINSICS\(X\)(.*?[^\\])\n", read("src/te/te.h"), re.S)[1]
    for name, ulp in re.findall(r'X\(\w+, "(\w+)", -?\d, ([\d.]+)\)', body):
        yield name, float(ulp)


def limits(text):
    """Those that the page does not have."""
    section = text.split("\n## Limits\n", 1)[1]
    for name, form in LIMITS.items():
        value, shift = re.search(rf"\b{name} = (\d+)(?: << (\d+))?", read("src/te/te.h")).groups()
        number = int(value) << int(shift or 0)
        if form.format(number) not in section:
            yield f"{name} = {number}"


def faults():
    text = read(PAGE)
    for what, said, true in (("type", said_types, types), ("error of", said_errors, errors)):
        page, source = dict(said(text)), dict(true())
        for name in sorted(set(page) | set(source)):
            if page.get(name) != source.get(name):
                yield f"{what} {name}: {page.get(name)} in {PAGE}, {source.get(name)} in the source"
    yield from limits(text)
