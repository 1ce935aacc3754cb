"""The Python interface, of its docstrings and stubs."""
import ast
import re

HEAD = """# The Python interface

Made by `make docs` of the docstrings; do not edit. [python.md](../python.md) shows how they go together.
"""
# Modules in the order of the page: what it is called, the files that define its names.
MODULES = (
    ("roller", ("_compiler", "_kernel", "_plan", "_measure", "_op", "_errors", "_library")),
    ("roller.torch", ("torch/op", "torch/explain", "torch/export", "torch/backend")),
    ("roller.jax", ("jax",)), ("roller.tinygrad", ("tinygrad",)),
    ("roller.onnx", ("onnx/model", "onnx/lower", "onnx/reader", "onnx/statements")))


def tree_of(path):
    with open(path, encoding="utf-8") as f:
        return ast.parse(f.read())


def public(name):
    """Names of `__all__`, where a module has it."""
    base = f"python/{name.replace('.', '/')}"
    for path in (f"{base}/__init__.py", f"{base}.py"):
        try:
            tree = tree_of(path)
        except FileNotFoundError:
            continue
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                return ast.literal_eval(node.value)
    raise SystemExit(f"{name} has no __all__")


def linked(text):
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](../\1)", text)


def doc(node):
    """A docstring: its prose, and its indented and two-column lines as they stand."""
    text = ast.get_docstring(node) or ""
    out = []
    for part in text.split("\n\n"):
        lines = part.splitlines()
        listed = [bool(re.match(r"(    |\w[\w, ]*  +\S| {5,}\S)", line)) for line in lines]
        if any(listed):
            first = listed.index(True)
            out += [" ".join(lines[:first])] if first else []
            end = next((i for i in range(first, len(lines)) if not listed[i]), len(lines))
            out.append("```\n" + "\n".join(lines[first:end]) + "\n```")
            out += [" ".join(lines[end:])] if end < len(lines) else []
        else:
            out.append(re.sub("  +", " ", " ".join(lines)))
    return linked("\n\n".join(out))


def signature(node, name):
    arguments = ast.unparse(node.args)
    return f"{name}({re.sub(r'^self(, )?', '', arguments)})"


def is_property(node):
    return any(getattr(d, "id", getattr(d, "attr", "")) in ("property", "cached_property")
               for d in node.decorator_list)


def properties(body):
    """What a class declares as NAME = property(..., doc="...")."""
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            said = {k.arg: k.value for k in node.value.keywords}
            if getattr(node.value.func, "id", "") == "property" and "doc" in said:
                yield node.targets[0].id, ast.literal_eval(said["doc"])


def members(body, owner):
    """Properties, a line each, then methods."""
    listed, calls = [f"- `{owner}.{name}`: {said}\n" for name, said in properties(body)], []
    for node in body:
        named = isinstance(node, ast.FunctionDef) and (node.name[0] != "_" or node.name == "__call__")
        said = doc(node) if named else ""
        if said and is_property(node):
            listed.append(f"- `{owner}.{node.name}`: {said}\n")
        elif said:
            call = signature(node, owner if node.name == "__call__" else f"{owner}.{node.name}")
            calls.append(f"\n`{call}`\n\n{said}\n")
    return ("\n" if listed else "") + "".join(listed + calls)


def is_error(node):
    return any(getattr(b, "id", "") == "Error" for b in node.bases)


def entry(name, node, wanted):
    if isinstance(node, ast.FunctionDef) and node.name in wanted:
        return f"\n### {name}.{node.name}\n\n`{signature(node, f'{name}.{node.name}')}`\n\n{doc(node)}\n"
    if isinstance(node, ast.ClassDef) and node.name in wanted:
        if is_error(node):
            return f"- `{name}.{node.name}`: {doc(node)}\n"
        owner = node.name.lower() if name == "roller" else node.name
        return f"\n### {name}.{node.name}\n\n{doc(node)}\n{members(node.body, owner)}"
    if isinstance(node, ast.Assign) and getattr(getattr(node.value, "func", None), "id", "") == "namedtuple":
        target, fields = node.targets[0].id, ast.literal_eval(node.value.args[1]).split()
        return f"\n### {name}.{target}\n\n`({', '.join(fields)})`\n" if target in wanted else ""
    return ""


def module(name, files):
    yield f"\n## {name}\n"
    wanted = set(public(name))
    if name == "roller":
        yield ("\nFunctions of the module are those of a `Compiler` with standard options: `roller.compile(...)` is\n"
               "`roller.Compiler().compile(...)`.\n")
    for file in files:
        for node in tree_of(f"python/roller/{file}.py").body:
            yield entry(name, node, wanted)


def page():
    text = HEAD + "".join(part for name, files in MODULES for part in module(name, files))
    absent = [f"{name}.{n}" for name, _ in MODULES for n in public(name)
              if f"{name}.{n}" not in text and f"`compiler.{n}(" not in text]
    assert not absent, f"MODULES has no file that defines {absent}"
    return text
