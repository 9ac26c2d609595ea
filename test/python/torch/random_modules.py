"""Random programs of PyTorch: chains of operations, views, and writes in place over tensors of random shapes and types, from a seed.

    build/venv-torch/bin/python test/python/torch/random_modules.py 17      # prints program 17
"""

import random
import sys

import torch
import torch.nn.functional as F

SIZES = (1, 2, 3, 4, 5, 8)
FLOATS = (torch.float32, torch.float64)


class Program:
    """Steps over a list of tensors. `lines` says what they are; `run(tensors)` takes the arguments and gives the results."""

    def __init__(self, seed, differentiable=False):
        self.random = random.Random(seed)
        self.lines, self.steps = [], []
        self.differentiable = differentiable
        torch.manual_seed(seed)
        self.arguments = [self.argument() for _ in range(self.random.randint(1, 3))]
        values = fresh(self.arguments)
        for _ in range(self.random.randint(3, 10)):
            self.extend(values)
        last = len(values) - 1
        self.results = sorted({last, *(self.random.randrange(len(values)) for _ in range(2))})
        if differentiable:
            self.results = [i for i in self.results if values[i].is_floating_point()] or [0]

    def argument(self):
        shape = [self.random.choice(SIZES) for _ in range(self.random.randint(1, 4))]
        if not self.differentiable and self.random.random() < 0.05:
            shape[self.random.randrange(len(shape))] = 0
        dtype = torch.float32 if self.differentiable or self.random.random() < 0.7 else self.random.choice((torch.float64, torch.int64, torch.int32, torch.bool))
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
            name, step = self.draw(values)
            try:  # from the beginning, so that views share memory as they will
                with torch.no_grad():
                    tried = self.replay(fresh(self.arguments))
                    new = step(tried)
            except (RuntimeError, IndexError, TypeError, ValueError):
                continue
            if new is not None and (new.numel() > 4096 or new.dim() > 5):
                continue
            if any(t.is_floating_point() and not (t.isfinite().all() and (t.abs() < 1e4).all()) for t in [*tried, new] if t is not None):
                continue
            values[:] = tried + ([new] if new is not None else [])
            self.lines.append(name)
            self.steps.append((step, new is not None))
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
            (f"where(v{i} > 0.123, v{j}, {c})", lambda v: torch.where(v[i] > 0.123, v[j], c)),
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
        elif r.random() < 0.2:
            choices = [
                (f"v{i}.add_({c})", lambda v: in_place(v[i].add_, c)),
                (f"v{i}.mul_(v{j})", lambda v: in_place(v[i].mul_, v[j])),
                (f"v{i}[{cut}] = {c}", lambda v: v[i].__setitem__(tuple(cut), c)),
                (f"v{i}[{cut}].sub_(1)", lambda v: in_place(v[i][tuple(cut)].sub_, 1)),
                (f"v{i}.copy_(v{j})", lambda v: in_place(v[i].copy_, v[j])),
                (f"v{i}.clamp_(-1, 1)", lambda v: in_place(v[i].clamp_, -1, 1)),
            ]
        return choices[r.randrange(len(choices))]

    def replay(self, arguments):
        values = [a * 1 for a in arguments] if self.differentiable else list(arguments)
        for step, makes in self.steps:
            new = step(values)
            if makes:
                values.append(new)
        return values

    def run(self, *arguments):
        values = self.replay(arguments)
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
    function(*arguments)


def written(tensor, place, value):
    tensor[place] = value
    return tensor


if __name__ == "__main__":
    print(Program(int(sys.argv[1])))
