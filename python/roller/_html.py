"""A kernel as HTML, for notebooks."""
from html import escape

_STYLE = ("font-family:monospace;white-space:pre-wrap;text-align:left;border:0;padding:1px 12px 1px 0;"
          "vertical-align:top")


def sheet(kernel):
    """What a notebook shows: the sheet as a table, the roofline, expression and source folded."""
    rows = "".join(f'<tr><th style="{_STYLE}">{escape(label)}</th>'
                   f'<td style="{_STYLE}">{escape(said.rstrip())}</td></tr>'
                   for label, said in kernel._facts())
    folded = "".join(f'<details><summary>{title}</summary><pre>{escape(text)}</pre></details>'
                     for title, text in (("expression", kernel.te), ("CUDA C++", kernel.cu)))
    return (f'<div><b style="font-family:monospace">{escape(kernel._heading())}</b>'
            f'<table style="border:0">{rows}</table>'
            f'<div style="max-width:800px">{kernel.roofline()}</div>{folded}</div>')
