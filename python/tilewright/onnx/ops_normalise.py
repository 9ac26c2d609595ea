"""Normalisations and soft-max."""

from ..emit import types
from ..emit.reduce import count_of, divided, extremum, moments, of_channels, position_of, shifted_exponentials, softmax_of, sum_over
from ..emit.sizes import floor_div, product
from .registry import op
from .values import element_type


def deviation_of(c, variance, epsilon):
    """1 / sqrt(variance + epsilon)"""
    return c.map([variance], lambda s, v: s.div(1, s.math("sqrt", s.add(v, epsilon))))


def normalised(c, x, mean, deviation, scale, bias, type):
    operands = [x, mean, deviation] + [v for v in (scale, bias) if v is not None]

    def body(s, a, m, d, *rest):
        rest = iter(rest)
        value = s.mul(s.sub(a, m), d)
        value = s.mul(value, next(rest)) if scale is not None else value
        return s.add(value, next(rest)) if bias is not None else value
    return c.map(operands, body, compute=mean.type, type=type, shape=x.shape)


def along_channels(c, v, rank):
    return v if v is None else c.f.view(v, (*v.shape, *[1] * (rank - 2)))


@op("BatchNormalization")
def batch_normalization(c, x, scale, bias, mean, variance):
    epsilon, momentum = float(c.attribute("epsilon", 1e-5)), float(c.attribute("momentum", 0.9))
    compute, running = types.compute(x.type), (mean, variance)
    training = c.attribute("training_mode", 0)
    if training:
        axes = [i for i in range(x.rank) if i != 1]
        mean, variance = (c.f.view(v, (x.shape[1],)) for v in moments(c, x, axes))
    mean, variance = c.cast(mean, compute), c.cast(variance, compute)
    y = normalised(
        c, x, *(along_channels(c, v, x.rank) for v in (mean, deviation_of(c, variance, epsilon), scale, bias)), x.type)
    if not training:
        return y
    new = [c.map([old, now], lambda s, a, b: s.add(s.mul(a, momentum), s.mul(b, 1 - momentum)), compute=compute)
           for old, now in zip(running, (mean, variance))]
    return (y, *new)


@op("InstanceNormalization")
def instance_normalization(c, x, scale, bias):
    mean, variance = moments(c, x, list(range(2, x.rank)))
    deviation = deviation_of(c, variance, float(c.attribute("epsilon", 1e-5)))
    return normalised(c, x, mean, deviation, along_channels(c, scale, x.rank), along_channels(c, bias, x.rank), x.type)


def stashed(c, x):
    """The input in the type that an operation computes its statistics in."""
    return c.cast(x, element_type(c.attribute("stash_type", 1))) if types.BITS[x.type] < 32 else x


@op("LayerNormalization")
def layer_normalization(c, x, scale, bias=None):
    axis = c.axis(c.attribute("axis", -1), x.rank)
    mean, variance = moments(c, stashed(c, x), list(range(axis, x.rank)))
    deviation = deviation_of(c, variance, float(c.attribute("epsilon", 1e-5)))
    return normalised(c, x, mean, deviation, scale, bias, x.type), mean, deviation


@op("GroupNormalization")
def group_normalization(c, x, scale, bias):
    groups = c.attribute("num_groups")
    channels = x.shape[1]
    split = c.f.view(x, (x.shape[0], groups, floor_div(channels, groups), product(x.shape[2:])))
    mean, variance = moments(c, stashed(c, split), [2, 3])
    deviation = deviation_of(c, variance, float(c.attribute("epsilon", 1e-5)))
    # One scale for each channel; before version 21 one for each group.
    scale, bias = (along_channels(c, v, x.rank) if v.shape[0] == channels and c.version >= 21
                   else of_channels(c, c.f.view(v, (1, groups)), channels, x.rank) for v in (scale, bias))
    return normalised(c, x, *(of_channels(c, v, channels, x.rank) for v in (mean, deviation)), scale, bias, x.type)


@op("RMSNormalization")
def rms_normalization(c, x, scale):
    axes = list(range(c.axis(c.attribute("axis", -1), x.rank), x.rank))
    wide = stashed(c, x)
    squares = sum_over(c, wide, axes, wide.type, True, lambda s, a: s.mul(a, a))
    deviation = deviation_of(c, divided(c, squares, count_of(x, axes), wide.type), float(c.attribute("epsilon", 1e-5)))
    return c.map([x, deviation, scale], lambda s, a, d, w: s.mul(s.mul(a, d), w), compute=wide.type, type=x.type,
                 shape=x.shape)


@op("MeanVarianceNormalization")
def mean_variance_normalization(c, x):
    axes = sorted(c.axis(a, x.rank) for a in c.attribute("axes", [0, 2, 3]))
    mean, variance = moments(c, x, axes)
    return c.map([x, mean, variance], lambda s, a, m, v: s.div(s.sub(a, m), s.add(s.math("sqrt", v), 1e-9)),
                 shape=x.shape)


@op("LpNormalization")
def lp_normalization(c, x):
    axis, order = c.axis(c.attribute("axis", -1), x.rank), c.attribute("p", 2)
    compute = types.compute(x.type)
    length = sum_over(c, x, [axis], compute, True, (lambda s, a: s.math("absf", a)) if order == 1 else
                      (lambda s, a: s.mul(a, a)))

    def body(s, a, n):
        n = n if order == 1 else s.math("sqrt", n)
        return s.select(s.compare("eq", n, 0), s.constant(0, compute), s.div(a, n))
    return c.map([x, length], body, shape=x.shape)


@op("LRN")
def local_response(c, x):
    """Each element over the sum of squares of its neighbours among the channels."""
    alpha, beta, bias, size = (float(c.attribute("alpha", 1e-4)), float(c.attribute(
        "beta", 0.75)), float(c.attribute("bias", 1.0)), c.attribute("size"))
    low, high, compute = (size - 1) // 2, size - 1 - (size - 1) // 2, types.compute(x.type)
    wide = c.f.pad(x, [0, low] + [0] * (x.rank - 2), [0, high] + [0] * (x.rank - 2),
                   tuple(n + size - 1 if i == 1 else n for i, n in enumerate(x.shape)), 0)
    loops = [f"d{i}" for i in range(x.rank)]
    access = ["d0", f"d1 + d{x.rank}", *loops[2:]]

    def add(s, a, _, t):
        a = s.cast(a, compute)
        return s.add(t, s.mul(a, a))
    squares = c.f.generic(x.rank + 1, [(wide, access), (c.f.empty((size,), x.type), [f"d{x.rank}"])],
                          [(c.f.fill(x.shape, compute, 0), loops)], add, {x.rank})
    return c.map([x, squares], lambda s, a, q: s.div(a, s.math("powf", s.add(s.mul(q, alpha / size), bias), beta)),
                 shape=x.shape)


# Soft-max


def rows(c, x):
    """(x, the axis): before version 13 all dimensions from the axis on are one row."""
    if c.version >= 13:
        return x, c.axis(c.attribute("axis", -1), x.rank)
    axis = c.axis(c.attribute("axis", 1), x.rank)
    return c.f.view(x, (product(x.shape[:axis]), product(x.shape[axis:]))), 1


@op("Softmax")
def softmax(c, x):
    y, axis = rows(c, x)
    return c.f.view(softmax_of(c, y, axis, x.type), x.shape)


@op("LogSoftmax")
def log_softmax(c, x):
    y, axis = rows(c, x)
    shifted, _, sums = shifted_exponentials(c, y, axis)
    made = c.map([shifted, sums], lambda s, a, t: s.sub(a, s.math("log", t)), type=x.type, shape=y.shape)
    return c.f.view(made, x.shape)


@op("Hardmax")
def hardmax(c, x):
    y, axis = rows(c, x)
    first = position_of(c, y, axis, extremum(c, y, [axis], True, True), True)
    made = c.f.map([first], y.shape, x.type, lambda s, at: s.cast(s.compare("eq", at, s.index(axis)), x.type))
    return c.f.view(made, x.shape)


# Losses


@op("SoftmaxCrossEntropyLoss")
def cross_entropy(c, scores, labels, weights=None):
    shifted, _, sums = shifted_exponentials(c, scores, 1)
    logs = c.map([shifted, sums], lambda s, a, t: s.sub(a, s.math("log", t)), type=scores.type, shape=scores.shape)
    loss = likelihood(c, logs, labels, weights)
    return (loss, logs) if c.outputs > 1 else loss


@op("NegativeLogLikelihoodLoss")
def negative_log_likelihood(c, logs, labels, weights=None):
    return likelihood(c, logs, labels, weights)


def likelihood(c, logs, labels, weights):
    ignored, reduction, type = c.attribute("ignore_index"), c.attribute("reduction", "mean"), types.compute(logs.type)
    channels, shape = logs.shape[1], labels.shape

    def place(s, label):
        return s.max(s.min(s.cast(label, "i64"), s.sub(s.size(channels), 1)), 0)

    def weight(s, label):
        made = s.constant(1, type) if weights is None else s.cast(s.extract(weights, [place(s, label)]), type)
        return made if ignored is None else s.select(s.compare("eq", label, ignored), s.constant(0, type), made)

    def loss(s, label):
        at = [s.index(i) for i in range(labels.rank)]
        element = s.cast(s.extract(logs, [at[0], place(s, label), *at[1:]]), type)
        made = s.neg(s.mul(element, weight(s, label)))
        # An ignored element adds nothing, whatever stands there.
        return made if ignored is None else s.select(s.compare("eq", label, ignored), s.constant(0, type), made)
    each = c.f.map([labels], shape, type, loss)
    if reduction == "none":
        return c.cast(each, logs.type)
    sums = c.f.reduce([each], range(labels.rank), type, 0, lambda s, a, t: s.add(t, a))
    if reduction == "mean":
        counts = c.f.map([labels], shape, type, weight)
        count = c.f.reduce([counts], range(labels.rank), type, 0, lambda s, a, t: s.add(t, a))
        sums = c.map([sums, count], lambda s, a, n: s.div(a, n), shape=())
    return c.cast(sums, logs.type)
