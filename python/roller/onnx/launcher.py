"""A model for hosts in C: one source file with the code of all kernels, and a file of weights."""
import re

import numpy as np

from .._tensors import CODES
from .extents import is_known

ALIGN = 256                   # of a weight in its file

RUN = """
/* ---- the model {name}: weights as they lie in {name}.weights ---- */

enum {{ MODEL_IN = {n_in}, MODEL_OUT = {n_out} }};

/* Bytes of {name}.weights, which the host copies to memory of the device, aligned to {align}.  */
const size_t roller_{name}_weights = {weights};

/* Runs the model: roller_{name}_run(k, weights, in, out, size, workspace, bytes, stream).
 * {inputs}
 * {outputs}
 * size: {sizes}.  Memory is the device's; the rest as of roller_{name}_launch, whose statuses it
 * returns.  With `bytes_needed` nothing runs, and it receives the bytes of workspace.  */
int roller_{name}_run(const roller_{name}_kernel *k, const void *weights, void *const *in,
                      void *const *out, const int64_t *size, void *workspace, size_t bytes,
                      void *stream, size_t *bytes_needed);

int roller_{name}_run(const roller_{name}_kernel *k, const void *weights, void *const *in,
                      void *const *out, const int64_t *size, void *workspace, size_t bytes,
                      void *stream, size_t *bytes_needed) {{
    static const struct {{
        int input;                /* of the model; -1: a weight */
        size_t at;                /* of a weight */
        uint8_t code, bits, rank;
    }} given[] = {{
{rows}
    }};
{symbols}    int64_t shape[][8] = {{
{shapes}
    }};
    RollerTensor t[MODEL_IN + MODEL_OUT];
    (void)size;
    for (int i = 0; i < MODEL_IN + MODEL_OUT; i++) {{
        const char *base = weights;
        t[i] = (RollerTensor){{.device = {{2, 0}}, .ndim = given[i].rank, .shape = shape[i],
                              .dtype = {{given[i].code, given[i].bits, 1}}}};
        if (i >= MODEL_IN) t[i].data = out[given[i].input];
        else if (given[i].input >= 0) t[i].data = in[given[i].input];
        else t[i].data = (void *)(uintptr_t)(base + given[i].at);
    }}
    if (bytes_needed)
        return roller_{name}_workspace(k, t, MODEL_IN, t + MODEL_IN, MODEL_OUT, bytes_needed);
    return roller_{name}_launch(k, t, MODEL_IN, t + MODEL_IN, MODEL_OUT, workspace, bytes, stream);
}}
"""


def weights_of(lowered):
    """The weights as bytes, and where each argument's lie."""
    data, at = bytearray(), {}
    for a in lowered.inputs:
        if a.data is None:
            continue
        data += bytes(-len(data) % ALIGN)
        at[a.name] = len(data)
        data += np.ascontiguousarray(a.data).tobytes()
    return bytes(data), at


def _text(extent):
    return str(extent) if is_known(extent) else re.sub(r"[A-Za-z_]\w*", r"s_\g<0>", str(extent))


def c_source(model):
    """STEM.c of the kernel, and behind it the model's own function."""
    lowered = model.lowered
    weights, at = weights_of(lowered)
    rows, shapes = [], []

    def add(tensor, number, offset):
        code, bits = CODES[tensor.dtype]
        rows.append(f"        {{{number}, {offset}, {code}, {bits}, {len(tensor.shape)}}},")
        shapes.append("        {" + ", ".join(map(_text, tensor.shape or ["0"])) + "},")
    for a in lowered.inputs:
        number = -1 if a.data is not None else model.inputs.index(a.source)
        add(a.tensor, number, at.get(a.name, 0))
    for source, tensor in lowered.outputs.values():
        add(tensor, model.outputs.index(source), 0)
    sizes = list(lowered.sizes)
    symbols = "".join(f"    const int64_t s_{n} = size[{i}];\n" for i, n in enumerate(sizes))
    return model.kernel.artefact("c") + RUN.format(
        name=lowered.name, align=ALIGN, weights=len(weights), n_in=len(lowered.inputs),
        n_out=len(lowered.outputs), rows="\n".join(rows), shapes="\n".join(shapes),
        symbols=symbols, sizes=", ".join(sizes) or "none, NULL",
        inputs="in: " + ", ".join(_plain(model.inputs)),
        outputs="out: " + ", ".join(_plain(model.outputs)))


def _plain(names):
    return [re.sub(r"[^\w.:/-]", "_", n).replace("*/", "__").replace("/*", "__") for n in names]
