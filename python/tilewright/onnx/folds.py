"""What follows from shapes and small constants alone, computed while a graph is read: the arithmetic by which
exporters make shapes.

Entries may be expressions over dynamic sizes; then arrays are of dtype object, and only what is exact for expressions
is computed.
"""

import functools
import math

import numpy as np
from onnx import numpy_helper

from ..emit.sizes import plain, product
from ..emit.value import Value
from .values import Constant, dtype_of, element_type, of_array, of_sizes

#: Larger constants are computed by the program.
LARGEST = 4096
FOLDS = {}


def folds(*names):
    def register(function):
        for name in names:
            FOLDS[name] = function
        return function
    return register


def fold(c, inputs):
    """What the node's outputs are held as, where it can be computed; else None."""
    name = c.node.op_type
    if name in ("Shape", "Size") and isinstance(inputs[0], (Value, Constant)):
        return (of_shape(c, inputs[0].shape),)
    function = FOLDS.get(name)
    if function is None or not all(held is None or isinstance(held, Constant) for held in inputs):
        return None
    arrays = [held.array if held is not None else None for held in inputs]
    if any(a is not None and a.size > LARGEST for a in arrays):
        return None
    with np.errstate(all="ignore"):
        try:
            made = function(c, *arrays)
        except _NotFolded:
            return None
    if made is None:
        return None
    made = made if isinstance(made, tuple) else (made,)
    typed = inputs[1:] if name == "Where" else inputs
    first = next((held.type for held in typed if held is not None), "i64")
    made = tuple(_held(m, first) for m in made)
    return None if name != "Constant" and any(m.array.size > LARGEST for m in made) else made


class _NotFolded(Exception):
    """An expression has no answer that holds for all sizes."""


def _held(array, type):
    if isinstance(array, Constant):
        return array
    return of_sizes(array, type) if np.asarray(array).dtype == object else of_array(np.asarray(array))


def of_shape(c, shape):
    if c.node.op_type == "Size":
        return of_sizes(product(shape))
    start, end = c.attribute("start", 0), c.attribute("end")
    return of_sizes(np.array(list(shape[slice(start, end)]) or np.zeros(0), dtype=object))


def is_symbolic(*arrays):
    return any(a is not None and a.dtype == object for a in arrays)


def each(function):
    """Element-wise on arrays of one type; expressions by Python's own operators."""
    def compute(c, *arrays):
        if is_symbolic(*arrays):
            return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)
        return np.asarray(function(*arrays)).astype(arrays[0].dtype, copy=False)
    return compute


def _is_number(n):
    return not getattr(n, "free_symbols", None)


def _divided(a, b):
    if isinstance(a, np.ndarray):
        return np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b) if a.dtype.kind in "iu" else a / b  # integers towards 0
    if _is_number(a) and _is_number(b):
        return abs(int(a)) // abs(int(b)) * (1 if int(a) * int(b) >= 0 else -1)
    from ..emit.forms import FloorDiv
    import sympy
    return plain(FloorDiv(sympy.sympify(a), sympy.sympify(b)))  # sizes are not negative


def _remainder(a, b):
    if isinstance(a, np.ndarray):
        return np.mod(a, b)
    if _is_number(a) and _is_number(b):
        return int(a) % int(b)
    from ..emit.forms import Mod
    import sympy
    return plain(Mod(sympy.sympify(a), sympy.sympify(b)))


folds("Add")(each(lambda a, b: a + b))
folds("Sub")(each(lambda a, b: a - b))
folds("Mul")(each(lambda a, b: a * b))
folds("Div")(each(_divided))
folds("Neg")(each(lambda a: -a))
folds("Identity")(lambda c, a: a)


@folds("Mod")
def mod(c, a, b):
    if c.attribute("fmod", 0):
        return None
    return each(_remainder)(c, a, b)


def _extremum(name, of_arrays):
    @folds(name)
    def compute(c, *arrays):
        if not is_symbolic(*arrays):
            return functools.reduce(of_arrays, arrays)
        import sympy
        kind = getattr(sympy, name)
        return np.asarray(functools.reduce(np.frompyfunc(lambda a, b: plain(kind(a, b)), 2, 1), arrays), dtype=object)


_extremum("Max", np.maximum)
_extremum("Min", np.minimum)


@folds("Sqrt", "Floor", "Ceil", "Abs")
def numbers(c, a):
    if is_symbolic(a):
        return a if c.node.op_type == "Abs" else None
    return {"Sqrt": np.sqrt, "Floor": np.floor, "Ceil": np.ceil, "Abs": np.abs}[c.node.op_type](a)


def _equal(a, b):
    """Whether sizes are equal; the names of dynamic sizes stand for numbers of 1 and more."""
    difference = a - b
    if _is_number(difference):
        return bool(difference == 0)
    if (_is_number(a) and a < 1) or (_is_number(b) and b < 1):
        return False
    raise _NotFolded


COMPARISONS = {"Equal": np.equal, "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal,
               "GreaterOrEqual": np.greater_equal}


@folds("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def compared(c, a, b):
    name = c.node.op_type
    if not is_symbolic(a, b):
        return COMPARISONS[name](a, b)
    if name != "Equal":
        return None
    return np.asarray(np.frompyfunc(_equal, 2, 1)(a, b)).astype(bool)


@folds("And", "Or", "Xor")
def logic(c, a, b):
    return {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}[c.node.op_type](a, b)


@folds("Not")
def not_(c, a):
    return np.logical_not(a)


@folds("Where")
def where(c, condition, a, b):
    return np.where(condition, a, b)


@folds("Cast")
def cast(c, a):
    type = element_type(c.attribute("to"))
    if is_symbolic(a):
        return Constant(a, type) if type in ("i64", "i32") else None
    if a.dtype.kind == "f" and type[0] in "iu" and type != "i1":
        if not (np.isfinite(a).all() and (np.abs(a) < 2.0 ** 31).all()):
            return None
        return np.trunc(a).astype(dtype_of(type))
    return a.astype(dtype_of(type))


@folds("Constant")
def constant(c):
    for name, dtype in (("value_int", np.int64), ("value_ints", np.int64), ("value_float", np.float32),
                        ("value_floats", np.float32)):
        if c.has(name):
            return np.array(c.attribute(name), dtype)
    if not c.has("value"):
        c.refuse(f"a constant given by {', '.join(a.name for a in c.node.attribute)} is not compiled")
    element_type(c.attribute("value").data_type)
    return of_array(numpy_helper.to_array(c.attribute("value")))


@folds("ConstantOfShape")
def constant_of_shape(c, shape):
    sizes = [int(n) if _is_number(n) else None for n in shape.tolist()]
    if None in sizes or math.prod(sizes) > LARGEST:
        return None
    value = numpy_helper.to_array(c.attribute("value")) if c.has("value") else np.zeros(1, np.float32)
    return np.full(sizes, value.reshape(-1)[0], value.dtype)


@folds("Range")
def range_(c, start, limit, delta):
    if is_symbolic(start, limit, delta):
        return None
    count = max(0, math.ceil((limit.item() - start.item()) / delta.item()))
    if count > LARGEST:
        return None
    return (start + np.arange(count, dtype=start.dtype) * delta).astype(start.dtype)


# Views


def _axes(c, given, default=None):
    if given is not None:
        return [int(n) for n in given.reshape(-1)]
    return c.attribute("axes", default)


@folds("Gather")
def gather(c, a, indices):
    axis, n = c.attribute("axis", 0), a.shape[c.attribute("axis", 0)]
    if is_symbolic(indices) or (indices.size and (indices.min() < -n or indices.max() >= n)):
        return None
    return np.asarray(np.take(a, indices.astype(np.int64), axis), dtype=a.dtype)


@folds("Unsqueeze")
def unsqueeze(c, a, axes=None):
    axes = _axes(c, axes)
    return np.expand_dims(a, tuple(axes))


@folds("Squeeze")
def squeeze(c, a, axes=None):
    axes = _axes(c, axes)
    return np.squeeze(a, None if axes is None else tuple(axes))


@folds("Concat")
def concat(c, *arrays):
    symbolic = is_symbolic(*arrays)
    return np.concatenate([a.astype(object) if symbolic else a for a in arrays], c.attribute("axis"))


@folds("Slice")
def slice_(c, a, starts=None, ends=None, axes=None, steps=None):
    if is_symbolic(starts, ends, axes, steps):
        return None
    starts = c.attribute("starts") if starts is None else starts.tolist()
    ends = c.attribute("ends") if ends is None else ends.tolist()
    axes = _axes(c, axes, range(len(starts)))
    steps = [1] * len(starts) if steps is None else steps.tolist()
    parts = [slice(None)] * a.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        parts[axis] = slice(start, None if end < -a.shape[axis] and step < 0 else end, step)
    return a[tuple(parts)]


@folds("Reshape")
def reshape(c, a, shape):
    if is_symbolic(shape):
        return None
    target = [a.shape[i] if n == 0 and not c.attribute("allowzero", 0) else n for i, n in enumerate(shape.tolist())]
    return a.reshape(target)


@folds("Expand")
def expand(c, a, shape):
    if is_symbolic(shape):
        return None
    target = np.broadcast_shapes(a.shape, tuple(shape.tolist()))
    return None if math.prod(target) > LARGEST else np.broadcast_to(a, target).copy()


@folds("Tile")
def tile(c, a, repeats):
    return None if is_symbolic(repeats) or a.size * math.prod(repeats.tolist()) > LARGEST else np.tile(
        a, repeats.tolist())


@folds("Transpose")
def transpose(c, a):
    return np.transpose(a, c.attribute("perm"))


@folds("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def reduced(c, a, axes=None):
    name = c.node.op_type
    axes = _axes(c, axes)
    if axes is None and c.attribute("noop_with_empty_axes", 0):
        return a
    if is_symbolic(a) and name in ("ReduceMax", "ReduceMin"):
        return None
    function = {"ReduceProd": np.prod, "ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min}[name]
    made = function(a, axis=None if not axes else tuple(axes), keepdims=bool(c.attribute("keepdims", 1)))
    return np.asarray(made, dtype=a.dtype)


@folds("NonZero")
def non_zero(c, a):
    return None if is_symbolic(a) else np.array(np.nonzero(np.atleast_1d(a)), np.int64)


@folds("ScatterND")
def scatter_nd(c, a, indices, updates):
    if is_symbolic(indices) or c.attribute("reduction", "none") != "none":
        return None
    made = a.astype(object) if is_symbolic(a, updates) else a.copy()
    for place in np.ndindex(indices.shape[:-1]):
        made[tuple(indices[place])] = updates[place]
    return made


@folds("Split")
def split(c, a, sizes=None):
    sizes = c.attribute("split") if sizes is None else sizes.tolist()
    axis = c.attribute("axis", 0)
    if sizes is None:
        each_part = -(-a.shape[axis] // c.outputs)
        sizes = [min(each_part, a.shape[axis] - i * each_part) for i in range(c.outputs)]
    return tuple(np.split(a, np.cumsum(sizes)[:-1], axis))
