"""The keys of STEM.json, of its schema."""
import json

HEAD = """# STEM.json

Made by `make docs` of [schemas/kernel.schema.json](../../schemas/kernel.schema.json), which has the types in full; do not edit.
[artefacts.md](../artefacts.md#from-the-json-alone) says how a launch uses them.
"""


def kind(s):
    if "$ref" in s:
        return s["$ref"].rsplit("/", 1)[1]
    if "const" in s:
        return f"`{s['const']}`"
    if "enum" in s:
        return " ".join(f"`{v}`" for v in s["enum"])
    if "oneOf" in s:
        return " or ".join(kind(x) for x in s["oneOf"])
    types = s.get("type", "")
    return " or ".join(types) if isinstance(types, list) else types


def rows(s, path):
    for name, value in s.get("properties", {}).items():
        at = f"{path}.{name}" if path else name
        yield f"| `{at}` | {kind(value)} | {value.get('description', '')} |\n"
        yield from rows(value, at)
        yield from rows(value.get("items", {}), f"{at}[]")


def page():
    with open("schemas/kernel.schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    text = f"{HEAD}\n{schema['description']}\n\n| key | | |\n|---|---|---|\n" + "".join(rows(schema, ""))
    for name, value in schema.get("$defs", {}).items():
        text += f"\n**{name}**: {kind(value)}. {value.get('description', '')}\n"
        inner = "".join(rows(value, ""))
        text += f"\n| key | | |\n|---|---|---|\n{inner}" if inner else ""
    return text
