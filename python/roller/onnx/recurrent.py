"""Recurrences, step by step: a program has no loops of its own, so sequences are short; and steps
of optimizers."""
from .products import matmul
from .registry import lowers
from .statements import Tensor, Unsupported, literal
from .views import concat, reshape, transposed, view

MOST_STEPS = 64

ACTIVATIONS = {
    "Sigmoid": "1 / (1 + exp(-({})))", "Tanh": "tanh({})", "Relu": "max({}, 0)",
    "Softsign": "({0}) / (1 + abs({0}))", "Softplus": "log(1 + exp({}))", "Affine": "{}",
}


class _Cell:
    def __init__(self, g, node, x, w, r, bias, state, lengths, gates, names):
        if node.get("clip") is not None:
            raise Unsupported("gates that are clipped")
        if node.get("layout", 0):
            x = transposed(x, [1, 0, 2])
            state = None if state is None else transposed(state, [1, 0, 2])
        self.g, self.node, self.x, self.gates = g, node, x, gates
        self.hidden = node["hidden_size"]
        self.steps, self.batch = x.shape[0], x.shape[1]
        if not isinstance(self.steps, int) or self.steps > MOST_STEPS:
            raise Unsupported(f"a sequence of more than {MOST_STEPS} steps")
        directions = {"forward": [0], "reverse": [1], "bidirectional": [0, 1]}[
            node.get("direction", "forward")]
        self.directions = directions
        self.w, self.r, self.bias, self.state, self.lengths = w, r, bias, state, lengths
        if lengths is not None and lengths.data is not None and \
                (lengths.data == self.steps).all():
            self.lengths = None
        given = node.list("activations") or names * len(directions)
        self.functions = [ACTIVATIONS.get(n.decode() if isinstance(n, bytes) else n)
                          for n in given]
        if None in self.functions:
            raise Unsupported(f"the activations {given}")

    def part(self, v, k, gate, bias=0):
        """A gate's rows of a direction's weights, or of its bias."""
        first = (gate + bias * self.gates) * self.hidden
        if v.rank == 3:
            return view(v, [self.hidden, v.shape[2]], lambda s: [str(k), f"{s[0]} + {first}", s[1]])
        return view(v, [self.hidden], lambda s: [str(k), f"{s[0]} + {first}"])

    def first(self, v, k):
        if v is None:
            return Tensor((self.batch, self.hidden), self.x.dtype, lambda s: "0.0")
        return view(v, [self.batch, self.hidden], lambda s: [str(k), *s])

    def gate(self, k, x, h, gate, of_h=None):
        """x W^T + h R^T + both biases, not activated."""
        def times(v, m):
            return matmul(self.g, v, transposed(m, [1, 0]), self.x.dtype)
        a, b = times(x, self.part(self.w, k, gate)), times(h, self.part(self.r, k, gate))
        values, form = [a, b], "{0} + {1}"
        if self.bias is not None:
            values += [self.part(self.bias, k, gate), self.part(self.bias, k, gate, 1)]
            form += " + {2} + {3}"
        return self.g.map(self.x.dtype, form, *values)

    def act(self, i, v):
        return self.g.map(self.x.dtype, self.functions[i].format("{0}"), v)

    def run(self, step, states):
        """step(direction, functions' first, x, states) -> states; the first state is the output."""
        g, all_y, last = self.g, [], []
        for number, turned in enumerate(self.directions):
            s = [self.first(v, number) for v in states]
            made = {}
            order = range(self.steps)[::-1] if turned else range(self.steps)
            for t in order:
                x = view(self.x, self.x.shape[1:], lambda s, t=t: [str(t), *s])
                new = step(number, number * len(self.functions) // len(self.directions), x, s)
                s, made[t] = self.kept(t, new, s)
            all_y.append([made[t] for t in range(self.steps)])
            last.append(s)
        y = self.joined([concat(g, [reshape(v, [1, *v.shape]) for v in steps], 0)
                         for steps in all_y], 1)
        finals = [self.joined([one[i] for one in last], 0) for i in range(len(states))]
        if self.node.get("layout", 0):
            y = transposed(y, [2, 0, 1, 3])
            finals = [transposed(v, [1, 0, 2]) for v in finals]
        return [y, *finals]

    def joined(self, parts, axis):
        shaped = [reshape(v, [*v.shape[:axis], 1, *v.shape[axis:]]) for v in parts]
        return concat(self.g, shaped, axis)

    def kept(self, t, new, old):
        """Behind its length a sequence keeps its state, and its output is 0."""
        if self.lengths is None:
            return new, new[0]
        test = self.lengths
        keep = [self.g.store(n.shape, n.dtype,
                             lambda s, n=n, o=o: f"{test.at([s[0]])} > {t} ? {n.at(s)} : {o.at(s)}")
                for n, o in zip(new, old)]
        y = self.g.store(new[0].shape, new[0].dtype,
                         lambda s: f"{test.at([s[0]])} > {t} ? {new[0].at(s)} : 0.0")
        return keep, y


@lowers("RNN")
def lower_rnn(g, node, x, w, r, bias=None, lengths=None, h=None):
    cell = _Cell(g, node, x, w, r, bias, h, lengths, 1, ["Tanh"])

    def step(k, f, x, states):
        return [cell.act(f, cell.gate(k, x, states[0], 0))]
    return cell.run(step, [cell.state])


@lowers("LSTM")
def lower_lstm(g, node, x, w, r, bias=None, lengths=None, h=None, c=None, peep=None):
    cell = _Cell(g, node, x, w, r, bias, h, lengths, 4, ["Sigmoid", "Tanh", "Tanh"])
    if node.get("input_forget", 0):
        raise Unsupported("coupled gates")
    if c is not None and node.get("layout", 0):
        c = transposed(c, [1, 0, 2])

    def look(v, k, gate, state):
        if peep is None:
            return v
        first = gate * cell.hidden
        p = view(peep, [cell.hidden], lambda s: [str(k), f"{s[0]} + {first}"])
        return g.map(v.dtype, "{0} + {1} * {2}", v, p, state)

    def step(k, f, x, states):
        h, c = states
        i = cell.act(f, look(cell.gate(k, x, h, 0), k, 0, c))
        forget = cell.act(f, look(cell.gate(k, x, h, 2), k, 2, c))
        new = cell.act(f + 1, cell.gate(k, x, h, 3))
        c = g.map(x.dtype, "{0} * {1} + {2} * {3}", forget, c, i, new)
        out = cell.act(f, look(cell.gate(k, x, h, 1), k, 1, c))
        return [g.map(x.dtype, "{0} * {1}", out, cell.act(f + 2, c)), c]
    return cell.run(step, [cell.state, c])


@lowers("GRU")
def lower_gru(g, node, x, w, r, bias=None, lengths=None, h=None):
    cell = _Cell(g, node, x, w, r, bias, h, lengths, 3, ["Sigmoid", "Tanh"])
    behind = node.get("linear_before_reset", 0)

    def step(k, f, x, states):
        h, = states
        z, reset = (cell.act(f, cell.gate(k, x, h, n)) for n in (0, 1))
        if behind:
            a = matmul(g, x, transposed(cell.part(w, k, 2), [1, 0]), x.dtype)
            b = matmul(g, h, transposed(cell.part(r, k, 2), [1, 0]), x.dtype)
            values = [a, reset, b]
            form = "{0} + {1} * {2}"
            if bias is not None:
                values += [cell.part(bias, k, 2), cell.part(bias, k, 2, 1)]
                form = "{0} + {3} + {1} * ({2} + {4})"
            new = cell.act(f + 1, g.map(x.dtype, form, *values))
        else:
            new = cell.act(f + 1, cell.gate(k, x, g.map(x.dtype, "{0} * {1}", reset, h), 2))
        return [g.map(x.dtype, "(1 - {0}) * {1} + {0} * {2}", z, new, h)]
    return cell.run(step, [cell.state])


# ---- optimizers ----
def _triples(inputs, n):
    count = len(inputs) // n
    return [[inputs[k + j * count] for j in range(n)] for k in range(count)]


@lowers("Momentum", "Adagrad", "Adam")
def lower_optimizer(g, node, rate, step, *inputs):
    n = 4 if node.op == "Adam" else 3
    made = [_OPTIMIZERS[node.op](g, node, rate, step, *x) for x in _triples(inputs, n)]
    return [m[j] for j in range(n - 1) for m in made]


def _momentum(g, node, rate, step, x, d, v):
    norm, alpha, beta = node["norm_coefficient"], node["alpha"], node["beta"]
    grad = g.map(x.dtype, f"{literal(norm)} * {{0}} + {{1}}", x, d)
    fresh = g.map(x.dtype, f"{{0}} > 0 ? {literal(beta)} : 1.0", step)
    new = g.map(x.dtype, f"{literal(alpha)} * {{0}} + {{2}} * {{1}}", v, grad, fresh)
    if node["mode"] == "nesterov":
        to = g.map(x.dtype, f"{{0}} - {{1}} * ({{2}} + {literal(alpha)} * {{3}})", x, rate, grad,
                   new)
    else:
        to = g.map(x.dtype, "{0} - {1} * {2}", x, rate, new)
    return to, new


def _adagrad(g, node, rate, step, x, d, h):
    decay, norm = node.get("decay_factor", 0.0), node.get("norm_coefficient", 0.0)
    eps = node.get("epsilon", 1e-6)
    r = g.map(x.dtype, f"{{0}} / (1 + f32({{1}}) * {literal(decay)})", rate, step)
    grad = g.map(x.dtype, f"{literal(norm)} * {{0}} + {{1}}", x, d)
    new = g.map(x.dtype, "{0} + {1} * {1}", h, grad)
    return g.map(x.dtype, f"{{0}} - {{1}} * {{2}} / (sqrt({{3}}) + {literal(eps)})", x, r, grad,
                 new), new


def _adam(g, node, rate, step, x, d, v, h):
    alpha, beta, eps = node.get("alpha", 0.9), node.get("beta", 0.999), node.get("epsilon", 1e-6)
    norm, after = node.get("norm_coefficient", 0.0), node.get("norm_coefficient_post", 0.0)
    grad = g.map(x.dtype, f"{literal(norm)} * {{0}} + {{1}}", x, d)
    m = g.map(x.dtype, f"{literal(alpha)} * {{0}} + {literal(1 - alpha)} * {{1}}", v, grad)
    s = g.map(x.dtype, f"{literal(beta)} * {{0}} + {literal(1 - beta)} * {{1}} * {{1}}", h, grad)
    r = g.map(x.dtype, f"{{1}} > 0 ? {{0}} * sqrt(1 - pow({literal(beta)}, f32({{1}}))) / "
                       f"(1 - pow({literal(alpha)}, f32({{1}}))) : {{0}}", rate, step)
    to = g.map(x.dtype, f"(1 - {literal(after)}) * ({{0}} - {{1}} * {{2}} / (sqrt({{3}}) + "
                        f"{literal(eps)}))", x, r, m, s)
    return to, m, s


_OPTIMIZERS = {"Momentum": _momentum, "Adagrad": _adagrad, "Adam": _adam}
