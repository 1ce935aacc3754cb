#!/usr/bin/env python3
"""Whole networks as .te, as a machine lowers them: a statement for each operator, batch statistics
folded into a scale and a shift, every axis kept.

    graphs.py NETWORK [BATCH] > graph.te

NETWORK: resnet18, resnet50, resnet101, resnet152, googlenet, densenet121, densenet201, vit (ViT-B/16),
gpt12, gpt24, gpt36, gpt48, gpt96 (so many blocks of GPT-2's size over 1024 tokens).
"""
import sys


class Graph:
    def __init__(self, batch):
        self.batch, self.inputs, self.body, self.count = batch, [], [], 0

    def temporary(self):
        self.count += 1
        return f"t{self.count}"

    def argument(self, *shape):
        name = f"w{len(self.inputs)}"
        self.inputs.append(f"{name}: f32[{','.join(map(str, shape))}]")
        return name

    def say(self, left, right):
        self.body.append(f"  {left} = {right};")

    def conv(self, x, channels, size, stride=1, relu=True):
        """x: (name, channels, extent); a convolution, its batch norm and perhaps a relu."""
        name, c, h = x
        pad, out = size // 2, (h + 2 * (size // 2) - size) // stride + 1
        w, scale, shift = (self.argument(channels, c, size, size), self.argument(channels),
                           self.argument(channels))
        at = f"{stride}*p+r-{pad},{stride}*q+s-{pad}"
        y, z = self.temporary(), self.temporary()
        self.say(f"{y}[n,f,p,q]", f"sum[c,r,s](({name}[n,c,{at}] else 0) * {w}[f,c,r,s])"
                 f" where n in {self.batch}, f in {channels}, p in {out}, q in {out} @tf32")
        self.say(f"{z}[n,f,p,q]", f"{y}[n,f,p,q] * {scale}[f] + {shift}[f]")
        return self.relu((z, channels, out)) if relu else (z, channels, out)

    def relu(self, x):
        y = self.temporary()
        self.say(f"{y}[n,f,p,q]", f"max({x[0]}[n,f,p,q], 0)")
        return (y, x[1], x[2])

    def add(self, x, y):
        z = self.temporary()
        self.say(f"{z}[n,f,p,q]", f"{x[0]}[n,f,p,q] + {y[0]}[n,f,p,q]")
        return (z, x[1], x[2])

    def pool(self, x, size, stride):
        name, c, h = x
        pad, out = size // 2, (h + 2 * (size // 2) - size) // stride + 1
        y = self.temporary()
        self.say(f"{y}[n,f,p,q]",
                 f"max[r,s]({name}[n,f,{stride}*p+r-{pad},{stride}*q+s-{pad}] else (-inf)) where "
                 f"n in {self.batch}, f in {c}, p in {out}, q in {out}, r in {size}, s in {size}")
        return (y, c, out)

    def join(self, parts):
        """Along the channels."""
        channels, right, first = sum(p[1] for p in parts), "", 0
        for name, c, _ in parts[:-1]:
            right += f"f < {first + c} ? {name}[n,f-{first},p,q] : "
            first += c
        y, h = self.temporary(), parts[0][2]
        self.say(f"{y}[n,f,p,q]", f"{right}{parts[-1][0]}[n,f-{first},p,q] where n in {self.batch}, "
                 f"f in {channels}, p in {h}, q in {h}")
        return (y, channels, h)

    def bn_relu(self, x):
        name, c, h = x
        scale, shift, y = self.argument(c), self.argument(c), self.temporary()
        self.say(f"{y}[n,f,p,q]", f"{name}[n,f,p,q] * {scale}[f] + {shift}[f]")
        return self.relu((y, c, h))

    def plain_conv(self, x, channels, size):
        """Without what is behind it."""
        name, c, h = x
        w, y, pad = self.argument(channels, c, size, size), self.temporary(), size // 2
        self.say(f"{y}[n,f,p,q]", f"sum[c,r,s](({name}[n,c,p+r-{pad},q+s-{pad}] else 0) * "
                 f"{w}[f,c,r,s]) where n in {self.batch}, f in {channels}, p in {h}, q in {h} @tf32")
        return (y, channels, h)

    def halve(self, x):
        name, c, h = x
        y = self.temporary()
        self.say(f"{y}[n,f,p,q]", f"sum[r,s]({name}[n,f,2*p+r,2*q+s]) / 4 where n in {self.batch}, "
                 f"f in {c}, p in {h // 2}, q in {h // 2}, r in 2, s in 2")
        return (y, c, h // 2)

    def end(self, x, classes):
        name, c, h = x
        mean, w, b = self.temporary(), self.argument(classes, c), self.argument(classes)
        self.say(f"{mean}[n,f,o,u]", f"sum[p,q]({name}[n,f,p,q]) / {h * h} where o in 1, u in 1")
        self.say("Y[n,m]", f"sum[f]({mean}[n,f,0,0] * {w}[m,f]) + {b}[m] @tf32")
        self.write(f"X: f32[{self.batch},3,224,224]", f"Y: f32[{self.batch},{classes}]")

    def write(self, given, result):
        print(f"op graph({given}, {', '.join(self.inputs)}) -> {result} {{")
        print("\n".join(self.body) + "\n}")

    # ---- transformers: x is the name of a [batch, tokens, width] tensor ----

    def linear(self, x, fan_in, fan_out):
        w, b, y, z = self.argument(fan_out, fan_in), self.argument(fan_out), self.temporary(), self.temporary()
        self.say(f"{y}[n,t,o]", f"sum[i]({x}[n,t,i] * {w}[o,i]) where n in {self.batch}, "
                 f"o in {fan_out} @tf32")
        self.say(f"{z}[n,t,o]", f"{y}[n,t,o] + {b}[o]")
        return z

    def layer_norm(self, x, width):
        mean, dev, var, y = (self.temporary() for _ in range(4))
        scale, shift = self.argument(width), self.argument(width)
        self.say(f"{mean}[n,t]", f"sum[i]({x}[n,t,i]) / {width}")
        self.say(f"{dev}[n,t,i]", f"{x}[n,t,i] - {mean}[n,t]")
        self.say(f"{var}[n,t]", f"sum[i]({dev}[n,t,i] * {dev}[n,t,i]) / {width}")
        self.say(f"{y}[n,t,i]", f"{dev}[n,t,i] * rsqrt({var}[n,t] + 0.00001) * {scale}[i] + {shift}[i]")
        return y

    def attention(self, x, tokens, width, heads, causal):
        d = width // heads
        q, k, v = (self.linear(x, width, width) for _ in range(3))
        split = []
        for name in (q, k, v):
            y = self.temporary()
            self.say(f"{y}[n,h,t,d]", f"{name}[n,t,{d}*h+d] where n in {self.batch}, h in {heads}, "
                     f"t in {tokens}, d in {d}")
            split.append(y)
        s, m, e, z, p, o, y = (self.temporary() for _ in range(7))
        self.say(f"{s}[n,h,i,j]", f"sum[d]({split[0]}[n,h,i,d] * {split[1]}[n,h,j,d]) @tf32")
        at = f"{s}[n,h,i,j] * {d ** -0.5}"
        if causal:
            at = f"(j <= i ? {at} : -10000.0)"
        u = self.temporary()
        self.say(f"{u}[n,h,i,j]", at)
        self.say(f"{m}[n,h,i]", f"max[j]({u}[n,h,i,j])")
        self.say(f"{e}[n,h,i,j]", f"exp({u}[n,h,i,j] - {m}[n,h,i])")
        self.say(f"{z}[n,h,i]", f"sum[j]({e}[n,h,i,j])")
        self.say(f"{p}[n,h,i,j]", f"{e}[n,h,i,j] / {z}[n,h,i]")
        self.say(f"{o}[n,h,i,d]", f"sum[j]({p}[n,h,i,j] * {split[2]}[n,h,j,d]) @tf32")
        self.say(f"{y}[n,t,c]", f"{o}[n,c/{d},t,c%{d}] where n in {self.batch}, t in {tokens}, c in {width}")
        return self.linear(y, width, width)

    def plus(self, x, y):
        z = self.temporary()
        self.say(f"{z}[n,t,i]", f"{x}[n,t,i] + {y}[n,t,i]")
        return z

    def block(self, x, tokens, width, heads, causal):
        x = self.plus(x, self.attention(self.layer_norm(x, width), tokens, width, heads, causal))
        h = self.linear(self.layer_norm(x, width), width, 4 * width)
        g = self.temporary()
        self.say(f"{g}[n,t,i]", f"0.5 * {h}[n,t,i] * (1 + erf({h}[n,t,i] * 0.7071067811865476))")
        return self.plus(x, self.linear(g, 4 * width, width))


def resnet(g, blocks, bottleneck):
    x = g.pool(g.conv(("X", 3, 224), 64, 7, 2), 3, 2)
    for stage, n in enumerate(blocks):
        width = 64 << stage
        for i in range(n):
            stride = 2 if i == 0 and stage else 1
            out = width * (4 if bottleneck else 1)
            y = g.conv(x, width, 1) if bottleneck else x
            y = g.conv(y, width, 3, stride)
            y = g.conv(y, out, 1 if bottleneck else 3, 1, False)
            if i == 0 and (stage or bottleneck):
                x = g.conv(x, out, 1, stride, False)
            x = g.relu(g.add(y, x))
    g.end(x, 1000)


def googlenet(g):
    x = g.pool(g.conv(("X", 3, 224), 64, 7, 2), 3, 2)
    x = g.pool(g.conv(g.conv(x, 64, 1), 192, 3), 3, 2)
    table = [(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None,
             (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64),
             (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
             (256, 160, 320, 32, 128, 128), None, (256, 160, 320, 32, 128, 128),
             (384, 192, 384, 48, 128, 128)]
    for row in table:
        if row is None:
            x = g.pool(x, 3, 2)
            continue
        a, b, c, d, e, f = row
        x = g.join([g.conv(x, a, 1), g.conv(g.conv(x, b, 1), c, 3),
                    g.conv(g.conv(x, d, 1), e, 5), g.conv(g.pool(x, 3, 1), f, 1)])
    g.end(x, 1000)


def densenet(g, blocks):
    """Each layer reads all before it, joined."""
    x = g.pool(g.conv(("X", 3, 224), 64, 7, 2), 3, 2)
    for stage, n in enumerate(blocks):
        for _ in range(n):
            y = g.plain_conv(g.bn_relu(x), 128, 1)
            x = g.join([x, g.plain_conv(g.bn_relu(y), 32, 3)])
        if stage + 1 < len(blocks):
            x = g.halve(g.plain_conv(g.bn_relu(x), x[1] // 2, 1))
    g.end(g.bn_relu(x), 1000)


def transformer(g, layers, tokens, width, heads, causal):
    x = "X"
    for _ in range(layers):
        x = g.block(x, tokens, width, heads, causal)
    g.say("Y[n,t,i]", f"{g.layer_norm(x, width)}[n,t,i]")
    shape = f"f32[{g.batch},{tokens},{width}]"
    g.write(f"X: {shape}", f"Y: {shape}")


NETWORKS = {
    "resnet18": lambda g: resnet(g, (2, 2, 2, 2), False),
    "resnet50": lambda g: resnet(g, (3, 4, 6, 3), True),
    "resnet101": lambda g: resnet(g, (3, 4, 23, 3), True),
    "resnet152": lambda g: resnet(g, (3, 8, 36, 3), True),
    "googlenet": googlenet,
    "densenet121": lambda g: densenet(g, (6, 12, 24, 16)),
    "densenet201": lambda g: densenet(g, (6, 12, 48, 32)),
    "vit": lambda g: transformer(g, 12, 197, 768, 12, False),
    **{f"gpt{n}": lambda g, n=n: transformer(g, n, 1024, 768, 12, True) for n in (12, 24, 36, 48, 96)},
}

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__.strip())
    NETWORKS[sys.argv[1]](Graph(int(sys.argv[2]) if len(sys.argv) > 2 else 10))
