"""Random programs of PyTorch: chains of operations, views, and writes in place over tensors of random shapes and types, from a seed.

    build/venv-torch/bin/python test/python/torch/random_modules.py 17      # prints program 17
"""

import math
import random
import sys

import torch
import torch.nn.functional as F

SIZES = (1, 2, 3, 4, 5, 8)
FLOATS = (torch.float32, torch.float64)


class Program:
    """Steps over a list of tensors. `lines` says what they are; `run(tensors)` takes the arguments and gives the results. A step that has
    weights is drawn with the layer that holds them (`random_networks.py`)."""
    LEAST_ELEMENTS, MOST_ELEMENTS, LARGEST = 0, 4096, 1e4  # of a tensor, and an element of it

    def __init__(self, seed, differentiable=False):
        self.random = random.Random(seed)
        self.lines, self.steps, self.layers_of_steps = [], [], []
        self.eps = 0.0  # of the narrowest type
        self.differentiable = differentiable
        torch.manual_seed(seed)
        self.arguments = self.draw_arguments()
        values = fresh(self.arguments)
        for _ in range(self.random.randint(3, 10)):
            self.extend(values)
        last = len(values) - 1
        self.results = sorted({last, *(self.random.randrange(len(values)) for _ in range(2))})
        if differentiable:
            self.results = [i for i in self.results if values[i].is_floating_point()] or [0]

    def draw_arguments(self):
        return [self.argument() for _ in range(self.random.randint(1, 3))]

    def argument(self):
        shape = [self.random.choice(SIZES) for _ in range(self.random.randint(1, 4))]
        if not self.differentiable and self.random.random() < 0.05:
            shape[self.random.randrange(len(shape))] = 0
        dtype = torch.float32 if self.differentiable or self.random.random() < 0.7 else self.random.choice(
            (torch.float64, torch.int64, torch.int32, torch.bool, torch.int8, torch.uint8, torch.int16))
        if dtype.is_floating_point:
            value = torch.randn(shape, dtype=dtype)
        else:
            value = torch.randint(0, 2 if dtype is torch.bool else 8, shape).to(dtype)
        if len(shape) > 1 and self.random.random() < 0.3:
            value = value.transpose(0, 1).contiguous().transpose(0, 1)
        return value

    def extend(self, values):
        """Adds a step that works on what there is; what PyTorch refuses is drawn again."""
        for _ in range(50):
            name, step, *layer = self.draw(values)
            try:  # from the beginning, so that views share memory as they will
                with torch.no_grad():
                    tried = self.replay(fresh(self.arguments))
                    new = step(tried, *layer)
            except (RuntimeError, IndexError, TypeError, ValueError):
                continue
            if new is not None and (not self.LEAST_ELEMENTS <= new.numel() <= self.MOST_ELEMENTS or new.dim() > 5):
                continue
            if any(t.is_floating_point() and not (t.isfinite().all() and (t.abs() < self.LARGEST).all()) for t in [*tried, new] if t is not None):
                continue
            values[:] = tried + ([new] if new is not None else [])
            self.eps = max([self.eps, *(torch.finfo(t.dtype).eps for t in values if t.is_floating_point())])
            self.lines.append(name)
            self.steps.append((step, new is not None))
            self.layers_of_steps.append(layer)
            return

    def draw(self, values):
        r = self.random
        i, j = (r.randrange(len(values)) for _ in range(2))
        x = values[i]
        axis = r.randrange(-x.dim(), x.dim()) if x.dim() else 0
        other = r.randrange(-x.dim(), x.dim()) if x.dim() else 0
        c = r.choice((-1.5, 0.25, 2, 3))
        unary = r.choice((torch.tanh, torch.sigmoid, torch.relu, F.gelu, F.silu, torch.abs, torch.neg, torch.sin, torch.square, F.softplus,
                          F.hardswish, F.elu, torch.exp))
        binary = r.choice((torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum))
        reduce = r.choice((torch.sum, torch.mean, torch.amax, torch.amin))
        keep = r.random() < 0.5
        n = x.shape[axis] if x.dim() else 1
        start, stop, step = r.randrange(max(n, 1)), r.randint(0, n), r.choice((1, 1, 2))
        order = r.sample(range(x.dim()), x.dim())
        cut = [slice(None)] * x.dim()
        if cut:
            cut[axis] = slice(start, stop, step)
        choices = [
            (f"{unary.__name__}(v{i})", lambda v: unary(v[i])),
            (f"{unary.__name__}(v{i})", lambda v: unary(v[i])),
            (f"{binary.__name__}(v{i}, v{j})", lambda v: binary(v[i], v[j])),
            (f"{binary.__name__}(v{i}, v{j})", lambda v: binary(v[i], v[j])),
            (f"v{i} * {c} + 1", lambda v: v[i] * c + 1),
            (f"{reduce.__name__}(v{i}, {axis}, {keep})", lambda v: reduce(v[i], axis, keep)),
            (f"v{i}.transpose({axis}, {other})", lambda v: v[i].transpose(axis, other)),
            (f"v{i}.permute({order})", lambda v: v[i].permute(order)),
            (f"v{i}[{cut}]", lambda v: v[i][tuple(cut)]),
            (f"v{i}.unsqueeze({axis})", lambda v: v[i].unsqueeze(axis)),
            (f"v{i}.reshape(-1)", lambda v: v[i].reshape(-1)),
            (f"v{i}.flatten(0, 1)", lambda v: v[i].flatten(0, 1)),
            (f"v{i}.expand(2, ...)", lambda v: v[i].expand(2, *v[i].shape)),
            (f"v{i}.flip({axis})", lambda v: v[i].flip(axis)),
            (f"v{i}.roll({start}, {axis})", lambda v: v[i].roll(start, axis)),
            (f"cat([v{i}, v{i}], {axis})", lambda v: torch.cat([v[i], v[i]], axis)),
            (f"cat([v{i}, v{j}], {axis})", lambda v: torch.cat([v[i], v[j]], axis)),
            (f"stack([v{i}, v{j}])", lambda v: torch.stack([v[i], v[j]])),
            (f"softmax(v{i}, {axis})", lambda v: torch.softmax(v[i], axis)),
            (f"layer_norm(v{i})", lambda v: F.layer_norm(v[i], v[i].shape[-1:])),
            (f"matmul(v{i}, v{i}.mT)", lambda v: torch.matmul(v[i], v[i].mT) / 8),
            (f"matmul(v{i}, v{j})", lambda v: torch.matmul(v[i], v[j]) / 8),
            (f"where(v{i} > 0.123, v{j}, {c})", lambda v: torch.where(v[i].view(v[j].shape) > 0.123, v[j], c)),
            (f"cumsum(v{i}, {axis})", lambda v: v[i].cumsum(axis)),
            (f"pad(v{i}, (1, 2))", lambda v: F.pad(v[i], (1, 2), value=c)),
            (f"tril(v{i})", lambda v: v[i].tril()),
            (f"v{i}.clamp(-1, {abs(c)})", lambda v: v[i].clamp(-1, abs(c))),
            (f"v{i}.diagonal()", lambda v: v[i].diagonal()),
            (f"v{i}.unfold({axis}, 2, {step})", lambda v: v[i].unfold(axis, 2, step).clone()),
            (f"var(v{i}, {axis})", lambda v: v[i].var(axis, keepdim=keep, correction=0)),
        ]
        if not self.differentiable:
            dtype = r.choice((torch.float32, torch.float64, torch.int64, torch.int32, torch.bool))
            choices += [
                (f"v{i}.to({dtype})", lambda v: v[i].to(dtype)),
                (f"v{i} > {c}", lambda v: v[i] > c),
                (f"v{i} == v{j}", lambda v: v[i] == v[j]),
                (f"v{i}.any({axis})", lambda v: v[i].any(axis)),
                (f"v{i} // 3", lambda v: v[i] // 3 if not v[i].is_floating_point() else None),
                (f"v{i} % 3", lambda v: v[i] % 3 if not v[i].is_floating_point() else None),
                (f"v{i}.gather", lambda v: torch.gather(v[i], axis, (v[j].long() % max(n, 1)))),
                (f"v{i}.sort({axis})", lambda v: v[i].sort(axis, stable=True).values),
            ]
        if self.differentiable:  # autograd forbids writing to what it has saved
            choices.append((f"v{i}.clone()[{cut}] = v{i}[{cut}] * {c}", lambda v: written(v[i].clone(), tuple(cut), v[i][tuple(cut)] * c)))
            if r.random() < 0.4:
                choices = self.layers(values, i, j, axis, c)
        elif r.random() < 0.15:
            choices = [
                (f"v{i}.add_({c})", lambda v: in_place(v[i].add_, c)),
                (f"v{i}.mul_(v{j})", lambda v: in_place(v[i].mul_, v[j])),
                (f"v{i}[{cut}] = {c}", lambda v: v[i].__setitem__(tuple(cut), c)),
                (f"v{i}[{cut}].sub_(1)", lambda v: in_place(v[i][tuple(cut)].sub_, 1)),
                (f"v{i}.copy_(v{j})", lambda v: in_place(v[i].copy_, v[j])),
                (f"v{i}.clamp_(-1, 1)", lambda v: in_place(v[i].clamp_, -1, 1)),
            ]
        elif r.random() < 0.4:
            choices = self.layers(values, i, j, axis, c)
        return choices[r.randrange(len(choices))]

    def layers(self, values, i, j, axis, c):
        """Steps with weights of their own, joins of several tensors, reads and writes at indices."""
        r, x = self.random, values[i]
        n = x.shape[axis] if x.dim() else 1
        width, kernel, stride, padding = r.choice((1, 3, 4)), r.choice((1, 2, 3)), r.choice((1, 2)), r.choice((0, 1))

        def made(*shape):  # weights as the graph makes them, in the type of the run
            count, factor = math.prod(shape), r.choice((1, 2, 3, 5))
            return lambda v: ((torch.arange(count, device=v.device) * factor % 7 - 3) / 8).to(v.dtype).reshape(shape)
        last, second = x.shape[-1] if x.dim() else 1, x.shape[1] if x.dim() > 1 else 1
        linear, bias = made(width, last), made(width)
        one, two = made(width, second, kernel), made(width, second, kernel, kernel)
        back = made(second, width, kernel, kernel)
        scale, shift = made(second), made(second)
        table, inner = made(8, 3), made(last)
        places = [r.randrange(n) for _ in range(r.randint(1, 4))] if n else [0]
        power, groups = r.choice((2, 3, 0.5, -1)), r.choice((1, 2))
        other = r.randrange(-x.dim(), x.dim()) if x.dim() else 0

        def index(v):
            return torch.tensor(places, device=v.device)
        choices = [
            (f"linear(v{i}, {width})", lambda v: F.linear(v[i], linear(v[i]), bias(v[i]))),
            (f"conv1d(v{i}, {width}, {kernel}, {stride}, {padding})", lambda v: F.conv1d(v[i], one(v[i]), bias(v[i]), stride, padding)),
            (f"conv2d(v{i}, {width}, {kernel}, {stride}, {padding})", lambda v: F.conv2d(v[i], two(v[i]), bias(v[i]), stride, padding)),
            (f"conv_transpose2d(v{i}, {width}, {kernel}, {stride})", lambda v: F.conv_transpose2d(v[i], back(v[i]), None, stride)),
            (f"max_pool2d(v{i}, {kernel}, {stride})", lambda v: F.max_pool2d(v[i], kernel, stride)),
            (f"avg_pool2d(v{i}, {kernel}, {stride})", lambda v: F.avg_pool2d(v[i], kernel, stride, ceil_mode=bool(padding))),
            (f"adaptive_avg_pool2d(v{i}, {kernel})", lambda v: F.adaptive_avg_pool2d(v[i], kernel)),
            (f"batch_norm(v{i})", lambda v: F.batch_norm(v[i].contiguous(), None, None, scale(v[i]), shift(v[i]), training=True)),
            (f"group_norm(v{i}, {groups})", lambda v: F.group_norm(v[i], groups, scale(v[i]), shift(v[i]))),
            (f"rms_norm(v{i})", lambda v: F.rms_norm(v[i], v[i].shape[-1:], inner(v[i]))),
            (f"interpolate(v{i}, 2)", lambda v: F.interpolate(v[i].contiguous(), scale_factor=2, mode="nearest")),
            (f"embedding(v{i})", lambda v: F.embedding(v[i].abs().long() % 8, table(v[0] if v[0].is_floating_point() else v[0].float()))),
            (f"attention(v{i}, v{i}, v{i})", lambda v: F.scaled_dot_product_attention(v[i], v[i], v[i], is_causal=bool(padding))),
            (f"v{i}.index_select({axis}, {places})", lambda v: v[i].index_select(axis, index(v[i]))),
            (f"index_add(v{i}, {axis}, {places})", lambda v: v[i].index_add(axis, index(v[i]), v[i].index_select(axis, index(v[i])))),
            (f"scatter_add(v{i}, {axis})", lambda v: v[i].scatter_add(axis, (v[i].abs().long() % max(n, 1)), v[i])),
            (f"v{i}[{places}]", lambda v: v[i][[p % max(len(v[i]), 1) for p in places]]),
            (f"masked_fill(v{i}, v{j} > 0.123)", lambda v: v[i].masked_fill(v[j] > 0.123, c)),
            (f"logsumexp(v{i}, {axis})", lambda v: v[i].logsumexp(axis)),
            (f"norm(v{i}, {axis})", lambda v: torch.linalg.vector_norm(v[i] + 3, dim=axis)),
            (f"prod(v{i}, {axis})", lambda v: v[i].prod(axis)),
            (f"std(v{i})", lambda v: v[i].std(unbiased=False)),
            (f"pow(abs(v{i}) + 1, {power})", lambda v: (v[i].abs() + 1) ** power),
            (f"addcmul(v{i}, v{j}, v{j})", lambda v: torch.addcmul(v[i], v[j], v[j], value=0.5)),
            (f"lerp(v{i}, v{j}, 0.25)", lambda v: torch.lerp(v[i], v[j], 0.25)),
            (f"einsum(v{i}, v{j})", lambda v: torch.einsum("...ij,...kj->...ik", v[i], v[j]) / 8),
            (f"v{i}.repeat(2)", lambda v: v[i].repeat(2, *[1] * v[i].dim())),
            (f"v{i}.movedim({axis}, {other})", lambda v: v[i].movedim(axis, other).contiguous()),
            (f"v{i}.split(2, {axis})[-1]", lambda v: v[i].split(2, axis)[-1]),
            (f"v{i}.narrow({axis}, 0, {max(n - 1, 0)})", lambda v: v[i].narrow(axis, 0, max(n - 1, 0))),
            (f"v{i}.squeeze()", lambda v: v[i].squeeze()),
            (f"v{i}.view(-1, {last})", lambda v: v[i].view(-1, last)),
            (f"glu(v{i}, {axis})", lambda v: F.glu(v[i], axis)),
            (f"normalize(v{i}, {axis})", lambda v: F.normalize(v[i] + 2, dim=axis)),
            (f"mse_loss(v{i}, v{j})", lambda v: F.mse_loss(v[i], v[j].expand_as(v[i]))),
            (f"cross_entropy(v{i})", lambda v: F.cross_entropy(v[i], torch.arange(len(v[i]), device=v[i].device) % v[i].shape[1])),
            (f"cdist-like(v{i})", lambda v: (v[i].unsqueeze(-2) - v[i].unsqueeze(-3)).square().sum(-1)),
        ]
        if not self.differentiable:
            choices += [
                (f"argmax(v{i}, {axis})", lambda v: (v[i] * 1.0).argmax(axis)),
                (f"topk(v{i}, 1, {axis})", lambda v: v[i].topk(1, axis).values),
                (f"one_hot(v{i})", lambda v: F.one_hot(v[i].contiguous().abs().long() % 5, 5)),
                (f"v{i}.round()", lambda v: (v[i] * 4).floor()), (f"v{i} & v{j}", lambda v: v[i] & v[j]),
                (f"~v{i}", lambda v: ~v[i]), (f"logical_xor(v{i}, v{j})", lambda v: torch.logical_xor(v[i] > 0.123, v[j] > 0.123)),
                (f"fmod(v{i}, 3)", lambda v: torch.fmod(v[i], 3)), (f"v{i}.bfloat16()", lambda v: v[i].bfloat16()),
                (f"cummax(v{i}, {axis})", lambda v: v[i].cummax(axis).values),
                (f"v{i}.masked_fill_(v{j} > 0.123)", lambda v: in_place(v[i].masked_fill_, v[j] > 0.123, 1)),
                (f"v{i}.index_fill_({axis}, {places})", lambda v: in_place(v[i].index_fill_, axis, index(v[i]), 2)),
                (f"v{i}.index_add_({axis}, {places})", lambda v: in_place(v[i].index_add_, axis, index(v[i]), v[i].index_select(axis, index(v[i])))),
                (f"v{i}.t_()", lambda v: v[i].t()), (f"v{i}.zero_()", lambda v: in_place(v[i].zero_)),
                (f"v{i}[{places}] += v{j}", lambda v: in_place(v[i].__setitem__, [places[0] % max(len(v[i]), 1)], v[j])),
                (f"v{i}.transpose({axis}, {other}).add_(v{i})", lambda v: in_place(v[i].transpose(axis, other).add_, 1)),
            ]
        return choices

    def replay(self, arguments, layers=None):
        """All values. `layers`: of each step those that take the place of its own."""
        values = [a * 1 for a in arguments] if self.differentiable else list(arguments)
        for (step, makes), layer in zip(self.steps, layers or self.layers_of_steps):
            new = step(values, *layer)
            if makes:
                values.append(new)
        return values

    def run(self, *arguments, layers=None):
        values = self.replay(arguments, layers)
        return [values[i] for i in self.results]

    def __str__(self):
        heads = [f"v{i}: {tuple(a.shape)} {a.dtype} strides {a.stride()}" for i, a in enumerate(self.arguments)]
        lines, number = [], len(self.arguments)
        for line, (_, makes) in zip(self.lines, self.steps):
            lines.append(f"v{number} = {line}" if makes else line)
            number += makes
        return "\n".join([*heads, *lines, f"return {', '.join(f'v{i}' for i in self.results)}"])


def fresh(tensors, double=False, grad=False):
    """Copies with the same strides."""
    result = []
    for t in tensors:
        dtype = torch.float64 if double and t.is_floating_point() else t.dtype
        copy = torch.empty_strided(t.shape, t.stride(), dtype=dtype).copy_(t)
        result.append(copy.requires_grad_() if grad else copy)
    return result


def in_place(function, *arguments):
    """Calls a method that writes; not where elements are one in memory, which PyTorch's own tracing refuses."""
    target = function.__self__
    if any(stride == 0 and n > 1 for stride, n in zip(target.stride(), target.shape)):
        raise RuntimeError("elements are one in memory")
    function(*arguments)


def written(tensor, place, value):
    tensor[place] = value
    return tensor


if __name__ == "__main__":
    print(Program(int(sys.argv[1])))
