"""Random networks: programs (`random_modules.py`) whose steps are layers with weights, in evaluation mode. A network is compiled with its
weights frozen and without, and called again where a weight was written to and where the batch is another.

    build/venv-torch/bin/python test/python/torch/random_networks.py 17             # prints network 17 and verifies it
    build/venv-torch/bin/python test/python/torch/random_networks.py 0:500 --threads 2 --force bound_vectors=1
"""

import argparse
import contextlib
import copy
import importlib
import sys
import traceback

import torch
import torch.nn.functional as F
from torch import nn

from settings import SOURCE

sys.path.insert(0, str(SOURCE / "python"))
from random_modules import Program, fresh  # noqa: E402
import tilewright.torch  # noqa: E402, F401 (registers the back end)

backend = importlib.import_module("tilewright.torch.backend")  # the module; the package's name is the function

#: Channels, and extents of images and sequences: of most networks, of some, and for the emulator.
USUAL = (1, 3, 5, 7, 13, 17, 24, 33, 48, 64), (1, 2, 3, 5, 7, 8, 9, 11, 16, 19)
LARGE = (24, 67, 96, 130, 192, 256), (1, 7, 14, 28, 33)
SMALL = (1, 3, 5, 13, 16), (1, 2, 3, 5, 6)
TYPES = (torch.float32,) * 16 + (torch.bfloat16,) * 3 + (torch.float16,)
TOKENS = 11  # of a vocabulary
CONVOLUTIONS = {3: (nn.Conv1d, nn.ConvTranspose1d), 4: (nn.Conv2d, nn.ConvTranspose2d), 5: (nn.Conv3d, nn.ConvTranspose3d)}
BATCH_NORMS = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}
MAX_POOLS = {3: F.max_pool1d, 4: F.max_pool2d, 5: F.max_pool3d}
AVERAGE_POOLS = {3: F.avg_pool1d, 4: F.avg_pool2d, 5: F.avg_pool3d}
ADAPTIVE_POOLS = {3: F.adaptive_avg_pool1d, 4: F.adaptive_avg_pool2d, 5: F.adaptive_avg_pool3d}
LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


class Weights(nn.Module):
    """Arrays that a step reads, computes with or takes parts of."""

    def __init__(self, *shapes):
        super().__init__()
        for name, shape in zip("wuv", shapes):
            setattr(self, name, nn.Parameter(torch.randn(shape) / max(shape[-1], 1) ** 0.5))


class Attention(nn.Module):
    """Attention of tokens to themselves, or to `memory`; heads of keys may be fewer than those of queries."""

    def __init__(self, width, heads, groups, joined, bias, causal):
        super().__init__()
        self.heads, self.groups, self.size, self.causal = heads, groups, width // heads, causal
        widths = [heads * self.size, groups * self.size, groups * self.size]
        self.parts = widths if joined else None
        self.project = nn.ModuleList(nn.Linear(width, n, bias=bias) for n in ([sum(widths)] if joined else widths))
        self.out = nn.Linear(widths[0], width, bias=bias)

    def forward(self, x):
        q, k, v = self.project[0](x).split(self.parts, -1) if self.parts else (p(x) for p in self.project)
        q, k, v = (t.unflatten(-1, (-1, self.size)).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=self.groups != self.heads)
        return self.out(y.transpose(1, 2).flatten(2))


class Network(Program):
    """A program over floats of one type with steps that have weights. The first dimension of every tensor is the batch. `sizes`: channels
    and extents; None: as the seed says."""
    LEAST_ELEMENTS, MOST_ELEMENTS, LARGEST = 1, 40000, 200
    MOST_WEIGHTS = 60000  # of a layer

    def __init__(self, seed, sizes=None):
        self.sizes = sizes
        super().__init__(seed)
        self.module = Module(self)

    def draw_arguments(self):
        r = self.random
        large = self.sizes is None and r.random() < 0.15
        self.channels, self.extents = LARGE if large else self.sizes or USUAL
        if large:
            self.MOST_ELEMENTS, self.MOST_WEIGHTS = 10 * self.MOST_ELEMENTS, 10 * self.MOST_WEIGHTS
        self.dtype, self.batch = r.choice(TYPES), r.choice((1, 2, 2, 3))
        self.channels_last = r.random() < 0.4
        return [self.argument() for _ in range(r.choice((1, 1, 2)))]

    def argument(self):
        r = self.random
        rank = r.choice((2, 3, 3, 4, 4, 4, 4, 5))
        if rank == 3 and r.random() < 0.3:
            return torch.randint(0, TOKENS, (self.batch, r.choice(self.extents)))
        extents = [r.choice(self.extents) for _ in range(rank - 2)]
        if rank == 5:
            extents = [min(n, 7) for n in extents]
        return self.laid_out(torch.randn(self.batch, r.choice(self.channels), *extents).to(self.dtype))

    def laid_out(self, value):
        """With channels last in memory, where the network has them so."""
        return value.contiguous(memory_format=LAST[value.dim()]) if self.channels_last and value.dim() in LAST else value

    def other_arguments(self, batch):
        """Arguments of another batch."""
        result = []
        for a in self.arguments:
            shape = batch, *a.shape[1:]
            result.append(self.laid_out(torch.randn(shape).to(a.dtype)) if a.is_floating_point() else torch.randint(0, TOKENS, shape))
        return result

    def draw(self, values):
        r = self.random
        i = len(values) - 1 if r.random() < 0.7 else r.randrange(len(values))
        x, rank = values[i], values[i].dim()
        if not x.is_floating_point():
            kinds = [self.embedding]
        else:
            kinds = [self.activation, self.residual, self.joined, self.moved, self.norm, self.with_array, self.again]
            kinds += {2: [self.linear] * 3, 3: [self.linear, self.convolution, self.attention, self.recurrent, self.transposed]}.get(rank, [])
            kinds += [self.convolution, self.convolution, self.transposed, self.pooled, self.excited] if rank > 3 else []
        name, step, *layer = r.choice(kinds)(values, i, x)
        layer = layer[0] if layer else nn.Identity()
        if sum(p.numel() for p in layer.parameters()) > self.MOST_WEIGHTS:
            return name, lambda v, m: v[-1][:0]  # refused, so drawn again
        if not self.layers_of_steps or layer not in [m for m, in self.layers_of_steps]:
            self.prepare(layer)
        return name, step, layer

    def prepare(self, layer):
        """Statistics, scales and shifts that are not 0 and 1; the type and the order in memory of the network."""
        for m in layer.modules():
            for name, value in [*m.named_parameters(recurse=False), *m.named_buffers(recurse=False)]:
                if name in ("running_mean", "running_var") or (name in ("weight", "bias") and value.dim() == 1 and not isinstance(m, nn.Linear)):
                    with torch.no_grad():
                        value.copy_(torch.rand(value.shape) + 0.5 if "mean" not in name and name != "bias" else torch.randn(value.shape) / 4)
        layer.to(self.dtype).eval()
        if self.channels_last:
            for p in layer.parameters():
                if p.dim() in LAST:
                    p.data = self.laid_out(p.data)

    # Layers: (text, step, module).

    def embedding(self, values, i, x):
        layer = nn.Embedding(TOKENS, self.random.choice(self.channels))
        return f"{layer}(v{i})", lambda v, m: m(v[i]), layer

    def linear(self, values, i, x):
        layer = nn.Linear(x.shape[-1], self.random.choice(self.channels), bias=self.random.random() < 0.7)
        return f"{layer}(v{i})", lambda v, m: m(v[i]), layer

    def groups_of(self, channels):
        """Groups that divide the channels, and the channels of a result of so many groups."""
        r = self.random
        groups = r.choice([1, 1, channels, *(g for g in (2, 3, 4, 8, 11) if channels % g == 0)])
        return groups, r.choice([groups, 2 * groups, *(n for n in self.channels if n % groups == 0)])

    def convolution(self, values, i, x):
        r, rank = self.random, x.dim() - 2
        groups, features = self.groups_of(x.shape[1])
        largest = (1, 1, 2, 3, 3, 3, 5, 7)[:8 if rank < 3 else 6]
        kernel = [r.choice(largest) for _ in range(rank)] if r.random() < 0.3 else [r.choice(largest)] * rank
        stride = [r.choice((1, 1, 2, 3)) for _ in range(rank)] if r.random() < 0.3 else [r.choice((1, 1, 2))] * rank
        padding = "same" if max(stride) == 1 and r.random() < 0.2 else [r.choice((0, k // 2, k - 1)) for k in kernel]
        mode = r.choice(("zeros",) * 12 + ("circular", "reflect", "replicate"))
        layer = CONVOLUTIONS[x.dim()][0](x.shape[1], features, kernel, stride, padding, r.choice((1, 1, 1, 2)), groups, r.random() < 0.6, mode)
        return f"{layer}(v{i})", lambda v, m: m(v[i]), layer

    def transposed(self, values, i, x):
        r, rank = self.random, x.dim() - 2
        groups, features = self.groups_of(x.shape[1])
        largest = (1, 2, 2, 3, 3, 4, 5)[:7 if rank < 3 else 5]
        kernel = [r.choice(largest) for _ in range(rank)] if r.random() < 0.3 else [r.choice(largest)] * rank
        stride = [r.choice((1, 2, 3)) for _ in range(rank)] if r.random() < 0.3 else [r.choice((1, 2, 2, 3))] * rank
        dilation, padding = r.choice((1, 1, 1, 2)), [r.choice((0, k // 2)) for k in kernel]
        more = [r.randrange(max(s, dilation)) if r.random() < 0.3 else 0 for s in stride]
        layer = CONVOLUTIONS[x.dim()][1](x.shape[1], features, kernel, stride, padding, more, groups, r.random() < 0.6, dilation)
        return f"{layer}(v{i})", lambda v, m: m(v[i]), layer

    def norm(self, values, i, x):
        """Norms whose statistics are of one element or several: of two, rounding decides what their difference is divided by."""
        r, channels, last = self.random, x.shape[1], x.shape[-1]
        scaled, rest = r.random() < 0.7, x.numel() // (x.shape[0] * channels)
        groups = r.choice([1, channels, *(g for g in (2, 3, 4) if channels % g == 0)])
        batch = BATCH_NORMS[x.dim()]
        layers = [(last, nn.LayerNorm(last, elementwise_affine=scaled)), (1, nn.RMSNorm(last, elementwise_affine=scaled)),
                  (channels // groups * rest, nn.GroupNorm(groups, channels, affine=scaled)), (1, batch(channels, affine=scaled)),
                  (1, batch(channels, affine=scaled)), (x.shape[0] * rest, batch(channels, affine=scaled, track_running_stats=False))]
        layer = r.choice([layer for elements, layer in layers if elements not in range(2, 8)])
        return f"{layer}(v{i})", lambda v, m: m(v[i]), layer

    def attention(self, values, i, x):
        r = self.random
        heads = r.choice([n for n in (1, 2, 3, 4) if x.shape[2] % n == 0])
        groups = r.choice([n for n in (1, heads) if heads % n == 0])
        layer = Attention(x.shape[2], heads, groups, r.random() < 0.5, r.random() < 0.5, r.random() < 0.5)
        return f"attention(v{i}, heads {heads} of {groups}, joined {layer.parts}, causal {layer.causal})", lambda v, m: m(v[i]), layer

    def recurrent(self, values, i, x):
        r = self.random
        layer = r.choice((nn.LSTM, nn.GRU, nn.RNN))(x.shape[2], r.choice((3, 8, 17)), r.choice((1, 1, 2)),
                                                    bias=r.random() < 0.7, batch_first=True, bidirectional=r.random() < 0.3)
        return f"{layer}(v{i})", lambda v, m: m(v[i])[0], layer

    def excited(self, values, i, x):
        """Channels scaled by what their means give."""
        layer = nn.Sequential(CONVOLUTIONS[x.dim()][0](x.shape[1], 5, 1), nn.ReLU(), CONVOLUTIONS[x.dim()][0](5, x.shape[1], 1), nn.Sigmoid())
        axes = tuple(range(2, x.dim()))
        return f"v{i} * excited(v{i})", lambda v, m: v[i] * m(v[i].mean(axes, keepdim=True)), layer

    def with_array(self, values, i, x):
        """Arrays that are no layer's: added, joined, multiplied from either side, and parts, sums and products of them."""
        r = self.random
        n, last, channels = r.choice(self.channels), x.shape[-1], x.shape[1]
        rest = (1,) * (x.dim() - 2)
        texts = [
            ("v{i} + w", Weights((channels, *rest)), lambda v, m: v[i] + m.w),
            ("v{i} * softmax(w) + u.exp()", Weights((last,), (last,)), lambda v, m: v[i] * m.w.softmax(-1) + m.u.exp()),
            ("cat(w, v{i})", Weights((2, *x.shape[2:])), lambda v, m: torch.cat([m.w.expand(v[i].shape[0], *m.w.shape), v[i]], 1)),
            (f"v{{i}} @ w, {n}", Weights((last, n)), lambda v, m: v[i] @ m.w),
            (f"linear(v{{i}}, w * u), {n}", Weights((n, last), (n, 1)), lambda v, m: F.linear(v[i], m.w * m.u)),
            (f"linear(v{{i}}, w[::2]), {n}", Weights((2 * n, last)), lambda v, m: F.linear(v[i], m.w[::2])),
            (f"linear(v{{i}}, w[:, ::2]), {n}", Weights((n, 2 * last)), lambda v, m: F.linear(v[i], m.w[:, ::2])),
            (f"linear(v{{i}}, cat(w, u)), {n}", Weights((n, last), (3, last)), lambda v, m: F.linear(v[i], torch.cat([m.w, m.u]))),
            (f"linear(v{{i}}, u @ w), {n}", Weights((5, last), (n, 5)), lambda v, m: F.linear(v[i], m.u @ m.w)),
            (f"linear(v{{i}}, w) and its w back, {n}", Weights((n, last)), lambda v, m: F.silu(v[i] @ m.w.T) @ m.w),
        ]
        if x.dim() > 2:
            texts.append((f"w @ v{{i}}, {n}", Weights((n, x.shape[-2])), lambda v, m: m.w @ v[i]))
        if x.dim() == 3:
            texts.append((f"attention of {n} queries w to v{{i}}", Weights((n, last), (last, last)), lambda v, m: F.scaled_dot_product_attention(
                m.w.expand(v[i].shape[0], -1, -1), v[i] @ m.u, v[i])))
        if x.dim() == 4:
            texts += [(f"conv2d(v{{i}}, normalised w), {n}", Weights((n, channels, 3, 3)), lambda v, m: F.conv2d(
                v[i], (m.w - m.w.mean((1, 2, 3), True)) / (m.w.var((1, 2, 3), keepdim=True) + 1e-3).sqrt() / 4, padding=1)),
                (f"einsum(v{{i}}, w), {n}", Weights((channels, n)), lambda v, m: torch.einsum("bchw,cd->bhwd", v[i], m.w))]
        text, layer, step = r.choice(texts)
        return text.format(i=i), step, layer

    def again(self, values, i, x):
        """A layer for the second time, on another tensor; its weight alone, as it is or transposed."""
        k = self.random.randrange(len(self.layers_of_steps)) if self.layers_of_steps else 0
        layer = self.layers_of_steps[k][0] if self.layers_of_steps else nn.Identity()
        if isinstance(layer, (nn.Identity, Weights, nn.RNNBase)):
            return "none", lambda v, m: v[i][:0]
        text, step = f"{layer}(v{i})", lambda v, m: m(v[i])
        if isinstance(layer, (nn.Linear, nn.Embedding)):
            text, step = self.random.choice([(text, step), (f"v{i} @ weight", lambda v, m: v[i] @ m.weight),
                                             (f"linear(v{i}, weight)", lambda v, m: F.linear(v[i], m.weight))])
        return f"{text}  # its weights are those of step {k}", step, layer

    # Steps without weights: (text, step).

    def activation(self, values, i, x):
        f = self.random.choice((F.relu, F.gelu, F.silu, torch.tanh, torch.sigmoid, F.hardswish, F.leaky_relu, F.softplus, F.relu6, F.elu))
        return f"{f.__name__}(v{i})", lambda v, m: f(v[i])

    def residual(self, values, i, x):
        j = self.random.choice([j for j, y in enumerate(values) if y.shape == x.shape and y.is_floating_point()])
        f = self.random.choice((torch.add, torch.add, torch.sub, torch.mul, torch.maximum))
        return f"{f.__name__}(v{i}, v{j})", lambda v, m: f(v[i], v[j])

    def joined(self, values, i, x):
        axis = self.random.randrange(1, x.dim())
        j = self.random.choice([j for j, y in enumerate(values) if y.is_floating_point() and y.dim() == x.dim() and
                                all(a == b or n == axis for n, (a, b) in enumerate(zip(x.shape, y.shape)))])
        return f"cat([v{i}, v{j}], {axis})", lambda v, m: torch.cat([v[i], v[j]], axis)

    def moved(self, values, i, x):
        """Views, parts, borders, reductions: what changes the shape."""
        r, axis, rank = self.random, self.random.randrange(1, x.dim()), x.dim()
        n, axes = x.shape[axis], tuple(range(2, x.dim()))
        start, step = r.randrange(n), r.choice((1, 1, 2))
        cut = (slice(None),) * axis + (slice(start, None, step),)
        choices = [(f"v{i}[{cut}]", lambda v, m: v[i][cut]), (f"v{i}.flip({axis})", lambda v, m: v[i].flip(axis)),
                   (f"v{i}.softmax({axis})", lambda v, m: v[i].softmax(axis)),
                   (f"v{i}.chunk(2, {axis})", lambda v, m: v[i].chunk(2, axis)[0] if n > 1 else v[i])]
        if rank > 2:
            other = r.randrange(1, rank)
            pads = [r.choice((0, 1, 2)) for _ in range(2 * (rank - 2))]
            choices += [(f"v{i}.mean({axis})", lambda v, m: v[i].mean(axis)), (f"v{i}.amax({axis})", lambda v, m: v[i].amax(axis)),
                        (f"v{i}.transpose({axis}, {other})", lambda v, m: v[i].transpose(axis, other)),
                        (f"v{i}.flatten(1)", lambda v, m: v[i].flatten(1)),
                        (f"v{i}.flatten(2).transpose(1, 2)", lambda v, m: v[i].flatten(2).transpose(1, 2)),
                        (f"pad(v{i}, {pads})", lambda v, m: F.pad(v[i], pads)), (f"v{i}.mean({axes})", lambda v, m: v[i].mean(axes))]
        elif n % 8 == 0:
            choices.append((f"v{i}.unflatten(1, (8, -1))", lambda v, m: v[i].unflatten(1, (8, -1))))
        if rank == 4:
            choices += [(f"interpolate(v{i}, 2)", lambda v, m: F.interpolate(v[i], scale_factor=2, mode="nearest")),
                        (f"pixel_unshuffle(v{i}, 2)", lambda v, m: F.pixel_unshuffle(v[i], 2)),
                        (f"pixel_shuffle(v{i}, 2)", lambda v, m: F.pixel_shuffle(v[i], 2)),
                        (f"v{i}.permute(0, 2, 3, 1)", lambda v, m: v[i].permute(0, 2, 3, 1)),
                        (f"v{i}.permute(0, 3, 1, 2)", lambda v, m: v[i].permute(0, 3, 1, 2))]
        return r.choice(choices)

    def pooled(self, values, i, x):
        r = self.random
        kernel, stride, padding = r.choice((2, 3)), r.choice((1, 2)), r.choice((0, 1))
        largest, average, adaptive = (table[x.dim()] for table in (MAX_POOLS, AVERAGE_POOLS, ADAPTIVE_POOLS))
        return r.choice([
            (f"max_pool(v{i}, {kernel}, {stride}, {padding})", lambda v, m: largest(v[i], kernel, stride, padding)),
            (f"avg_pool(v{i}, {kernel}, {stride}, {padding})", lambda v, m: average(v[i], kernel, stride, padding)),
            (f"adaptive_avg_pool(v{i}, {kernel - 1})", lambda v, m: adaptive(v[i], kernel - 1))])


class Module(nn.Module):
    """A network as PyTorch's users have it: its layers hold the weights."""

    def __init__(self, program):
        super().__init__()
        self.program = program
        self.layers = nn.ModuleList(layer for layer, in program.layers_of_steps)

    def forward(self, *arguments):
        return self.program.run(*arguments, layers=[(layer,) for layer in self.layers])


@contextlib.contextmanager
def forced(fields):
    """Contractions are planned with these fields (docs/contractions.md) wherever a plan has them."""
    whole = backend.compile_program

    def compile_program(text, options):
        return whole(f'module attributes {{tilewright.force = "{fields}"}} {{\n{text}}}\n', options)
    backend.compile_program = compile_program if fields else whole
    try:
        yield
    finally:
        backend.compile_program = whole


def compare(network, got, want, exact, where):
    """No element is farther from the result in f64 than twice eager's farthest, and some units of the type; nor is it NaN. Strides of
    norms of transposed tensors are those of PyTorch's tracing (docs/pytorch.md), so strides are not compared."""
    for g, w, e in zip(got, want, exact, strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape), where
        ours, theirs = (g - e).abs().max(), (w - e).abs().max()
        assert ours <= 2 * theirs + 16 * network.eps * (1 + e.abs().max()), f"error {ours:.3g}, eager's {theirs:.3g}: {where}"


def verify(networks, dynamic=False, **options):
    """Several networks in one graph, unfrozen and frozen. `dynamic`: a second call has another batch."""
    modules = nn.ModuleList(n.module for n in networks)

    def together(groups):
        return [m(*group) for m, group in zip(modules, groups)]
    for freeze in (False, True):
        torch._dynamo.reset()
        f = torch.compile(together, backend="tilewright", fullgraph=True, options={"strict": True, "freeze": freeze, **options})

        def check(groups, when):
            if dynamic:
                for group in groups:
                    for a in group:
                        torch._dynamo.maybe_mark_dynamic(a, 0)
            with torch.no_grad(), torch._dynamo.config.patch(allow_rnn=True):
                results = f(groups)
                for n, group, got in zip(networks, groups, results, strict=True):
                    exact = copy.deepcopy(n.module).double()(*fresh(group, double=True))
                    compare(n, got, n.module(*group), exact, f"freeze {freeze}, {when}:\n{n}")
        check([fresh(n.arguments) for n in networks], "first call")
        if dynamic:
            check([n.other_arguments(5) for n in networks], "batch of 5")
        if freeze:
            with torch.no_grad():
                for p in modules.parameters():
                    p.mul_(0.75)
            check([fresh(n.arguments) for n in networks], "weights written to")
            with torch.no_grad():
                for p in modules.parameters():
                    p.div_(0.75)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", help="one, or FIRST:END")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--target", default="cpu:host")
    parser.add_argument("--device", choices=["emulator", "model"], help="where programs of another target run; small ones on the emulator")
    parser.add_argument("--fp", default="default")
    parser.add_argument("--force", default="", help="fields of the plans of contractions")
    parser.add_argument("--dynamic", action="store_true", help="the batch is dynamic")
    given = parser.parse_args()
    first, _, end = given.seeds.partition(":")
    options = {"target": given.target, "device": given.device, "fp": given.fp, "threads": given.threads}
    small = given.device == "emulator"
    wrong = 0
    for seed in range(int(first), int(end or int(first) + 1)):
        try:
            network = Network(seed, SMALL if small else None)
            if not end:
                print(network)
            with forced(given.force):
                verify([network], given.dynamic, **options)
        except Exception as error:
            wrong += 1
            print(f"seed {seed}: {type(error).__name__}: {error}" if end else traceback.format_exc(), flush=True)
    print(f"{wrong} of {seed + 1 - int(first)} are wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
