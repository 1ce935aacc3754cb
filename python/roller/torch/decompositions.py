"""Which operators PyTorch takes apart before they are lowered.

Right in training: a function whose derivative is an operator of its own (attention, dropout, norms)
is taken apart in the forward pass only together with that operator, or not at all.  PyTorch's list
of core decompositions is not such a list: it takes attention apart forward and leaves its backward,
which then reads what the forward never made.
"""
import functools

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.fx.experimental.symbolic_shapes import statically_known_true

aten = torch.ops.aten

# Operators of which core_aten_decompositions has only the forward.
UNPAIRED = ("_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_attention_math_for_mps", "_fused_dropout", "native_dropout",
            "rrelu_with_noise", "rrelu_with_noise_functional", "_euclidean_dist",
            "multilabel_margin_loss_forward", "_embedding_bag")
# What has rows of its own, which read better than what it is taken apart into.
ROWS = ("addcmul", "addcdiv", "addmm", "addmv", "addr", "baddbmm", "lerp", "linalg_vector_norm",
        "log_sigmoid", "silu", "hypot", "native_dropout_backward", "slice_scatter",
        "select_scatter", "diagonal_scatter", "index_add", "roll", "triu", "tril", "std",
        "std_mean",
        "aminmax", "masked_fill", "xlogy", "logaddexp", "square", "sgn", "frac", "heaviside",
        "unfold", "repeat", "deg2rad", "rad2deg", "conj_physical", "full_like", "zeros_like",
        "ones_like", "t", "transpose", "diagonal", "fmin", "fmax", "var", "var_mean", "mv", "dot",
        "vdot", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
        "replication_pad2d", "replication_pad3d", "diag_embed", "_unsafe_view")
# Both directions of each, though the core list leaves them whole.
PAIRS = (
    "_softmax", "_softmax_backward_data", "_log_softmax", "_log_softmax_backward_data",
    "native_layer_norm", "native_layer_norm_backward", "native_group_norm",
    "native_group_norm_backward", "native_batch_norm", "native_batch_norm_backward",
    "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training", "cudnn_batch_norm", "cudnn_batch_norm_backward",
    "_batch_norm_with_update", "_batch_norm_with_update_functional", "batch_norm_backward",
    "_fused_rms_norm", "_fused_rms_norm_backward", "gelu_backward", "silu_backward",
    "elu_backward", "leaky_relu_backward", "hardtanh_backward", "hardswish", "hardswish_backward",
    "hardsigmoid", "hardsigmoid_backward", "softplus", "softplus_backward", "mish",
    "mish_backward", "selu", "celu", "threshold", "threshold_backward", "tanh_backward",
    "sigmoid_backward", "logit", "logit_backward", "log_sigmoid_forward", "log_sigmoid_backward",
    "softshrink", "hardshrink", "softshrink_backward", "prelu", "_prelu_kernel",
    "_prelu_kernel_backward", "glu", "glu_backward", "logsumexp", "nll_loss_forward",
    "nll_loss_backward", "nll_loss2d_forward", "nll_loss2d_backward", "mse_loss",
    "mse_loss_backward", "smooth_l1_loss", "smooth_l1_loss_backward", "huber_loss",
    "huber_loss_backward", "binary_cross_entropy", "binary_cross_entropy_backward",
    "binary_cross_entropy_with_logits", "soft_margin_loss", "soft_margin_loss_backward", "stack",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_bilinear2d",
    "im2col", "col2im", "slice_backward", "select_backward", "diagonal_backward",
    "unfold_backward", "index_copy", "index_fill", "std_mean", "max_pool1d", "dist", "trace",
    "reflection_pad1d_backward", "reflection_pad2d_backward")

# Whose derivative, where there is one, reads nothing that they make.
ALONE = ("grid_sampler_2d", "tril_indices", "triu_indices")


def as_strided(a, size, stride, storage_offset=None):
    """A reshape, where both lie row by row from the same place; what strides an expression reads
    is not told by it."""
    known, below = statically_known_true, 1
    for extent, step in zip(reversed(size), reversed(stride)):
        if not known(extent == 1) and not known(step == below):
            return NotImplemented
        below = below * extent
    same = storage_offset is None or known(storage_offset == a.storage_offset())
    if not same or not a.is_contiguous() or not known(below == a.numel()):
        return NotImplemented
    return a.view(size)


@functools.cache                # PyTorch's list is made anew each time, which takes a quarter second
def table():
    """The decompositions of a backend: those that are pairs."""
    chosen = {**core_aten_decompositions(), **get_decompositions(
        [getattr(aten, name) for name in (*PAIRS, *ALONE) if hasattr(aten, name)])}
    left = {*UNPAIRED, *ROWS}
    return {op: f for op, f in chosen.items() if packet_name(op) not in left} | {
        aten.as_strided.default: as_strided}


def packet_name(op):
    packet = getattr(op, "overloadpacket", op)
    return getattr(packet, "__name__", str(packet))
