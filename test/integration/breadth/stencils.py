"""Stencils that read what other stencils wrote: computed again where they are read, or not, the result is the same."""

import numpy as np

from breadth.case import Random, Tensor, simple


def taps(data, weights, axis):
    """sum over k of weights[k] * data[.. + k ..]"""
    length = data.shape[axis] - len(weights) + 1
    return sum(w * np.take(data, range(k, k + length), axis) for k, w in enumerate(weights))


def generic(result, source, weights, kind, shape, axis, combine):
    """Lines of one pass: zero, then a generic with one reduction loop."""
    rank = len(shape)
    dims = [f"d{i}" for i in range(rank)]
    shifted = [f"d{i} + k" if i == axis else f"d{i}" for i in range(rank)]
    space, output = ", ".join(dims), f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    maps = f"affine_map<({space}, k) -> ({', '.join(shifted)})>, affine_map<({space}, k) -> (k)>, affine_map<({space}, k) -> ({space})>"
    iterators = ", ".join(['"parallel"'] * rank + ['"reduction"'])
    mul, add = ("arith.mulf", "arith.addf") if kind[0] in "bf" else ("arith.muli", "arith.addi")
    zero = "0.0" if kind[0] in "bf" else "0"
    return f"""
  %z{result} = arith.constant {zero} : {kind}
  %e{result} = tensor.empty() : {output}
  %i{result} = linalg.fill ins(%z{result} : {kind}) outs(%e{result} : {output}) -> {output}
  %{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins(%{source}, %{weights} : {combine}) outs(%i{result} : {output}) {{
  ^bb0(%p: {kind}, %w: {kind}, %s: {kind}):
    %m = {mul} %p, %w : {kind}
    %t = {add} %s, %m : {kind}
    linalg.yield %t : {kind}
  }} -> {output}"""


def cases():
    random = Random(9)
    #: shape of the image, the axis of each pass
    forms = [((21, 37), [1, 0]), ((21, 37), [0, 1]), ((64,), [0, 0]), ((9, 11, 35), [1, 0]), ((9, 11, 35), [0, 2, 1]),
             ((30, 18), [0, 0, 0]), ((5, 6), [1, 0]), ((200, 1030), [1, 0])]
    for number, (shape, axes) in enumerate(forms):
        for kind in ("f32", "f64", "i32"):
            image, weights = random(kind, *shape), random(kind, 4)
            lines, source, data = "", "a0", image.data
            for step, axis in enumerate(axes):
                name = "r0" if step == len(axes) - 1 else f"t{step}"
                before = f"tensor<{'x'.join(map(str, data.shape))}x{kind}>, {weights.type()}"
                data = taps(data, weights.data, axis)
                lines += generic(name, source, "a1", kind, data.shape, axis, before)
                source = name
            yield simple(f"stencil-{number}-{kind}", [image, weights], [Tensor(kind, data)], lines, units=64)
    yield from rings(random)


def rings(random):
    """Enough taps that rows are kept in a ring instead of being computed again; the border is of odd sizes."""
    for shape, count in (((90, 211), 11), ((3, 70, 133), 9), ((40, 64), 12)):
        image, weights = random("f32", *shape), random("f32", count)
        axes = [len(shape) - 1, len(shape) - 2]
        across = taps(image.data, weights.data, axes[0])
        data = taps(across, weights.data, axes[1])
        before = [f"tensor<{'x'.join(map(str, part.shape))}xf32>, {weights.type()}" for part in (image.data, across)]
        lines = generic("t0", "a0", "a1", "f32", across.shape, axes[0], before[0])
        lines += generic("r0", "t0", "a1", "f32", data.shape, axes[1], before[1])
        yield simple(f"ring-{len(shape)}-{count}", [image, weights], [Tensor("f32", data)], lines, units=64)
