"""Attention as one operator, wherever its tensors lie.

PyTorch chooses how attention is computed by device, type and layout, and takes it apart where none
of its kernels fits.  Here it is one pair of operators, forward and backward, which has rows
(products.py); what these do not take is left as it is."""
import operator

import torch

FUNCTIONS = (torch.nn.functional.scaled_dot_product_attention,
             torch.ops.aten.scaled_dot_product_attention.default)
NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
DEFAULTS = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": None,
            "enable_gqa": False}
PAIR = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def value_of(node):
    if not isinstance(node, torch.fx.Node):
        return node
    return node.meta.get("example_value", node.meta.get("val"))


def fits(q, k, v, mask, dropout, scale):
    """Tensors of four dimensions and one real type, no dropout, and a mask that is added and wants
    no gradient."""
    alike = all(isinstance(t, torch.Tensor) and t.dim() == 4 and t.dtype == q.dtype
                and t.dtype.is_floating_point for t in (q, k, v))
    added = mask is None or (isinstance(mask, torch.Tensor) and mask.dtype == q.dtype
                             and not mask.requires_grad)
    return alike and added and dropout == 0 and not isinstance(scale, torch.fx.Node) and (
        v.shape[-1] == q.shape[-1])


def unify(gm):
    """Replaces calls in a graph that PyTorch has not taken apart yet."""
    for node in list(gm.graph.nodes):
        if node.op != "call_function" or node.target not in FUNCTIONS:
            continue
        given = {**DEFAULTS, **dict(zip(NAMES, node.args)), **node.kwargs}
        q, k, v, mask = (given[name] for name in NAMES[:4])
        if not fits(*map(value_of, (q, k, v, mask)), given["dropout_p"], given["scale"]):
            continue
        with gm.graph.inserting_before(node):
            pair = gm.graph.call_function(PAIR, (q, k, v, 0.0, given["is_causal"]),
                                          {"attn_mask": mask, "scale": given["scale"]})
            first = gm.graph.call_function(operator.getitem, (pair, 0))
        node.replace_all_uses_with(first)
        gm.graph.erase_node(node)
    gm.recompile()
    return gm


# What PyTorch runs where a program of ours has none of the pair: on any device.

def scores(q, k, causal, mask, scale):
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    of = (q.float() if q.dtype != torch.float64 else q) @ k.mT.to(torch.promote_types(
        k.dtype, torch.float32)) * scale
    if mask is not None:
        of = of + mask
    return of.masked_fill(of.new_ones(of.shape[-2:], dtype=torch.bool).triu(1),
                          float("-inf")) if causal else of


def forward(q, k, v, dropout=0.0, causal=False, *, attn_mask=None, scale=None):
    of = scores(q, k, causal, attn_mask, scale)
    v = v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    return (of.softmax(-1) @ v.to(of.dtype)).to(q.dtype), of.logsumexp(-1)


def backward(dy, q, k, v, y, total, dropout, causal, *, attn_mask=None, scale=None):
    with torch.enable_grad():
        given = [t.detach().requires_grad_() for t in (q, k, v)]
        made = forward(*given, dropout, causal, attn_mask=attn_mask, scale=scale)[0]
        return torch.autograd.grad(made, given, dy)


PLAIN = {PAIR: forward,
         torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default: backward}
