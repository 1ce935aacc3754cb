"""roller.torch.export: a program of torch.export as C and weights, which run without Python."""
import os
import re
import shutil
import subprocess

import torch
from torch.export.graph_signature import InputKind, OutputKind

from .. import _default
from .._errors import Error
from .._tensors import CODES
from .exported import partition_of, taken_apart
from .lower import is_view
from .program import Options
from .sizes import Pin, Size, spelled
from .values import TYPES

ALIGN = 256                     # of each weight, as of the device's own allocations


class ExportError(Error):
    """What has no program; `fallbacks` is the list."""

    def __init__(self, text, fallbacks=()):
        super().__init__(text, status="TE")
        self.fallbacks = list(fallbacks)


class Exported:
    """What was written: files, sizes (the text of what varies), inputs and outputs as declared."""

    def __init__(self, files, sizes, inputs, outputs):
        self.files, self.sizes, self.inputs, self.outputs = files, sizes, inputs, outputs


def c_text(x):
    """A size as C."""
    return spelled(x.expr) if isinstance(x, Size) else str(x)


def c_list(values):
    return ", ".join(map(c_text, values)) or "0"


class Writer:
    """The model's own C: buffers, and the programs in their order."""

    def __init__(self, name, partition, program, symbols, weights):
        self.name, self.partition, self.symbols = name, partition, symbols
        self.sizes, self.steps, self.places = partition.sizes, [], dict(weights)
        placeholders = [n for n in partition.graph.nodes if n.op == "placeholder"]
        self.user = [n for n, s in zip(placeholders, program.graph_signature.input_specs)
                     if s.kind == InputKind.USER_INPUT]
        self.order = {n: k for k, n in enumerate(placeholders)}
        self.results = list(next(iter(reversed(partition.graph.nodes))).args[0])
        for k, n in enumerate(self.user):
            self.places[n] = ("in", k)
        for k, n in enumerate(self.results):
            self.places[n] = ("out", k)

    # ---- sizes ----
    def read_sizes(self):
        user = {self.order[n]: k for k, n in enumerate(self.user)}
        for own, place in zip(self.sizes.order, self.symbols.places.values()):
            if place.input not in user or place.dim is None:
                raise ExportError(f"no input has {own} as an extent")
            at = f"in[{user[place.input]}].shape[{place.dim}]"
            self.steps.append(f"    const int64_t {own.name} = ({at} - {place.offset}) / {place.factor};")
        for g in dict.fromkeys(self.sizes.guards):
            self.steps.append(f"    if (!({spelled(g.lhs)} {g.rel_op} {spelled(g.rhs)})) {{\n"
                              "        c->status = ROLLER_LAUNCH_SIZE;\n        return;\n    }")

    # ---- tensors ----
    def tensor(self, what, node):
        """Lines that declare the tensor `what`, and what it is called."""
        kind, k = self.places[node]
        if kind in ("in", "out"):
            return f"{kind}[{k}]"
        like = node.meta["val"]
        base = "c->model->weights" if kind == "weight" else "c->model->room"
        return self.made(what, like, base, k)

    def made(self, what, like, base, offset):
        code, bits = CODES[TYPES[like.dtype]]
        strides = like.dense()
        self.steps.append(f"    int64_t {what}_shape[] = {{{c_list(like.shape)}}};")
        if strides:
            self.steps.append(f"    int64_t {what}_strides[] = {{{c_list(strides)}}};")
        return (f"tensor({base}, {offset}, {code}, {bits}, {len(like.shape)}, {what}_shape, "
                f"{what + '_strides' if strides else 'NULL'})")

    def told(self, what, name):
        """The tensor that tells a size and is never read."""
        code, bits = CODES["bool"]
        self.steps += [f"    int64_t {what}_shape[] = {{{name}}};",
                       f"    int64_t {what}_strides[] = {{0}};"]
        return f"tensor(c->model->weights, 0, {code}, {bits}, 1, {what}_shape, {what}_strides)"

    def allot(self, region):
        for node in region.outputs:
            if node in self.places:
                continue
            like = node.meta["val"]
            count = "*".join(f"({c_text(n)})" for n in like.shape) or "1"
            name = f"b{sum(kind == 'room' for kind, _ in self.places.values())}"
            self.places[node] = ("room", name)
            self.steps.append(f"    const int64_t {name} = buffer(c, {count} * "
                              f"{CODES[TYPES[like.dtype]][1] // 8});")

    def step(self, k, region, program):
        """The launch of a region by this program."""
        ins = [self.tensor(f"s{k}i{j}", n) for j, n in enumerate(region.inputs)]
        ins += [self.told(f"s{k}t{j}", n) for j, n in enumerate(region.told)]
        outs = [self.tensor(f"s{k}o{j}", n) for j, n in enumerate(region.outputs)]
        call = f"roller_{self.name}_{program}"
        self.steps += [
            f"    RollerTensor s{k}_in[] = {{{', '.join(ins) or '{0}'}}};",
            f"    RollerTensor s{k}_out[] = {{{', '.join(outs)}}};",
            f"    step(c, c->model->program[{program}], (Launch *){call}_launch, "
            f"(Workspace *){call}_workspace,\n         s{k}_in, {len(ins)}, s{k}_out, {len(outs)});"]

    def text(self, programs):
        self.read_sizes()
        for region in self.partition.regions:
            self.allot(region)
        for k, region in enumerate(self.partition.regions):
            self.step(k, region, programs.index(region.program.te))
        return "\n".join(self.steps) + "\n"

    def declared(self, node, k, kind):
        like = node.meta["val"]
        return f"{kind}[{k}] {node.name}: {TYPES[like.dtype]}[{', '.join(map(c_text, like.shape))}]"


# ---- the graph ----
def prepared(program):
    """Taken apart, each output a row-major tensor that no other node is."""
    program = taken_apart(program)
    for spec in program.graph_signature.output_specs:
        if spec.kind != OutputKind.USER_OUTPUT:
            raise ExportError(f"it changes {spec.target}: export the model's eval(), or a function "
                              "that returns what changes")
    graph = program.graph_module.graph
    last, seen = next(iter(reversed(graph.nodes))), set()
    with graph.inserting_before(last):
        results = []
        for n in last.args[0]:
            value = n.meta.get("val") if isinstance(n, torch.fx.Node) else n
            if not isinstance(value, torch.Tensor):
                raise ExportError("an output is no tensor")
            if n.op != "call_function" or is_view(n) or n in seen or not value.is_contiguous():
                n = graph.call_function(torch.ops.aten.clone.default, (n,))
                n.meta["val"] = value.contiguous()
            seen.add(n)
            results.append(n)
        last.args = (tuple(results),)
    return program


def split(program, options):
    """The partition, and where its symbols are read."""
    try:
        made, symbols = partition_of(program, options)
    except Pin as pin:
        raise ExportError(f"{', '.join(sorted(map(str, pin.symbols)))} cannot vary here: a number is "
                          "wanted; export with a static size") from pin
    if made.fallbacks:
        lines = sorted({f"  {f.operator}: {f.reason}" for f in made.fallbacks})
        raise ExportError("operators have no program:\n" + "\n".join(lines), made.fallbacks)
    return made, symbols


def values_of(program):
    """What each placeholder that is no input is; inputs are None."""
    for spec in program.graph_signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            persistent = spec.kind == InputKind.PARAMETER or spec.persistent
            yield (program.state_dict if persistent else program.constants)[spec.target]
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            yield program.constants[spec.target]
        else:
            yield None


def in_memory(tensor, strides):
    """The bytes of a tensor that fills its memory."""
    t = tensor.detach().cpu()
    order = sorted(range(t.dim()), key=lambda d: -strides[d]) if strides else range(t.dim())
    flat = t.permute(*order).contiguous() if t.dim() else t.contiguous()
    return flat.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""


def write_weights(path, program, partition):
    """The file; gives {placeholder: ("weight", offset)}, and its size."""
    places, at = {}, 0
    used = {n for r in partition.regions for n in r.inputs}
    nodes = [n for n in partition.graph.nodes if n.op == "placeholder"]
    with open(path, "wb") as f:
        for node, value in zip(nodes, values_of(program)):
            if value is None or node not in used:
                continue
            places[node] = ("weight", at)
            data = in_memory(value, node.meta["val"].dense())
            f.write(data + b"\0" * (-len(data) % ALIGN))
            at += len(data) + -len(data) % ALIGN
        if not at:
            at = f.write(b"\0" * ALIGN)
    return places, at


HEADER = """/* {name}, a program of PyTorch as C: made by roller.  Link {files}.
{arguments}
 */
#ifndef MODEL_{name}
#define MODEL_{name}
{launcher}
typedef struct {name} {name};
/* A context of the device is current, here and in each call.  weights: the path of {name}.bin.
 * Statuses are those of a launch; 0 is right.  */
int {name}_load(const char *weights, {name} **out);
/* Queues the programs in `stream` (a CUstream).  Tensors lie on the device, row-major.  Memory for
 * what lies between is kept, and exchanged for more where a call needs it; one call at a time.  */
int {name}_run({name} *m, const RollerTensor *in, int n_in, const RollerTensor *out, int n_out,
    void *stream);
void {name}_unload({name} *m);
const char *{name}_status_text(int status);
#endif
"""


def fill(template, **parts):
    for key, value in parts.items():
        template = template.replace(f"/*{key}*/", value)
    return template


def export(program, folder, *, name="model", profile=None, shared=False):
    """Writes a program of torch.export as NAME.h, NAME.c, a launcher for each of its fused programs,
    and NAME.bin with the weights; shared: also NAME.so, by $CC.

    Refused with the list of what has no program (ExportError.fallbacks).  Dimensions that
    torch.export was told to vary are run-time sizes.
    """
    if not re.fullmatch(r"[a-z]\w*", name):
        raise ValueError(f"{name!r} is no name in C")
    program = prepared(program)
    partition, symbols = split(program, Options(profile=profile, host="evaluate"))
    os.makedirs(folder, exist_ok=True)

    def path(end):
        return os.path.join(os.fspath(folder), f"{name}{end}")
    weights, size = write_weights(path(".bin"), program, partition)
    writer = Writer(name, partition, program, symbols, weights)
    distinct = list(dict.fromkeys(r.program.te for r in partition.regions))
    kernels = _default.compile_many([te.replace("op graph(", f"op {name}_{k}(", 1)
                                     for k, te in enumerate(distinct)], profile=profile)
    for k, kernel in enumerate(kernels):
        for kind in "hc":
            write(path(f"_{k}.{kind}"), kernel.artefact(kind))
    sources = [path(".c")] + [path(f"_{k}.c") for k in range(len(kernels))]
    said = [writer.declared(n, k, "in") for k, n in enumerate(writer.user)] + [
        writer.declared(n, k, "out") for k, n in enumerate(writer.results)]
    sizes = [f"{s.name} in {r.lower}..{r.upper}" for s, r in partition.sizes.ranges.items()]
    write(path(".h"), HEADER.format(
        name=name, files=", ".join(map(os.path.basename, sources)),
        arguments="\n".join(f" *   {line}" for line in said + sizes),
        launcher=f'#include "{name}_0.h"'))
    write(path(".c"), source(name, writer, distinct, size))
    files = [path(".h"), *sources, path(".bin")]
    if shared:
        files.append(linked(path(".so"), sources))
    return Exported(files, sizes, said[:len(writer.user)], said[len(writer.user):])


def source(name, writer, distinct, size):
    with open(os.path.join(os.path.dirname(__file__), "model.c"), encoding="utf-8") as f:
        template = f.read()
    each = [f"roller_{name}_{k}" for k in range(len(distinct))]
    text = fill(
        template, HEADERS="".join(f'#include "{name}_{k}.h"\n' for k in range(len(distinct))),
        INPUTS=str(len(writer.user)), OUTPUTS=str(len(writer.results)),
        PROGRAMS=str(len(distinct)), BYTES=str(size),
        RANKS=", ".join(str(len(n.meta["val"].shape)) for n in writer.user) or "0",
        STEPS=writer.text(distinct),
        LOADS="".join(f"    if (!s) s = {e}_load(({e}_kernel **)&m->program[{k}]);\n"
                      for k, e in enumerate(each)),
        UNLOADS="".join(f"    {e}_unload(m->program[{k}]);\n" for k, e in enumerate(each)))
    return re.sub(r"\bMODEL\b|(?<=roller_)MODEL(?=_)|\bMODEL(?=_)", name, text)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def linked(so, sources):
    cc = os.environ.get("CC") or "cc"
    if shutil.which(cc) is None:
        raise ExportError(f"there is no C compiler {cc}, which shared=True needs")
    subprocess.run([cc, "-std=c11", "-O2", "-fPIC", "-shared", *sources, "-ldl", "-o", so], check=True)
    return so
