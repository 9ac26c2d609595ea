"""Blocks of networks in plain torch.nn with random weights, and rows of their normalisations and losses. `BLOCKS` and `ROWS` map a name to a
function that gives a module and a function from the batch to its arguments, as `networks.NETWORKS` does."""

import torch
import torch.nn.functional as F
from networks import Inverted
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Layer(nn.Module):
    """A layer of BERT (`before`: False), GPT-2 or ViT (True)."""

    def __init__(self, width, heads, causal=False, before=True):
        super().__init__()
        self.attention, self.before = Attention(width, heads, causal), before
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        if self.before:
            x = x + self.attention(self.first(x))
            return x + self.mlp(self.second(x))
        x = self.first(x + self.attention(x))
        return self.second(x + self.mlp(x))


class Llama(nn.Module):
    """RMS norm, rotary embedding, grouped queries, SwiGLU; by default a layer of a model of 8 billion parameters."""

    def __init__(self, width=4096, heads=32, groups=8, inner=14336):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.first, self.second = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, cos, sin):
        n, t, c = x.shape
        y = self.first(x)
        q, k, v = (f(y).view(n, t, -1, self.size).transpose(1, 2) for f in (self.q, self.k, self.v))

        def rotated(x):
            first, second = x.chunk(2, -1)
            return x * cos + torch.cat([-second, first], -1) * sin
        y = F.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True, enable_gqa=self.groups != self.heads)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Bottleneck(nn.Module):
    """Of ResNet-50, norms folded."""

    def __init__(self, width=256, inner=64):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, inner, 1), nn.ReLU(), nn.Conv2d(inner, inner, 3, padding=1), nn.ReLU(),
                                  nn.Conv2d(inner, width, 1))

    def forward(self, x):
        return F.relu(x + self.body(x))


class Mixer(nn.Module):
    def __init__(self, tokens=196, width=768):
        super().__init__()
        def mlp(size, inner): return nn.Sequential(nn.Linear(size, inner), nn.GELU(), nn.Linear(inner, size))
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.along, self.across = mlp(tokens, 384), mlp(width, 3072)

    def forward(self, x):
        x = x + self.along(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.across(self.second(x))


class Convolutions(nn.Module):
    """A step of UNet: two 3 x 3 with batch normalisation and ReLU."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.body = nn.Sequential(*(layer for i in (inputs, outputs) for layer in (
            nn.Conv2d(i, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())))

    def forward(self, x):
        return self.body(x)


class Softmax(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


class NormedResidual(nn.Module):
    """RMS norm of a sum with what goes on beside it; both are results."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-5)

    def forward(self, x, beside):
        x = x + beside
        return self.norm(x), x


class CrossEntropy(nn.Module):
    def forward(self, logits, classes):
        return F.cross_entropy(logits, classes)


def of(module, *shapes):
    """`module()` and its arguments: normal numbers of the shapes, whose first size is multiplied by the batch."""
    return lambda: (module(), lambda batch: [torch.randn(batch * shape[0], *shape[1:]) for shape in shapes])


def llama_layer(tokens=256, width=2048, heads=32):
    """Of a model of one billion parameters."""
    angles = torch.outer(torch.arange(tokens), 1e4 ** -(torch.arange(0, width // heads, 2) / (width // heads))).repeat(1, 2)
    return Llama(width, heads, groups=8, inner=5632), lambda batch: [torch.randn(batch, tokens, width), angles.cos(), angles.sin()]


def cross_entropy(rows=512, classes=32000):
    return CrossEntropy(), lambda batch: [torch.randn(batch * rows, classes), torch.randint(classes, (batch * rows,))]


BLOCKS = {
    "bert_layer": of(lambda: Layer(768, 12, before=False), (1, 128, 768)),
    "gpt2_block": of(lambda: Layer(768, 12, causal=True), (1, 256, 768)),
    "llama_block": llama_layer,
    "resnet_bottleneck": of(Bottleneck, (1, 256, 56, 56)),
    "mobilenet_block": of(lambda: Inverted(80, 480, 80, 3, 1), (1, 80, 14, 14)),
    "unet_block": of(lambda: Convolutions(64, 64), (1, 64, 64, 64)),
    "vit_layer": of(lambda: Layer(768, 12), (1, 197, 768)),
    "mixer_layer": of(Mixer, (1, 196, 768)),
}

ROWS = {
    "softmax": of(Softmax, (2048, 1024)),
    "softmax_long": of(Softmax, (64, 32768)),
    "layer_norm": of(lambda: nn.LayerNorm(768), (2048, 768)),
    "rms_norm_residual": of(lambda: NormedResidual(2048), (512, 2048), (512, 2048)),
    "cross_entropy": cross_entropy,
}
