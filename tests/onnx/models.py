"""Models as exporters write them, with random weights: MNIST, ResNet-18, a block of BERT, one of
Llama; each at any size."""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper


class Builder:
    """b.node("Relu", x) gives the name of the result; arrays become initializers."""

    def __init__(self, seed=0):
        self.nodes, self.weights, self.random = [], [], np.random.default_rng(seed)

    def weight(self, *shape, scale=None):
        scale = scale if scale is not None else (2.0 / np.prod(shape[1:] or shape)) ** 0.5
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op}_{len(self.nodes)}_{k}" for k in range(outputs)]
        inputs = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{len(self.nodes)}",
                                           **attributes))
        return names[0] if outputs == 1 else names

    def model(self, name, inputs, outputs, opset=17):
        def info(n, shape, kind=TensorProto.FLOAT):
            return helper.make_tensor_value_info(n, kind, shape)
        graph = helper.make_graph(self.nodes, name, [info(*i) for i in inputs],
                                  [info(*o) for o in outputs], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        made.ir_version = 9
        checker.check_model(made)
        return made


def linear(b, x, n_in, n_out, bias=True):
    y = b.node("MatMul", x, b.weight(n_in, n_out, scale=n_in ** -0.5))
    return b.node("Add", y, b.weight(n_out, scale=0.1)) if bias else y


def mnist(batch="N"):
    """Two convolutions, two pools, two layers."""
    b = Builder()
    x = "image"
    for channels, filters in ((1, 8), (8, 16)):
        x = b.node("Conv", x, b.weight(filters, channels, 5, 5), b.weight(filters, scale=0.1),
                   kernel_shape=[5, 5], pads=[2, 2, 2, 2])
        x = b.node("MaxPool", b.node("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Reshape", x, np.array([-1, 16 * 7 * 7], np.int64))
    x = b.node("Relu", b.node("Gemm", x, b.weight(64, 784), b.weight(64, scale=0.1), transB=1))
    x = b.node("Gemm", x, b.weight(10, 64), b.weight(10, scale=0.1), transB=1)
    b.nodes.append(helper.make_node("Softmax", [x], ["probability"], "Softmax_last"))
    return b.model("mnist", [("image", [batch, 1, 28, 28])], [("probability", [batch, 10])])


def resnet18(batch=1, side=224, width=64, classes=1000):
    """Convolutions with folded normalizations, as exporters leave them, and one that is not."""
    b = Builder()

    def conv(x, channels, filters, kernel, stride):
        return b.node("Conv", x, b.weight(filters, channels, kernel, kernel),
                      b.weight(filters, scale=0.1), strides=[stride] * 2,
                      kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)
    x = b.node("Conv", "image", b.weight(width, 3, 7, 7), strides=[2, 2], kernel_shape=[7, 7],
               pads=[3, 3, 3, 3])
    x = b.node("BatchNormalization", x, b.weight(width, scale=0.1), b.weight(width, scale=0.1),
               b.weight(width, scale=0.1), b.constant(np.ones(width, np.float32)))
    x = b.node("MaxPool", b.node("Relu", x), kernel_shape=[3, 3], strides=[2, 2],
               pads=[1, 1, 1, 1])
    channels = width
    for stage in range(4):
        filters = width << stage
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = b.node("Relu", conv(x, channels, filters, 3, stride))
            y = conv(y, filters, filters, 3, 1)
            if stride != 1 or channels != filters:
                x = conv(x, channels, filters, 1, stride)
            x = b.node("Relu", b.node("Add", y, x))
            channels = filters
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    b.nodes.append(helper.make_node(
        "Gemm", [x, b.weight(classes, channels), b.weight(classes, scale=0.1)], ["logits"], "fc",
        transB=1))
    return b.model("resnet18", [("image", [batch, 3, side, side])],
                   [("logits", [batch, classes])])


def kept(batch):
    """A batch in the shape of a Reshape: one that has a name is what it was."""
    return batch if isinstance(batch, int) else 0


def heads(b, x, batch, length, count, size):
    y = b.node("Reshape", x, np.array([kept(batch), length, count, size], np.int64))
    return b.node("Transpose", y, perm=[0, 2, 1, 3])


def attention(b, q, k, v, size, mask=None):
    s = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2]))
    s = b.node("Div", s, np.array(size ** 0.5, np.float32))
    if mask is not None:
        s = b.node("Add", s, mask)
    return b.node("MatMul", b.node("Softmax", s, axis=-1), v)


def bert(batch=1, length=128, hidden=768, count=12, layers=1, vocabulary=30522):
    """Embeddings and encoder layers with a padding mask."""
    b = Builder()
    size = hidden // count
    x = b.node("Gather", b.weight(vocabulary, hidden, scale=0.5), "tokens")
    x = b.node("Add", x, b.weight(length, hidden, scale=0.5))
    mask = b.node("Cast", b.node("Unsqueeze", "mask", np.array([1, 2], np.int64)),
                  to=TensorProto.FLOAT)
    mask = b.node("Mul", b.node("Sub", np.array(1.0, np.float32), mask),
                  np.array(-10000.0, np.float32))
    for _ in range(layers):
        q, k, v = (heads(b, linear(b, x, hidden, hidden), batch, length, count, size)
                   for _ in range(3))
        y = b.node("Transpose", attention(b, q, k, v, size, mask), perm=[0, 2, 1, 3])
        y = linear(b, b.node("Reshape", y, np.array([kept(batch), length, hidden], np.int64)), hidden,
                   hidden)
        x = b.node("LayerNormalization", b.node("Add", x, y), b.weight(hidden, scale=1.0),
                   b.weight(hidden, scale=0.1), axis=-1, epsilon=1e-12)
        y = linear(b, x, hidden, 4 * hidden)
        y = b.node("Mul", b.node("Mul", y, np.array(0.5, np.float32)), b.node(
            "Add", b.node("Erf", b.node("Div", y, np.array(2 ** 0.5, np.float32))),
            np.array(1.0, np.float32)))
        y = linear(b, y, 4 * hidden, hidden)
        x = b.node("LayerNormalization", b.node("Add", x, y), b.weight(hidden, scale=1.0),
                   b.weight(hidden, scale=0.1), axis=-1, epsilon=1e-12)
    b.nodes.append(helper.make_node("Identity", [x], ["hidden"], "last"))
    return b.model("bert", [("tokens", [batch, length], TensorProto.INT64),
                            ("mask", [batch, length], TensorProto.INT64)],
                   [("hidden", [batch, length, hidden])])


def llama(batch=1, length=128, hidden=2048, count=32, shared=8, inner=5632):
    """A decoder block: RMS norms written out, rotary embedding, grouped queries, SwiGLU, a causal
    mask."""
    b = Builder()
    size = hidden // count

    def norm(x):
        mean = b.node("ReduceMean", b.node("Mul", x, x), axes=[-1])
        root = b.node("Sqrt", b.node("Add", mean, np.array(1e-5, np.float32)))
        return b.node("Mul", b.node("Div", x, root), b.weight(hidden, scale=1.0))
    angle = np.outer(np.arange(length), 10000.0 ** (-np.arange(0, size, 2) / size))
    cos, sin = (b.constant(np.concatenate([f(angle)] * 2, -1).astype(np.float32))
                for f in (np.cos, np.sin))

    def rotary(x):
        first, second = b.node("Split", x, np.array([size // 2] * 2, np.int64), outputs=2, axis=-1)
        turned = b.node("Concat", b.node("Neg", second), first, axis=-1)
        return b.node("Add", b.node("Mul", x, cos), b.node("Mul", turned, sin))

    def repeated(x):
        y = b.node("Expand", b.node("Unsqueeze", x, np.array([2], np.int64)),
                   np.array([kept(batch) or 1, shared, count // shared, length, size], np.int64))
        return b.node("Reshape", y, np.array([kept(batch), count, length, size], np.int64))
    n = norm("x")
    q = heads(b, linear(b, n, hidden, hidden, False), batch, length, count, size)
    k, v = (heads(b, linear(b, n, hidden, shared * size, False), batch, length, shared, size)
            for _ in range(2))
    mask = np.triu(np.full((length, length), -np.inf, np.float32), 1)
    y = attention(b, rotary(q), repeated(rotary(k)), repeated(v), size, b.constant(mask))
    y = b.node("Reshape", b.node("Transpose", y, perm=[0, 2, 1, 3]),
               np.array([kept(batch), length, hidden], np.int64))
    x = b.node("Add", "x", linear(b, y, hidden, hidden, False))
    n = norm(x)
    gate = linear(b, n, hidden, inner, False)
    gate = b.node("Mul", gate, b.node("Sigmoid", gate))
    y = linear(b, b.node("Mul", gate, linear(b, n, hidden, inner, False)), inner, hidden, False)
    b.nodes.append(helper.make_node("Add", [x, y], ["y"], "last"))
    return b.model("llama", [("x", [batch, length, hidden])], [("y", [batch, length, hidden])])
