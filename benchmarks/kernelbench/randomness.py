"""Dropout in PyTorch with the random numbers that a lowered graph draws: Philox4x32-10 in NumPy."""
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

MULTIPLIERS, STEPS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
WORD = np.uint64(0xFFFFFFFF)


def philox(seed, first, n):
    """Numbers first..first+n-1 of the seed, as 32-bit values."""
    place = np.arange(first, first + n, dtype=np.uint64)
    block = place // np.uint64(4)
    words = [block & WORD, block >> np.uint64(32), np.zeros_like(block), np.zeros_like(block)]
    keys = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        low, high = (np.uint64(m) * words[2 * i] for i, m in enumerate(MULTIPLIERS))
        words = [(high >> np.uint64(32)) ^ words[1] ^ np.uint64(keys[0]), high & WORD,
                 (low >> np.uint64(32)) ^ words[3] ^ np.uint64(keys[1]), low & WORD]
        keys = [(k + step) & 0xFFFFFFFF for k, step in zip(keys, STEPS)]
    return np.choose((place % np.uint64(4)).astype(int), words)


class Randomness(TorchDispatchMode):
    """Dropout, and bernoulli_(p) by which it may draw, keeps where the next numbers exceed 1 - p."""

    def __init__(self, seed):
        super().__init__()
        self.seed, self.drawn = seed, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function not in (torch.ops.aten.bernoulli_.float, torch.ops.aten.native_dropout.default):
            return function(*args, **(kwargs or {}))
        x, p = args[0], args[1]
        numbers = philox(self.seed, self.drawn, x.numel())
        self.drawn += x.numel()
        uniform = torch.from_numpy((numbers >> np.uint64(8)) * 2.0 ** -24).reshape(x.shape).float()
        if function is torch.ops.aten.bernoulli_.float:
            return x.copy_(uniform > 1 - p)
        kept = uniform > p
        return x * kept / (1 - p), kept
