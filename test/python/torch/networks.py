"""Networks in plain torch.nn with random weights, at sizes that a test takes seconds for. `NETWORKS` maps a name to a function that gives a
model and its arguments for a batch. At full size they are in `full_networks.py`."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    """The block of ResNet-50: 1x1, 3x3, 1x1 with batch norm."""

    def __init__(self, inputs, width, stride=1):
        super().__init__()
        outputs = width * 4

        def layer(i, o, k, s=1):
            return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o))
        self.a, self.b, self.c = layer(inputs, width, 1), layer(width, width, 3, stride), layer(width, outputs, 1)
        self.shortcut = layer(inputs, outputs, 1, stride) if stride != 1 or inputs != outputs else nn.Identity()

    def forward(self, x):
        y = F.relu(self.a(x))
        y = F.relu(self.b(y))
        return F.relu(self.c(y) + self.shortcut(x))


def resnet():
    model = nn.Sequential(
        nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        Residual(16, 8), Residual(32, 8), Residual(32, 16, 2), Residual(64, 16),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return model, lambda n: [torch.randn(n, 3, 32, 32)]


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class Inverted(nn.Module):
    """The block of MobileNetV3: expand, depthwise, squeeze and excite, project."""

    def __init__(self, inputs, wide, outputs, kernel, stride, excite=True, activation=nn.Hardswish):
        super().__init__()
        expand = [nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), activation()] if wide != inputs else []
        self.layers = nn.Sequential(
            *expand, nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False), nn.BatchNorm2d(wide),
            *([SqueezeExcite(wide)] if excite else []), activation(), nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.same = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.same else self.layers(x)


def mobilenet():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(), Inverted(8, 16, 8, 3, 1), Inverted(8, 32, 16, 5, 2),
        Inverted(16, 48, 16, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 32), nn.Hardswish(), nn.Linear(32, 10))
    return model, lambda n: [torch.randn(n, 3, 32, 32)]


class MobileInverted(nn.Module):
    """The block of EfficientNet: expand, depthwise, squeeze and excite by a sigmoid, project; SiLU."""

    def __init__(self, inputs, factor, outputs, kernel, stride):
        super().__init__()
        wide = inputs * factor
        self.expand = nn.Sequential(nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU()) if factor > 1 else nn.Identity()
        self.depthwise = nn.Sequential(
            nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.SiLU())
        self.down, self.up = nn.Conv2d(wide, max(1, inputs // 4), 1), nn.Conv2d(max(1, inputs // 4), wide, 1)
        self.project = nn.Sequential(nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.same = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        y = self.project(y * torch.sigmoid(self.up(F.silu(self.down(y.mean((2, 3), keepdim=True))))))
        return x + y if self.same else y


def efficientnet():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.SiLU(), MobileInverted(8, 1, 8, 3, 1), MobileInverted(8, 6, 12, 5, 2),
        MobileInverted(12, 6, 12, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10))
    return model, lambda n: [torch.randn(n, 3, 32, 32)]


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        n, t, c = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    def __init__(self, width, heads, causal=False, before=True, activation=None):
        super().__init__()
        self.attention = Attention(width, heads, causal)
        self.first, self.second, self.before = nn.LayerNorm(width), nn.LayerNorm(width), before
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), activation or nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, mask=None):
        if self.before:
            x = x + self.attention(self.first(x), mask)
            return x + self.mlp(self.second(x))
        x = self.first(x + self.attention(x, mask))
        return self.second(x + self.mlp(x))


class VisionTransformer(nn.Module):
    def __init__(self, width=32, patch=8, size=32, heads=4, layers=2, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width))
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def vit():
    return VisionTransformer(), lambda n: [torch.randn(n, 3, 32, 32)]


class Bert(nn.Module):
    def __init__(self, words=100, width=32, heads=4, layers=2, places=64):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(words, width, padding_idx=0), nn.Embedding(places, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList([Block(width, heads, before=False) for _ in range(layers)])
        self.pool = nn.Linear(width, width)

    def forward(self, ids, kinds, attend):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1])) + self.kinds(kinds)
        mask = (1.0 - attend[:, None, None, :].to(x.dtype)) * torch.finfo(torch.float32).min
        x = self.norm(x)
        for block in self.blocks:
            x = block(x, mask)
        return x, torch.tanh(self.pool(x[:, 0]))


def bert():
    def arguments(n):
        attend = torch.ones(n, 12, dtype=torch.int64)
        attend[0, 8:] = 0
        return [torch.randint(1, 100, (n, 12)), torch.randint(0, 2, (n, 12)), attend]
    return Bert(), arguments


class Gpt(nn.Module):
    def __init__(self, words=100, width=32, heads=4, layers=2, places=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.blocks = nn.ModuleList([Block(width, heads, causal=True, activation=nn.GELU(approximate="tanh")) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.weight.t()


def gpt2():
    return Gpt(), lambda n: [torch.randint(0, 100, (n, 16))]


class Llama(nn.Module):
    """RMS norm, rotary embedding, grouped queries, SwiGLU."""

    class Layer(nn.Module):
        def __init__(self, width, heads, groups, wide=None):
            super().__init__()
            wide, self.heads, self.groups, self.size = wide or 2 * width, heads, groups, width // heads
            self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
            self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
            self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
            self.gate, self.up = (nn.Linear(width, wide, bias=False) for _ in range(2))
            self.down = nn.Linear(wide, width, bias=False)

        def rotated(self, x, cos, sin):
            first, second = x.chunk(2, -1)
            return x * cos + torch.cat([-second, first], -1) * sin

        def forward(self, x, cos, sin):
            n, t, c = x.shape
            y = self.norm1(x)
            q, k, v = (f(y).view(n, t, -1, self.size).transpose(1, 2) for f in (self.q, self.k, self.v))
            q, k = self.rotated(q, cos, sin), self.rotated(k, cos, sin)
            k, v = (s.repeat_interleave(self.heads // self.groups, 1) for s in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
            y = self.norm2(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def __init__(self, words=100, width=32, heads=4, groups=2, wide=64, layers=2):
        super().__init__()
        self.words, self.size = nn.Embedding(words, width), width // heads
        self.layers = nn.ModuleList([self.Layer(width, heads, groups, wide) for _ in range(layers)])
        self.norm, self.head = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x, size = self.words(ids), self.size
        angles = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
        angles = torch.cat([angles, angles], -1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


def llama():
    return Llama(), lambda n: [torch.randint(0, 100, (n, 16))]


class Decoder(nn.Module):
    """One step of decoding: the key and value of the new position are written into a cache, its query attends to all up to it."""

    def __init__(self, words=100, width=32, heads=8, groups=4):
        super().__init__()
        self.words, self.heads, self.groups, self.size = nn.Embedding(words, width), heads, groups, width // heads
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids, position, keys, values):
        x = self.words(ids)
        y = self.norm(x)
        q, k, v = (f(y).view(*ids.shape, -1, self.size).transpose(1, 2) for f in (self.q, self.k, self.v))
        keys, values = keys.index_copy(2, position, k), values.index_copy(2, position, v)
        visible = (torch.arange(keys.shape[2]) <= position)[None, None, None, :]
        wide = [s.repeat_interleave(self.heads // self.groups, 1) for s in (keys, values)]
        y = F.scaled_dot_product_attention(q, *wide, attn_mask=visible)
        return self.head(x + self.out(y.transpose(1, 2).reshape(x.shape))), keys, values


def decode():
    return Decoder(), lambda n: [torch.randint(0, 100, (n, 1)), torch.tensor([5]), torch.randn(n, 4, 12, 4), torch.randn(n, 4, 12, 4)]


class T5(nn.Module):
    """Encoder and decoder: RMS norm, biases by logarithmic buckets of relative positions, attention without scale, cross attention."""

    class Heads(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

        def forward(self, x, source, bias):
            def split(y):
                return y.view(y.shape[0], y.shape[1], self.heads, -1).transpose(1, 2)
            q, k, v = split(self.q(x)), split(self.k(source)), split(self.v(source))
            scores = q @ k.transpose(2, 3)
            if bias is not None:
                scores = scores + bias
            return self.out((scores.float().softmax(-1).type_as(scores) @ v).transpose(1, 2).reshape(x.shape))

    class Layer(nn.Module):
        def __init__(self, width, heads, cross, wide):
            super().__init__()
            self.norms = nn.ModuleList([nn.RMSNorm(width, eps=1e-6) for _ in range(3)])
            self.own, self.cross = T5.Heads(width, heads), T5.Heads(width, heads) if cross else None
            self.up, self.down = nn.Linear(width, wide, bias=False), nn.Linear(wide, width, bias=False)

        def forward(self, x, bias, source=None):
            y = self.norms[0](x)
            x = x + self.own(y, y, bias)
            if self.cross is not None:
                x = x + self.cross(self.norms[1](x), source, None)
            return x + self.down(F.relu(self.up(self.norms[2](x))))

    def __init__(self, words=100, width=32, heads=4, layers=2, buckets=8, wide=64, farthest=32):
        super().__init__()
        self.words, self.buckets, self.farthest = nn.Embedding(words, width), buckets, farthest
        self.near, self.past = nn.Embedding(buckets, heads), nn.Embedding(buckets, heads)
        self.encoder = nn.ModuleList([self.Layer(width, heads, False, wide) for _ in range(layers)])
        self.decoder = nn.ModuleList([self.Layer(width, heads, True, wide) for _ in range(layers)])

    def bias(self, length, table, both):
        places = torch.arange(length)
        distance = places[None, :] - places[:, None]
        half = self.buckets // 2 if both else self.buckets
        first = (distance > 0).to(torch.int64) * half if both else torch.zeros_like(distance)
        distance = distance.abs() if both else -distance.clamp(max=0)
        exact = half // 2
        far = exact + ((distance.clamp(min=1).float() / exact).log() / math.log(self.farthest / exact) * (half - exact)).to(torch.int64)
        bucket = first + torch.where(distance < exact, distance, far.clamp(max=half - 1))
        return table(bucket).permute(2, 0, 1)[None]

    def forward(self, ids, target):
        x = self.words(ids)
        bias = self.bias(ids.shape[1], self.near, True)
        for layer in self.encoder:
            x = layer(x, bias)
        y = self.words(target)
        bias = self.bias(target.shape[1], self.past, False)
        bias = bias.masked_fill(torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1), float("-inf"))
        for layer in self.decoder:
            y = layer(y, bias, x)
        return y @ self.words.weight.t()


def t5():
    return T5(), lambda n: [torch.randint(0, 100, (n, 12)), torch.randint(0, 100, (n, 7))]


class Recurrent(nn.Module):
    """Whole recurrent layers (`torch._dynamo.config.allow_rnn`) and a head on all positions."""

    def __init__(self, kind, inputs=8, width=16, **options):
        super().__init__()
        self.layers, self.head = kind(inputs, width, batch_first=True, **options), nn.Linear(width * (1 + options.get("bidirectional", False)), 4)

    def forward(self, x):
        return self.head(self.layers(x)[0])


def lstm():
    return Recurrent(nn.LSTM, num_layers=2), lambda n: [torch.randn(n, 6, 8)]


def gru():
    return Recurrent(nn.GRU, bidirectional=True), lambda n: [torch.randn(n, 6, 8)]


class Cell(nn.Module):
    """A recurrent network written step by step."""

    def __init__(self, inputs=8, width=16):
        super().__init__()
        self.cell, self.head, self.width = nn.LSTMCell(inputs, width), nn.Linear(width, 4), width

    def forward(self, x):
        h = c = x.new_zeros(x.shape[0], self.width)
        for t in range(x.shape[1]):
            h, c = self.cell(x[:, t], (h, c))
        return self.head(h)


def lstm_cell():
    return Cell(), lambda n: [torch.randn(n, 6, 8)]


class UNet(nn.Module):
    def __init__(self, width=8, classes=2):
        super().__init__()
        w = width

        def double(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.down1, self.down2, self.middle = double(3, w), double(w, 2 * w), double(2 * w, 4 * w)
        self.up2, self.up1 = nn.ConvTranspose2d(4 * w, 2 * w, 2, 2), nn.ConvTranspose2d(2 * w, w, 3, 2, 1, output_padding=1)
        self.right2, self.right1, self.head = double(4 * w, 2 * w), double(2 * w, w), nn.Conv2d(w, classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        y = self.middle(F.avg_pool2d(b, 2))
        y = self.right2(torch.cat([self.up2(y), b], 1))
        y = self.right1(torch.cat([self.up1(y), a], 1))
        return F.interpolate(self.head(y), scale_factor=2, mode="bilinear")


def unet():
    return UNet(), lambda n: [torch.randn(n, 3, 16, 16)]


class Mixer(nn.Module):
    def __init__(self, tokens=16, width=32, between_tokens=64, between_channels=64):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_tokens = nn.Sequential(nn.Linear(tokens, between_tokens), nn.GELU(), nn.Linear(between_tokens, tokens))
        self.over_channels = nn.Sequential(nn.Linear(width, between_channels), nn.GELU(), nn.Linear(between_channels, width))

    def forward(self, x):
        x = x + self.over_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_channels(self.norm2(x))


def mixer():
    return nn.Sequential(Mixer(), Mixer()), lambda n: [torch.randn(n, 16, 32)]


class Dlrm(nn.Module):
    def __init__(self, rows=50, tables=3, width=16, wide=32):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, wide), nn.ReLU(), nn.Linear(wide, width), nn.ReLU())
        self.tables = nn.ModuleList([nn.Embedding(rows, width) for _ in range(tables)])
        self.top = nn.Sequential(nn.Linear(width + tables * (tables + 1) // 2, wide), nn.ReLU(), nn.Linear(wide, 1), nn.Sigmoid())

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        dots = torch.bmm(vectors, vectors.transpose(1, 2))
        i, j = torch.tril_indices(len(self.tables) + 1, len(self.tables) + 1, -1)
        return self.top(torch.cat([x, dots[:, i, j]], 1))


def dlrm():
    return Dlrm(), lambda n: [torch.randn(n, 13), torch.randint(0, 50, (n, 3))]


class WaveNet(nn.Module):
    def __init__(self, width=8, layers=3):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.filters = nn.ModuleList([nn.Conv1d(width, width, 2, dilation=2**i) for i in range(layers)])
        self.gates = nn.ModuleList([nn.Conv1d(width, width, 2, dilation=2**i) for i in range(layers)])
        self.skips = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(layers)])

    def forward(self, x):
        x, total = self.first(x), 0
        for i, (f, g, s) in enumerate(zip(self.filters, self.gates, self.skips)):
            padded = F.pad(x, (2**i, 0))
            y = torch.tanh(f(padded)) * torch.sigmoid(g(padded))
            total = total + s(y)
            x = x + y
        return total


def wavenet():
    return WaveNet(), lambda n: [torch.randn(n, 1, 32)]


class ConvNext(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width, eps=1e-6)
        self.wide, self.narrow, self.scale = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.narrow(F.gelu(self.wide(y)))).permute(0, 3, 1, 2)


def convnext():
    return nn.Sequential(nn.Conv2d(3, 16, 4, 4), ConvNext(), ConvNext()), lambda n: [torch.randn(n, 3, 32, 32)]


class Dense(nn.Module):
    """A layer of DenseNet; `between`: channels of a 1 x 1 convolution in front, or 0 for none."""

    def __init__(self, inputs, growth=8, between=0):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(inputs), nn.Conv2d(between or inputs, growth, 3, padding=1, bias=False)
        self.narrow = nn.Sequential(nn.Conv2d(inputs, between, 1, bias=False), nn.BatchNorm2d(between), nn.ReLU()) if between else nn.Identity()

    def forward(self, x):
        return torch.cat([x, self.conv(self.narrow(F.relu(self.norm(x))))], 1)


def densenet():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), Dense(8), Dense(16), nn.Conv2d(24, 12, 1), nn.AvgPool2d(2), Dense(12), Dense(20),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(28, 10))
    return model, lambda n: [torch.randn(n, 3, 16, 16)]


class Autoencoder(nn.Module):
    def __init__(self, size=16, channels=1, width=8, latent=8):
        super().__init__()
        small, inner = size // 4, 2 * width * (size // 4) ** 2
        self.encoder = nn.Sequential(nn.Conv2d(channels, width, 3, 2, 1), nn.ELU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ELU(), nn.Flatten())
        self.mean, self.logs = nn.Linear(inner, latent), nn.Linear(inner, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, inner), nn.Unflatten(1, (2 * width, small, small)),
                                     nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.LeakyReLU(), nn.ConvTranspose2d(width, channels, 4, 2, 1), nn.Sigmoid())

    def forward(self, x, noise):
        y = self.encoder(x)
        mean, logs = self.mean(y), self.logs(y)
        return self.decoder(mean + noise * (0.5 * logs).exp()), -0.5 * (1 + logs - mean.square() - logs.exp()).sum(1)


def autoencoder():
    return Autoencoder(), lambda n: [torch.randn(n, 1, 16, 16), torch.randn(n, 8)]


class WindowAttention(nn.Module):
    """The block of a Swin transformer: shifted windows, relative positions."""

    def __init__(self, width=16, heads=2, window=4, shift=2):
        super().__init__()
        self.window, self.shift = window, shift
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.bias = nn.Parameter(torch.randn(heads, window * window, window * window))
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n, h, w, c = x.shape
        k = self.window
        y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2))
        y = y.view(n, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, k * k, c)
        y = self.attention(y, self.bias)
        y = y.view(n, h // k, w // k, k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)
        x = x + torch.roll(y, (self.shift, self.shift), (1, 2))
        return x + self.mlp(x)


def swin():
    return nn.Sequential(WindowAttention(shift=0), WindowAttention()), lambda n: [torch.randn(n, 8, 8, 16)]


class Diffusion(nn.Module):
    """A step of a diffusion UNet: time embedding, residual blocks, self-attention over positions."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.first, self.norm1, self.conv1 = nn.Conv2d(3, width, 3, padding=1), nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, padding=1)
        self.norm2, self.attention, self.last = nn.GroupNorm(4, width), Attention(width, heads), nn.Conv2d(width, 3, 3, padding=1)
        self.width = width

    def forward(self, x, step):
        frequencies = torch.exp(torch.arange(self.width // 2) * (-math.log(10000) / (self.width // 2)))
        angles = step[:, None].to(x.dtype) * frequencies
        t = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        x = self.first(x)
        y = self.conv1(F.silu(self.norm1(x))) + t[:, :, None, None]
        n, c, h, w = y.shape
        z = self.attention(self.norm2(y).flatten(2).transpose(1, 2)).transpose(1, 2).reshape(n, c, h, w)
        return self.last(F.interpolate(y + z, scale_factor=2, mode="nearest"))


def diffusion():
    return Diffusion(), lambda n: [torch.randn(n, 3, 8, 8), torch.randint(0, 1000, (n,))]


NETWORKS = {f.__name__: f for f in (
    resnet, mobilenet, efficientnet, densenet, unet, vit, swin, convnext, bert, gpt2, llama, decode, t5, lstm, gru, lstm_cell, mixer, dlrm,
    wavenet, autoencoder, diffusion)}
