"""A page as a notebook for Jupyter: its text, and its blocks of Python as cells.  What runs the page's
lines runs the notebook's."""
import json
import re


def cell(number, kind, text):
    made = {"cell_type": kind, "id": f"c{number}", "metadata": {},
            "source": text.strip("\n").splitlines(keepends=True)}
    if kind == "code":
        made.update(execution_count=None, outputs=[])
    return made


def linked(text):
    """Links of a page in docs, from docs/reference."""
    return re.sub(r"\]\((?!https?:|#)([^)]+)\)", r"](../\1)", text)


def page(path):
    with open(path, encoding="utf-8") as f:
        parts = re.split(r"^```python[^\n]*\n(.*?)^```\n", f.read(), flags=re.M | re.S)
    cells = [cell(k, "code", part) if k % 2 else cell(k, "markdown", linked(part))
             for k, part in enumerate(parts) if part.strip()]
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}},
                       "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False)
