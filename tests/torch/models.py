"""Small models of the kinds that people train, as PyTorch's users write them."""
import torch
from torch import nn
from torch.nn import functional as F


class GPTBlock(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(d, 2)
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Embeddings, a block, and the logits of the same table; gives the loss."""

    def __init__(self, words=48, width=32, length=8):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.block, self.norm = GPTBlock(width), nn.LayerNorm(width)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        logits = self.norm(self.block(x)) @ self.words.weight.T
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


class LlamaBlock(nn.Module):
    """Rotary embeddings, RMSNorm, SwiGLU, grouped queries."""

    def __init__(self, width=32, heads=4, groups=2, length=8):
        super().__init__()
        self.heads, self.groups, size = heads, groups, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.q, self.kv = nn.Linear(width, width, False), nn.Linear(width, 2 * groups * size, False)
        self.out = nn.Linear(width, width, False)
        self.gate, self.up = nn.Linear(width, 64, False), nn.Linear(width, 64, False)
        self.down = nn.Linear(64, width, False)
        angle = torch.outer(torch.arange(length), 1e4 ** (-torch.arange(0, size, 2) / size))
        self.register_buffer("cos", torch.cat((angle, angle), 1).cos())
        self.register_buffer("sin", torch.cat((angle, angle), 1).sin())

    def forward(self, x):
        b, n, d = x.shape
        h = self.norm1(x)
        q = self.q(h).view(b, n, self.heads, -1).transpose(1, 2)
        k, v = self.kv(h).view(b, n, 2, self.groups, -1).permute(2, 0, 3, 1, 4)
        q, k = (rotate(t, self.cos, self.sin) for t in (q, k))
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class ResNetBlock(nn.Module):
    def __init__(self, inner=4, outer=8):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, 2, 1, bias=False)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.short = nn.Conv2d(inner, outer, 1, 2, bias=False)
        self.norm1, self.norm2, self.norm3 = (nn.BatchNorm2d(outer) for _ in range(3))
        self.pool = nn.MaxPool2d(3, 2, 1)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.adaptive_avg_pool2d(self.pool(F.relu(y + self.norm3(self.short(x)))), 1).flatten(1)


class UNetBlock(nn.Module):
    def __init__(self, channels=4):
        super().__init__()
        self.down = nn.Conv2d(channels, 2 * channels, 3, 2, 1)
        self.norm = nn.GroupNorm(2, 2 * channels)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, 2)
        self.out = nn.Conv2d(2 * channels, channels, 3, 1, 1)

    def forward(self, x):
        y = self.up(F.silu(self.norm(self.down(x))))
        y = self.out(torch.cat((x, y), 1))
        return F.interpolate(F.avg_pool2d(y, 2), scale_factor=2, mode="nearest")


class LSTM(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.lstm = nn.LSTM(width, width, 1, batch_first=True)
        self.out = nn.Linear(width, 4)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


class ViTBlock(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.layer = nn.TransformerEncoderLayer(width, 4, 64, 0.0, "gelu", batch_first=True,
                                                norm_first=True)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = self.layer(torch.cat((self.token.expand(len(x), -1, -1), x), 1))
        return self.head(x[:, 0])


class MoE(nn.Module):
    """Two of four experts for each token, by their gates."""

    def __init__(self, width=16, experts=4):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.first = nn.Parameter(torch.randn(experts, width, 32) * 0.2)
        self.second = nn.Parameter(torch.randn(experts, 32, width) * 0.2)

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(2)
        weight = weight / weight.sum(-1, keepdim=True)
        h = F.relu(torch.einsum("td,edh->teh", x, self.first))
        y = torch.einsum("teh,ehd->ted", h, self.second)
        picked = y.gather(1, chosen[..., None].expand(-1, -1, y.shape[-1]))
        return (picked * weight[..., None]).sum(1)


class MLP(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Dropout(0.25),
                                    nn.Linear(32, 32), nn.Tanh(), nn.Dropout(0.5), nn.Linear(32, 4))

    def forward(self, x):
        return self.layers(x)


def squared(y):
    return y.pow(2).mean()



# name: the model, its input, what is trained.
MODELS = {
    "gpt": (GPT, lambda: torch.randint(0, 48, (2, 8)), lambda loss: loss),
    "llama": (LlamaBlock, lambda: torch.randn(2, 8, 32), squared),
    "resnet": (ResNetBlock, lambda: torch.randn(2, 4, 12, 12), squared),
    "unet": (UNetBlock, lambda: torch.randn(2, 4, 8, 8), squared),
    "lstm": (LSTM, lambda: torch.randn(2, 5, 8), squared),
    "vit": (ViTBlock, lambda: torch.randn(2, 3, 8, 8), squared),
    "moe": (MoE, lambda: torch.randn(6, 16), squared),
    "mlp": (MLP, lambda: torch.randn(8, 16), squared),
}
