"""Normalisations: layer, group, batch, root mean square."""

from ..emit import types
from ..emit.reduce import count_of, divided, moments, of_channels, sum_over
from ..emit.sizes import floor_div, product
from . import dtypes
from .context import shape_of, type_of
from .registry import op


def reciprocal_deviation(c, variance, eps):
    return c.map([variance], lambda s, v: s.div(1, s.math("sqrt", s.add(v, float(eps)))), compute=variance.type,
                 type=variance.type, shape=variance.shape)


def scaled(c, x, mean, deviation, weight, bias, type):
    """(x - mean) * deviation * weight + bias; all but x are broadcast."""
    def body(s, a, m, d, *rest):
        rest = iter(rest)
        value = s.mul(s.sub(a, m), d)
        if weight is not None:
            value = s.mul(value, next(rest))
        return s.add(value, next(rest)) if bias is not None else value
    operands = [x, mean, deviation] + [v for v in (weight, bias) if v is not None]
    return c.map(operands, body, compute=mean.type, type=type, shape=x.shape)


def statistics(c, values, first):
    """Values under the shapes and types of the node's results from number `first` on."""
    return tuple(c.cast(c.f.view(v, shape_of(m)), type_of(m)) for v, m in zip(values, c.meta[first:], strict=True))


@op("native_layer_norm")
def native_layer_norm(c, x, normalized, weight, bias, eps):
    axes = list(range(x.rank - len(normalized), x.rank))
    mean, variance = moments(c, x, axes)
    deviation = reciprocal_deviation(c, variance, eps)
    return scaled(c, x, mean, deviation, weight, bias, x.type), *statistics(c, (mean, deviation), 1)


@op("_fused_rms_norm")
def fused_rms_norm(c, x, normalized, weight, eps):
    import torch
    axes = list(range(x.rank - len(normalized), x.rank))
    compute = types.compute(x.type)
    squares = sum_over(c, x, axes, compute, True, lambda s, a: s.mul(a, a))
    mean = divided(c, squares, count_of(x, axes), compute)
    eps = torch.finfo(dtypes.TO_TORCH[compute]).eps if eps is None else eps
    deviation = reciprocal_deviation(c, mean, eps)
    operands = [x, deviation] + ([weight] if weight is not None else [])
    y = c.map(operands, lambda s, a, d, *w: s.mul(s.mul(a, d), w[0]) if w else s.mul(a, d), compute=compute, type=x.type, shape=x.shape)
    return y, *statistics(c, (deviation,), 1)


def along_channels(c, value, rank):
    """(C) as (C, 1, ..., 1), so that it is broadcast over a batch and positions."""
    return value if value is None else c.f.view(value, (*value.shape, *[1] * (rank - 2)))


@op("native_group_norm")
def native_group_norm(c, x, weight, bias, batch, channels, positions, groups, eps):
    split = c.f.view(x, (batch, groups, floor_div(channels, groups), product(x.shape[2:])))
    mean, variance = moments(c, split, [2, 3])
    deviation = reciprocal_deviation(c, variance, eps)
    # x in its own shape, so that what reads the result can be computed with it.
    y = scaled(c, x, *(of_channels(c, v, channels, x.rank) for v in (mean, deviation)),
               *(along_channels(c, v, x.rank) for v in (weight, bias)), x.type)
    return y, *statistics(c, (mean, deviation), 1)


def batch_statistics(c, x):
    """Mean and variance of each channel, as (C)."""
    axes = [i for i in range(x.rank) if i != 1]
    mean, variance = moments(c, x, axes)
    return c.f.view(mean, (x.shape[1],)), c.f.view(variance, (x.shape[1],)), count_of(x, axes)


def batch_norm_of(c, x, weight, bias, mean, variance, eps):
    """The result, and 1 / sqrt(variance + eps)."""
    compute = types.compute(x.type)
    mean, variance = c.cast(mean, compute), c.cast(variance, compute)
    deviation = reciprocal_deviation(c, variance, eps)
    operands = [along_channels(c, v, x.rank) for v in (mean, deviation, weight, bias)]
    return scaled(c, x, *operands, x.type), deviation


@op("_native_batch_norm_legit_no_training")
def batch_norm_no_training(c, x, weight, bias, running_mean, running_var, momentum, eps):
    y, _ = batch_norm_of(c, x, weight, bias, running_mean, running_var, eps)
    return y, *(c.f.empty(shape_of(m), type_of(m)) for m in c.meta[1:])


@op("_native_batch_norm_legit.no_stats")
def batch_norm_no_stats(c, x, weight, bias, training, momentum, eps):
    mean, variance, _ = batch_statistics(c, x)
    y, deviation = batch_norm_of(c, x, weight, bias, mean, variance, eps)
    return y, *statistics(c, (mean, deviation), 1)


def updated(c, running, new, momentum, correction=None):
    """(1 - momentum) * running + momentum * new; variances are made unbiased: n / (n - 1)."""
    def body(s, old, a, *n):
        if n:
            a = s.mul(a, s.div(n[0], s.sub(n[0], 1)))
        return s.add(s.mul(old, 1 - momentum), s.mul(a, momentum))
    return c.map([running, new] + ([correction] if correction is not None else []), body, compute=new.type, type=running.type,
                 shape=running.shape)


@op("_native_batch_norm_legit_functional")
def batch_norm_functional(c, x, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        y, _ = batch_norm_of(c, x, weight, bias, running_mean, running_var, eps)
        return y, *(c.f.empty(shape_of(m), type_of(m)) for m in c.meta[1:3]), running_mean, running_var
    mean, variance, count = batch_statistics(c, x)
    y, deviation = batch_norm_of(c, x, weight, bias, mean, variance, eps)
    saved = tuple(c.cast(v, type_of(m)) for v, m in zip((mean, deviation), c.meta[1:3]))
    return y, *saved, updated(c, running_mean, mean, momentum), updated(c, running_var, variance, momentum, count)
