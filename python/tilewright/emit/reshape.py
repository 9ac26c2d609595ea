"""Changes of shape that keep the order of the elements, as collapses and expansions of neighbouring dimensions.

    (4, 6, s0) -> (24, s0 / 2, 2)     is     collapse [[0, 1], [2]]     then     expand [[0], [1, 2]]
"""

from .sizes import product
from .value import Value, long_dimensions, tensor_type


def _source_is_short(source, target):
    """Whether a group needs more dimensions of the source (True), of the target (False), or cannot be told (None)."""
    if isinstance(source, int) and isinstance(target, int):
        return source < target
    import sympy
    for ratio, answer in ((sympy.cancel(target / sympy.sympify(source)), True), (sympy.cancel(source / sympy.sympify(target)), False)):
        numerator, denominator = ratio.as_numer_denom()
        if denominator == 1 and numerator != 1:
            return answer
    return None


def groups(source, target):
    """Pairs (dimensions of the source, dimensions of the target) that hold equally many elements, from the left."""
    result = []
    i = j = 0
    while i < len(source) and j < len(target):
        first, second = [i], [j]
        left, right = source[i], target[j]
        i, j = i + 1, j + 1
        while left != right:
            short = _source_is_short(left, right)
            if short is True and i < len(source):
                left = product([left, source[i]])
                first.append(i)
                i += 1
            elif short is False and j < len(target):
                right = product([right, target[j]])
                second.append(j)
                j += 1
            else:  # everything that is left is one group
                first.extend(range(i, len(source)))
                second.extend(range(j, len(target)))
                return result + [(first, second)]
        result.append((first, second))
    if result:  # trailing dimensions of size 1
        result[-1][0].extend(range(i, len(source)))
        result[-1][1].extend(range(j, len(target)))
    return result


def _nested(lists):
    return "[" + ", ".join("[" + ", ".join(map(str, entry)) + "]" for entry in lists) + "]"


def reshape(function, value, shape):
    """`value` as a tensor of `shape`, which has as many elements."""
    if value.shape == shape:
        return value
    if 0 in shape or 0 in value.shape:
        return function.empty(shape, value.type)
    if not value.shape or not shape:  # to and from rank 0
        kind = "collapse_shape" if value.shape else "expand_shape"
        sizes = f" output_shape [{', '.join(map(str, shape))}]" if shape else ""
        return Value(function.op(f"tensor.{kind} {value.name} []{sizes} : {value.text} into {tensor_type(shape, value.type)}"),
                     shape, value.type)
    pairs = groups(value.shape, shape)
    if any(len(first) > 1 for first, _ in pairs):
        middle = [product([value.shape[i] for i in first]) for first, _ in pairs]
        # A group of one dimension on both sides keeps the type that the result has.
        middle = [shape[second[0]] if len(second) == 1 else n for n, (_, second) in zip(middle, pairs)]
        name = function.op(f"tensor.collapse_shape {value.name} {_nested([first for first, _ in pairs])} : "
                           f"{value.text} into {tensor_type(middle, value.type)}")
        value = Value(name, middle, value.type)
    if any(len(second) > 1 for _, second in pairs):
        sizes = ", ".join(str(n) if isinstance(n, int) else function.index(n) for n in shape)
        name = function.op(f"tensor.expand_shape {value.name} {_nested([second for _, second in pairs])} output_shape [{sizes}] : "
                           f"{value.text} into {tensor_type(shape, value.type)}")
        value = Value(name, shape, value.type)
    return value.typed(shape)


def reshape_ordered(function, value, shape):
    """`reshape` of a tensor whose array may have its dimensions in another order. No copy is written where each group of dimensions
    lies in its own order, without others between."""
    if value.array is value or value.shape == shape or 0 in shape or 0 in value.shape or not shape:
        return reshape(function, value, shape)
    pairs = groups(value.shape, shape)
    owner = {i: group for group, (first, _) in enumerate(pairs) for i in first}
    following = long_dimensions(value.order, value.shape)
    runs = [owner[i] for j, i in enumerate(following) if j == 0 or owner[i] != owner[following[j - 1]]]
    inside = all([i for i in following if owner[i] == group] == long_dimensions(first, value.shape) for group, (first, _) in enumerate(pairs))
    if len(set(runs)) != len(runs) or not inside:
        return reshape(function, value, shape)
    runs = [group for group in range(len(pairs)) if group not in runs] + runs
    order = [i for group in runs for i in pairs[group][1]]
    return function.ordered(reshape(function, value.array, tuple(shape[i] for i in order)), order)
