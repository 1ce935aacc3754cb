"""Which operators PyTorch takes apart before they are lowered.

Right in training: a function whose derivative is an operator of its own (attention, dropout, norms)
is taken apart in the forward pass only together with that operator, or not at all.  PyTorch's list
of core decompositions is not such a list: it takes attention apart forward and leaves its backward,
which then reads what the forward never made.
"""
import torch
from torch._decomp import core_aten_decompositions, get_decompositions

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
        "select_scatter", "diagonal_scatter", "index_add", "roll", "triu", "tril", "std", "std_mean",
        "aminmax", "masked_fill", "xlogy", "logaddexp", "square", "sgn", "frac", "heaviside",
        "unfold", "repeat", "deg2rad", "rad2deg", "conj_physical", "full_like", "zeros_like",
        "ones_like", "t", "transpose", "diagonal", "fmin", "fmax", "var", "var_mean", "mv", "dot",
        "vdot", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
        "replication_pad2d", "replication_pad3d", "diag_embed", "_unsafe_view")
# Both directions of each, though the core list leaves them whole.
PAIRS = [
    aten._softmax, aten._softmax_backward_data, aten._log_softmax, aten._log_softmax_backward_data,
    aten.native_layer_norm, aten.native_layer_norm_backward,
    aten.native_group_norm, aten.native_group_norm_backward,
    aten.native_batch_norm, aten.native_batch_norm_backward, aten._native_batch_norm_legit,
    aten._native_batch_norm_legit_functional, aten._native_batch_norm_legit_no_training,
    aten.cudnn_batch_norm, aten.cudnn_batch_norm_backward,
    aten._batch_norm_with_update, aten._batch_norm_with_update_functional,
    aten.batch_norm_backward, aten._fused_rms_norm, aten._fused_rms_norm_backward,
    aten.gelu_backward, aten.silu_backward, aten.elu_backward, aten.leaky_relu_backward,
    aten.hardtanh_backward, aten.hardswish, aten.hardswish_backward, aten.hardsigmoid,
    aten.hardsigmoid_backward, aten.softplus, aten.softplus_backward, aten.mish,
    aten.mish_backward, aten.selu, aten.celu, aten.threshold, aten.threshold_backward,
    aten.tanh_backward, aten.sigmoid_backward, aten.logit, aten.logit_backward,
    aten.log_sigmoid_forward, aten.log_sigmoid_backward, aten.softshrink,
    aten.hardshrink, aten.softshrink_backward, aten.prelu, aten._prelu_kernel,
    aten._prelu_kernel_backward, aten.glu, aten.glu_backward, aten.logsumexp,
    aten.nll_loss_forward, aten.nll_loss_backward, aten.nll_loss2d_forward,
    aten.nll_loss2d_backward, aten.mse_loss, aten.mse_loss_backward, aten.smooth_l1_loss,
    aten.smooth_l1_loss_backward, aten.huber_loss, aten.huber_loss_backward,
    aten.binary_cross_entropy, aten.binary_cross_entropy_backward,
    aten.binary_cross_entropy_with_logits, aten.soft_margin_loss,
    aten.soft_margin_loss_backward, aten.stack, aten.addmm_activation if hasattr(
        aten, "addmm_activation") else aten.stack,
    aten.upsample_nearest1d, aten.upsample_nearest2d, aten.upsample_nearest3d,
    aten.upsample_bilinear2d, aten.im2col, aten.im2col_backward if hasattr(
        aten, "im2col_backward") else aten.col2im, aten.col2im, aten.slice_backward,
    aten.select_backward, aten.diagonal_backward, aten.unfold_backward, aten.index_copy,
    aten.index_fill, aten.std_mean, aten.max_pool1d, aten.dist, aten.trace,
    aten.reflection_pad1d_backward, aten.reflection_pad2d_backward,
]


def table():
    """The decompositions of a backend: those that are pairs."""
    chosen = {**core_aten_decompositions(), **get_decompositions(PAIRS)}
    left = {*UNPAIRED, *ROWS}
    return {op: f for op, f in chosen.items() if packet_name(op) not in left}


def packet_name(op):
    packet = getattr(op, "overloadpacket", op)
    return getattr(packet, "__name__", str(packet))
