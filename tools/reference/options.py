"""Options of roller-onnx, of its calls of argparse."""
import ast

SOURCE = "python/roller/onnx/__main__.py"


def calls(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            named = {k.arg: ast.literal_eval(k.value) for k in node.keywords
                     if isinstance(k.value, ast.Constant)}
            yield [ast.literal_eval(a) for a in node.args], named


def page():
    with open(SOURCE, encoding="utf-8") as f:
        rows = list(calls(ast.parse(f.read())))
    text = "\n## roller-onnx\n\n```\nroller-onnx [options] MODEL.onnx\n```\n\n| | |\n|---|---|\n"
    for names, named in rows:
        if names[0].startswith("-"):
            text += f"| `{', '.join(names)} {named.get('metavar', '')}".rstrip() + f"` | {named['help']} |\n"
    return text
