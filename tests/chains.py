"""Writes chains into a folder: attention with every kind of mask and operand that docs/attention.md
lists, each with odd lengths, with lengths known at run time, with heads of other sizes in bf16, and
with G query heads to a key head behind a mask of lengths; and two products back to back, of every
type that matrix units take."""
import sys
from pathlib import Path

# name: what the scores are (s: the product), further inputs, how keys are read, what else is made
KINDS = {
    "plain": ("s[b,h,m,n]", [], None, ""),
    "causal": ("n <= m ? s[b,h,m,n] : -inf", [], None, ""),
    "last_rows": ("n <= m + N - M ? s[b,h,m,n] : -inf", [], None, ""),
    "window": ("n <= m && n > m - 19 ? s[b,h,m,n] : -inf", [], None, ""),
    "lengths": ("n < len[b] ? s[b,h,m,n] : -inf", ["len: i32[B]"], None, ""),
    "alibi": ("s[b,h,m,n] + slope[h] * (n - m)", ["slope: f32[H]"], None, ""),
    "soft_cap": ("tanh(s[b,h,m,n] / 50) * 50", [], None, ""),
    "any_mask": ("mask[m,n] ? s[b,h,m,n] : -inf", ["mask: bool[M,N]"], None, ""),
    "negative_scale": ("s[b,h,m,n] * (-2)", [], None, ""),
    "scale_of_input": ("s[b,h,m,n] * scale[h]", ["scale: f32[H]"], None, ""),
    "log_sum": ("s[b,h,m,n]", [], None, "L[b,h,m] = w[b,h,m] + log(z[b,h,m]);"),
    "sinks": ("s[b,h,m,n]", ["sink: f32[H]"], None, ""),
    "pages": ("s[b,h,m,n]", ["table: i32[B,P]"], "table[b,n/16], n%16, {h}, {d}", ""),
    "ragged": ("n < len[b] ? s[b,h,m,n] : -inf", ["from: i32[B]", "len: i32[B]"],
               "from[b]+n, {h}, {d}", ""),
    "bands": ("n / 16 <= m / 16 ? s[b,h,m,n] : -inf", [], None, ""),
}
# name: lengths M and N, type, head dimensions, query heads to a key head, is there a mask of lengths
FORMS = {
    "odd": ("21", "45", "f16", 64, 64, 1, False),
    "run_time": ("1..33", "1..37", "f16", 32, 32, 1, False),
    "other_heads": ("19", "29", "bf16", 72, 40, 1, False),
    "grouped": ("17", "41", "f16", 32, 64, 2, True),
}


def program(kind, form):
    scores, inputs, read, more = KINDS[kind]
    m, n, dtype, d, e, group, lengths = FORMS[form]
    sizes = f"N = {n}"
    if kind == "pages":                   # of whole pages: lengths are masks
        sizes = f"P = {n.replace('37', '3') if '..' in n else 3}"
    elif kind == "ragged":                # the longest, which no array tells
        sizes = f"N = {n.split('.')[-1]}"
    if lengths and "len: i32[B]" not in inputs:
        inputs = [*inputs, "len: i32[B]"]
        scores = f"n < len[b] ? ({scores}) : -inf"
    shape = "B,H/G,N,{d}" if read is None else "9,16,H/G,{d}" if kind == "pages" else "99,H/G,{d}"
    head = "h/G" if group > 1 else "h"
    at = (read or "b,{h},n,{d}").format(h=head, d="d")
    key, value = f"K[{at}]", f"V[{at}]"
    if read:
        key, value = f"({key} else 0)", f"({value} else 0)"
    sink = kind == "sinks"
    most = "max(max[n](t[b,h,m,n]), sink[h])" if sink else "max[n](t[b,h,m,n])"
    rest = " + exp(sink[h] - w[b,h,m])" if sink else ""
    over = " where n in 0:N" if read else ""
    outputs = f"(O: f32[B,H,M,E]{', L: f32[B,H,M]' if more else ''})"
    inputs = "".join(", " + x for x in inputs)
    return f"""param B = 2, H = {2 * group}, G = {group}, M = {m}, {sizes}, D = {d}, E = {e};
{"let N = P * 16;" if kind == "pages" else ""}
op {kind}(Q: {dtype}[B,H,M,D], K: {dtype}[{shape.format(d="D")}], V: {dtype}[{shape.format(d="E")}]{inputs}) -> {outputs} {{
  s[b,h,m,n] = sum[d](Q[b,h,m,d] * {key}) * 0.125{over};
  t[b,h,m,n] = {scores}{over};
  w[b,h,m] = {most}{over};
  z[b,h,m] = sum[n](exp(t[b,h,m,n] - w[b,h,m])){rest}{over};
  O[b,h,m,d] = sum[n]({dtype}(exp(t[b,h,m,n] - w[b,h,m])) * {value}) / z[b,h,m]{over};
  {more}
}}
"""


# name: type of the operands, what the second product has of a score s, of its sums, annotation
PAIRS = {
    "i8": ("i8", "i8(min(max((s[{b}m,n] + c[n]) / 64, -128), 127))", "i32", ""),
    "requantised": ("i8", "i8(round(min(max(f32(s[{b}m,n] + c[n]) * 0.01, -128), 127)))", "i32", ""),
    "u8": ("u8", "u8(s[{b}m,n] + c[n])", "i32", ""),
    "e4m3": ("f8e4m3", "f8e4m3(max(s[{b}m,n] + c[n], 0) * 0.125)", "f32", ""),
    "e5m2": ("f8e5m2", "f8e5m2(s[{b}m,n] * 0.125 + c[n])", "f32", ""),
    "f16": ("f16", "f16(max(s[{b}m,n] + c[n], 0))", "f32", ""),
    "tf32": ("f32", "max(s[{b}m,n] + c[n], 0)", "f32", " @tf32"),
    "f64": ("f64", "max(s[{b}m,n] + c[n], 0)", "f64", ""),
}
# name: rows, terms of a score, columns, results of a row, are there batches, operands as (K, N)?
SHAPES = {
    "odd": (37, 50, 45, 21, False, False),
    "turns": (70, 40, 200, 24, True, False),
    "across": (50, 96, 72, 40, False, True),
    "boxes": (300, 128, 96, 64, False, False),
}


def pair(kind, shape):
    dtype, made, sums, how = PAIRS[kind]
    m, k, n, e, batches, across = SHAPES[shape]
    b = "b," if batches else ""
    first, second = ("k,n", "n,e") if across else ("n,k", "e,n")
    types = {x: f"{dtype}[{(b + y).upper()}]" for x, y in (("X", "m,k"), ("W", first), ("U", second))}
    return f"""param B = 2, M = {m}, K = {k}, N = {n}, E = {e};
op pair(X: {types["X"]}, W: {types["W"]}, U: {types["U"]}, c: {sums}[N]) -> Y: {sums}[{b.upper()}M,E] {{
  s[{b}m,n] = sum[k](X[{b}m,k] * W[{b}{first}]){how};
  Y[{b}m,e] = sum[n]({made.format(b=b)} * U[{b}{second}]){how};
}}
"""


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for kind in PAIRS:
        for shape in SHAPES:
            (folder / f"pair_{kind}-{shape}.te").write_text(pair(kind, shape))
    for kind in KINDS:
        for form in FORMS:
            (folder / f"{kind}-{form}.te").write_text(program(kind, form))
