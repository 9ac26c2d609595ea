"""Structured operations of linalg but convolutions: element-wise, contractions, generic forms, softmax, Winograd."""

import itertools
import math

import numpy as np

from breadth.case import Random, Tensor, destination, simple
from breadth.convolutions import scalars

erf = np.vectorize(math.erf, otypes=[float])

UNARY = {
    "exp": np.exp, "log": np.log, "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "negf": np.negative,
    "reciprocal": lambda x: 1 / x, "round": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "square": np.square, "tanh": np.tanh, "erf": erf,
}
POSITIVE = ("log", "sqrt", "rsqrt", "powf", "reciprocal")
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
          "min": np.minimum, "powf": np.power}
BOOL = {"add": np.logical_or, "mul": np.logical_and}


def divide(a, b):
    """Of integers, towards zero."""
    return (np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)


def elementwise(random):
    for (name, function_), kind in itertools.product(UNARY.items(), ("f32", "f16")):
        dynamic = kind == "f16"
        a, init = (random(kind, 3, 17, dynamic=dynamic) for _ in range(2))
        if name in POSITIVE:
            a = Tensor(kind, np.abs(a.data) + 0.25, dynamic)
        yield destination(f"linalg.{name}-{kind}", f"linalg.{name}", [a], init, function_(a.data))
        if name not in ("negf",):
            yield destination(f"linalg.elementwise-{name}-{kind}", f"linalg.elementwise kind=#linalg.elementwise_kind<{name}>",
                              [a], init, function_(a.data))
    for (name, function_), kind in itertools.product(BINARY.items(), ("f64", "bf16", "i32", "i8")):
        if name == "powf" and kind[0] == "i":
            continue
        dynamic = kind in ("bf16", "i8")
        a, b, init = (random(kind, 5, 7, dynamic=dynamic) for _ in range(3))
        if name in POSITIVE:
            a = Tensor(kind, np.abs(a.data) + 0.25, dynamic)
        if name == "div":
            b = Tensor(kind, np.where(b.data == 0, 1, b.data), dynamic)
        if name == "div" and kind[0] == "i":
            function_ = divide
        expected = function_(a.data, b.data)
        yield destination(f"linalg.{name}-{kind}", f"linalg.{name}", [a, b], init, expected)
        which = name + "_signed" if name in ("max", "min") else name
        yield destination(f"linalg.elementwise-{name}-{kind}", f"linalg.elementwise kind=#linalg.elementwise_kind<{which}>",
                          [a, b], init, expected)
    for name, function_ in BOOL.items():
        a, b, init = (random("i1", 5, 7) for _ in range(3))
        yield destination(f"linalg.{name}-i1", f"linalg.{name}", [a, b], init, function_(a.data, b.data))
    a, b, init = (random("i32", 5, 7, low=1, high=90) for _ in range(3))
    yield destination("linalg.div_unsigned-i32", "linalg.div_unsigned", [a, b], init, a.data // b.data)
    for dynamic in (False, True):
        p = random("i1", 5, 7, dynamic=dynamic)
        a, b, init = (random("f32", 5, 7, dynamic=dynamic) for _ in range(3))
        expected = np.where(p.data, a.data, b.data)
        yield destination(f"linalg.select-{dynamic}", "linalg.select", [p, a, b], init, expected)
        yield destination(f"linalg.elementwise-select-{dynamic}", "linalg.elementwise kind=#linalg.elementwise_kind<select>",
                          [p, a, b], init, expected)
        yield destination(f"linalg.copy-{dynamic}", "linalg.copy", [a], init, a.data)
        maps = "affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>"
        t, row = random("f32", 7, 5, dynamic=dynamic), random("f32", 7, dynamic=dynamic)
        yield destination(f"linalg.elementwise-maps-{dynamic}",
                          f"linalg.elementwise kind=#linalg.elementwise_kind<add> indexing_maps = [{maps}]",
                          [t, row], init, t.data.T + row.data)
    # Operands of other types are converted first.
    a = random("i8", 5, 7)
    yield destination("linalg.copy-i8-f32", "linalg.copy", [a], random("f32", 5, 7), a.data)


CONTRACTIONS = {
    "matmul": ("mk", "kn", "mn"), "batch_matmul": ("bmk", "bkn", "bmn"), "batch_reduce_matmul": ("bmk", "bkn", "mn"),
    "matvec": ("mk", "k", "m"), "vecmat": ("k", "kn", "n"), "batch_matvec": ("bmk", "bk", "bm"),
    "batch_vecmat": ("bk", "bkn", "bn"), "dot": ("k", "k", ""), "mmt4d": ("mkio", "nkjo", "mnij"),
    "batch_mmt4d": ("bmkio", "bnkjo", "bmnij"),
}
LENGTHS = {"m": 6, "k": 9, "n": 19, "b": 3, "i": 4, "j": 5, "o": 2}


def shape(letters):
    return [LENGTHS[x] for x in letters]


def contractions(random):
    kinds = [("f32", "f32", "f32"), ("bf16", "bf16", "f32"), ("i8", "i8", "i32"), ("f64", "f64", "f64"),
             ("f16", "f16", "f16"), ("i32", "i32", "i32"), ("f8E4M3FN", "f8E5M2", "f32")]
    for (name, letters), (ta, tb, tc) in itertools.product(CONTRACTIONS.items(), kinds):
        dynamic = ta in ("bf16", "f64", "i32")
        a, b, c = (random(kind, *shape(x), dynamic=dynamic) for kind, x in zip((ta, tb, tc), letters))
        wide = [x.data.astype(float) if x.kind[0] in "bf" else x.data.astype(int) for x in (a, b, c)]
        expected = wide[2] + np.einsum(f"{letters[0]},{letters[1]}->{letters[2]}", *wide[:2])
        # Masked columns of a product of floats in blocks of dynamic sizes take LLVM half a minute; with static sizes it is small.
        long = dynamic and ta in ("bf16", "f64") and "mmt4d" in name
        yield destination(f"linalg.{name}-{ta}", f"linalg.{name}", [a, b], c, expected, units=32, long=long)
        if long:
            a, b, c = (Tensor(x.kind, x.data) for x in (a, b, c))
            yield destination(f"linalg.{name}-{ta}-static", f"linalg.{name}", [a, b], c, expected, units=32)
    names = dict(zip("bmnk", ("b", "m", "n", "k")))

    def maps(letters):
        dims = "b, m, n, k"
        return "[" + ", ".join(f"affine_map<({dims}) -> ({', '.join(names[x] for x in text)})>" for text in letters) + "]"

    for letters in [("bkm", "bnk", "bmn"), ("bmk", "bkn", "mn"), ("mbk", "nk", "nbm")]:
        a, b, c = (random("f32", *shape(x)) for x in letters)
        expected = c.data + np.einsum(f"{letters[0]},{letters[1]}->{letters[2]}", a.data, b.data)
        yield destination("linalg.contract-" + "-".join(letters), f"linalg.contract indexing_maps = {maps(letters)}",
                          [a, b], c, expected, units=32)
    for name in ("matmul", "batch_matmul"):
        batch = "b" if name != "matmul" else ""
        letters = (batch + "km", batch + "nk", batch + "mn")
        text = maps(letters) if batch else maps(letters).replace("b, m, n, k", "m, n, k")
        a, b, c = (random("f32", *shape(x), dynamic=True) for x in letters)
        expected = c.data + np.einsum(f"{letters[0]},{letters[1]}->{letters[2]}", a.data, b.data)
        yield destination(f"linalg.{name}-transposed", f"linalg.{name} indexing_maps = {text}", [a, b], c, expected, units=32)
    for name in ("quantized_matmul", "quantized_batch_matmul"):
        letters = CONTRACTIONS[name.removeprefix("quantized_")]
        for dynamic in (False, True):
            a, b = (random("i8", *shape(x), dynamic=dynamic) for x in letters[:2])
            c = random("i32", *shape(letters[2]), dynamic=dynamic)
            points = [Tensor("i32", 4), Tensor("i32", -3)]
            expected = c.data + np.einsum(f"{letters[0]},{letters[1]}->{letters[2]}", a.data.astype(int) - 4,
                                          b.data.astype(int) + 3)
            yield scalars(destination(f"linalg.{name}-{dynamic}", f"linalg.{name}", [a, b, *points], c, expected), points)


def forms(random):
    """generic, index, map, reduce, transpose, broadcast, fill, fill_rng_2d, softmax."""
    for dynamic in (False, True):
        end = f"-{dynamic}"
        x = random("f32", 4, 6, 5, dynamic=dynamic)
        for order in itertools.permutations(range(3)):
            out = random("f32", *(x.data.shape[d] for d in order), dynamic=dynamic)
            yield destination(f"linalg.transpose-{order}{end}", "linalg.transpose", [x], out, x.data.transpose(order),
                              tail=f" permutation = {list(order)}", arrow=False)
        for dims in ([0], [1], [2], [0, 2], [0, 1, 2]):
            kept = [d for d in range(3) if d not in dims]
            out = random("f32", *(x.data.shape[d] for d in kept), dynamic=dynamic)
            yield destination(f"linalg.reduce-add-{dims}{end}", "linalg.reduce { arith.addf }", [x], out,
                              out.data + x.data.sum(tuple(dims)), tail=f" dimensions = {dims}", units=32, arrow=False)
            yield destination(f"linalg.reduce-max-{dims}{end}", "linalg.reduce { arith.maximumf }", [x], out,
                              np.maximum(out.data, x.data.max(tuple(dims))), tail=f" dimensions = {dims}", arrow=False)
        for dims in ([0], [1], [0, 2], [0, 1, 2]):
            kept = [d for d in range(3) if d not in dims]
            small = random("i32", *(x.data.shape[d] for d in kept), dynamic=dynamic)
            out = random("i32", 4, 6, 5, dynamic=dynamic)
            expected = np.broadcast_to(np.expand_dims(small.data, tuple(dims)), (4, 6, 5))
            yield destination(f"linalg.broadcast-{dims}{end}", "linalg.broadcast", [small], out, expected,
                              tail=f" dimensions = {dims}", arrow=False)
        a, b = random("f32", 4, 6, dynamic=dynamic), random("f32", 4, 6, dynamic=dynamic)
        yield destination("linalg.map" + end, "linalg.map { arith.mulf }", [a, b], a, a.data * b.data, arrow=False)
        for dim in (0, 1):
            exps = np.exp(a.data - a.data.max(dim, keepdims=True))
            yield destination(f"linalg.softmax-{dim}{end}", f"linalg.softmax dimension({dim})", [a], b,
                              exps / exps.sum(dim, keepdims=True), units=16)
        # The index of every dimension, and two results.
        r = [Tensor("f32", np.add.outer(np.arange(4) * 10.0, np.arange(6)) + a.data, dynamic),
             Tensor("i64", np.subtract.outer(np.arange(4), np.arange(6)), dynamic)]
        c = random("i64", 4, 6, dynamic=dynamic)
        yield simple("linalg.index" + end, [a, b, c], r, """
  %r0, %r1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%a0 : {a0}) outs(%a1, %a2 : {a1}, {a2}) {
  ^bb0(%x: f32, %y: f32, %z: i64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %ten = arith.constant 10 : index
    %t = arith.muli %i, %ten : index
    %s = arith.addi %t, %j : index
    %w = arith.index_cast %s : index to i64
    %f = arith.sitofp %w : i64 to f32
    %v = arith.addf %f, %x : f32
    %d = arith.subi %i, %j : index
    %e = arith.index_cast %d : index to i64
    linalg.yield %v, %e : f32, i64
  } -> ({r0}, {r1})""")
        # The position of the largest element of each row: a reduction of two results.
        first, value = Tensor("i64", np.argmax(a.data, 1), dynamic), Tensor("f32", a.data.max(1), dynamic)
        inits = [Tensor("i64", np.zeros(4), dynamic), Tensor("f32", np.full(4, -np.inf), dynamic)]
        yield simple("linalg.generic-argmax" + end, [a, *inits], [first, value], """
  %r0, %r1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%a0 : {a0}) outs(%a1, %a2 : {a1}, {a2}) {
  ^bb0(%x: f32, %at: i64, %best: f32):
    %j = linalg.index 1 : index
    %w = arith.index_cast %j : index to i64
    %more = arith.cmpf ogt, %x, %best : f32
    %p = arith.select %more, %w, %at : i64
    %q = arith.select %more, %x, %best : f32
    linalg.yield %p, %q : i64, f32
  } -> ({r0}, {r1})""")
    for kind, value in [("f32", "1.5 : f32"), ("i8", "-3 : i8"), ("i1", "true"), ("f16", "2.0 : f16"), ("index", "7 : index")]:
        init = random(kind, 3, 5)
        number = {"true": 1}.get(value) or float(value.split()[0])
        result = Tensor(kind, np.full((3, 5), number))
        yield simple("linalg.fill-" + kind, [init], [result], f"""
  %c = arith.constant {value}
  %r0 = linalg.fill ins(%c : {kind}) outs(%a0 : {{a0}}) -> {{r0}}""")
    yield simple("linalg.fill_rng_2d", [], [Tensor("f32", random_numbers(3, 5, -1.0, 2.0, 42))], """
  %low = arith.constant -1.0 : f64
  %high = arith.constant 2.0 : f64
  %seed = arith.constant 42 : i32
  %e = tensor.empty() : {r0}
  %r0 = linalg.fill_rng_2d ins(%low, %high, %seed : f64, f64, i32) outs(%e : {r0}) -> {r0}""")
    yield winograd(random)


def random_numbers(rows, columns, low, high, seed):
    """The linear congruential generator that the dialect describes, one for each element."""
    def step(x):
        return (x * 1103515245 + 12345) & 0xFFFFFFFF
    i, j = np.arange(rows, dtype=np.int64)[:, None], np.arange(columns, dtype=np.int64)[None]
    state = step(step(i + seed) + j)
    signed = np.where(state >= 2**31, state - 2**32, state)
    return (signed + 2.0**31) * ((high - low) * 2.3283063999999999e-10) + low


def winograd(random):
    image, weights = random("f32", 2, 10, 10, 5), random("f32", 3, 3, 3, 5)
    one = {"h": 1, "w": 1}
    padded = np.zeros((2, 8, 8, 3))
    for y, x in itertools.product(range(3), range(3)):
        padded += np.einsum("nhwc,fc->nhwf", image.data[:, y:y + 8, x:x + 8], weights.data[:, y, x])
    result = Tensor("f32", padded)
    return simple("linalg.winograd", [image, weights], [result], """
  %zero = arith.constant 0.0 : f32
  %fe = tensor.empty() : tensor<6x6x5x3xf32>
  %f = linalg.winograd_filter_transform fmr(F_4_3) ins(%a1 : {a1}) outs(%fe : tensor<6x6x5x3xf32>) -> tensor<6x6x5x3xf32>
  %ie = tensor.empty() : tensor<6x6x2x2x2x5xf32>
  %i = linalg.winograd_input_transform fmr(F_4_3) ins(%a0 : {a0}) outs(%ie : tensor<6x6x2x2x2x5xf32>) -> tensor<6x6x2x2x2x5xf32>
  %cf = tensor.collapse_shape %f [[0, 1], [2], [3]] : tensor<6x6x5x3xf32> into tensor<36x5x3xf32>
  %ci = tensor.collapse_shape %i [[0, 1], [2, 3, 4], [5]] : tensor<6x6x2x2x2x5xf32> into tensor<36x8x5xf32>
  %me = tensor.empty() : tensor<36x8x3xf32>
  %mz = linalg.fill ins(%zero : f32) outs(%me : tensor<36x8x3xf32>) -> tensor<36x8x3xf32>
  %m = linalg.batch_matmul ins(%ci, %cf : tensor<36x8x5xf32>, tensor<36x5x3xf32>) outs(%mz : tensor<36x8x3xf32>) -> tensor<36x8x3xf32>
  %x = tensor.expand_shape %m [[0, 1], [2, 3, 4], [5]] output_shape [6, 6, 2, 2, 2, 3] : tensor<36x8x3xf32> into tensor<6x6x2x2x2x3xf32>
  %oe = tensor.empty() : {r0}
  %oz = linalg.fill ins(%zero : f32) outs(%oe : {r0}) -> {r0}
  %r0 = linalg.winograd_output_transform fmr(F_4_3) ins(%x : tensor<6x6x2x2x2x3xf32>) outs(%oz : {r0}) -> {r0}""", units=256)


def cases():
    random = Random(2)
    yield from elementwise(random)
    yield from contractions(random)
    yield from forms(random)
