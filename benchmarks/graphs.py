#!/usr/bin/env python3
"""Whole networks as .te, as a machine lowers them: a statement for each operator, batch statistics
folded into a scale and a shift, every axis kept.

    graphs.py resnet18|resnet50|resnet101|googlenet [BATCH] > graph.te
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

    def end(self, x, classes):
        name, c, h = x
        mean, w, b = self.temporary(), self.argument(classes, c), self.argument(classes)
        self.say(f"{mean}[n,f,o,u]", f"sum[p,q]({name}[n,f,p,q]) / {h * h} where o in 1, u in 1")
        self.say("Y[n,m]", f"sum[f]({mean}[n,f,0,0] * {w}[m,f]) + {b}[m] @tf32")
        print(f"op graph(X: f32[{self.batch},3,224,224], {', '.join(self.inputs)})"
              f" -> Y: f32[{self.batch},{classes}] {{")
        print("\n".join(self.body) + "\n}")


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


NETWORKS = {
    "resnet18": lambda g: resnet(g, (2, 2, 2, 2), False),
    "resnet50": lambda g: resnet(g, (3, 4, 6, 3), True),
    "resnet101": lambda g: resnet(g, (3, 4, 23, 3), True),
    "googlenet": googlenet,
}

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__.strip())
    NETWORKS[sys.argv[1]](Graph(int(sys.argv[2]) if len(sys.argv) > 2 else 10))
