"""Operations of the tensor dialect, over element types, ranks 0 to 6, and sizes 0 and 1."""

import itertools

import numpy as np

from breadth.case import Case, Random, Tensor, simple

KINDS = ["f64", "f32", "f16", "bf16", "f8E4M3FN", "i1", "i8", "i16", "i32", "i64", "index"]


def sizes_of(name, rank, stem):
    """Lines that bind %STEM0, %STEM1, ... to the sizes of `name`, whose type is {NAME}."""
    return "".join(f"  %{stem}c{d} = arith.constant {d} : index\n  %{stem}{d} = tensor.dim %{name}, %{stem}c{d} : {{{name}}}\n"
                   for d in range(rank))


def identity(rank):
    dims = ", ".join(f"d{i}" for i in range(rank))
    return f"affine_map<({dims}) -> ({dims})>"


def ranks(random):
    """Element-wise over ranks 0 to 6, with sizes 0 and 1, of every type."""
    for rank, kind in itertools.product(range(7), KINDS):
        shape = (3, 2, 1, 4, 2, 3)[:rank]
        if kind in ("i16", "bf16") and rank > 1:
            shape = shape[:1] + (0,) + shape[2:]
        if kind in ("f16", "i64"):
            shape = tuple(1 for _ in shape)
        dynamic = kind in ("f64", "i8", "bf16", "i64")
        a, b = random(kind, *shape, dynamic=dynamic), random(kind, *shape, dynamic=dynamic)
        float_ = kind[0] in "bf"
        operation = "arith.addf" if float_ else "arith.xori" if kind == "i1" else "arith.addi"
        expected = a.data ^ b.data if kind == "i1" else a.data + b.data
        result = Tensor(kind, expected, dynamic)
        maps = ", ".join([identity(rank)] * 3)
        iterators = ", ".join(['"parallel"'] * rank)
        sizes = ", ".join(f"%n{d}" for d in range(rank)) if dynamic else ""
        yield simple(f"tensor.empty-rank{rank}-{kind}", [a, b], [result], f"""
{sizes_of("a0", rank, "n") if dynamic else ""}
  %e = tensor.empty({sizes}) : {{r0}}
  %r0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}} ins(%a0, %a1 : {{a0}}, {{a1}}) outs(%e : {{r0}}) {{
  ^bb0(%x: {kind}, %y: {kind}, %z: {kind}):
    %v = {operation} %x, %y : {kind}
    linalg.yield %v : {kind}
  }} -> {{r0}}""")


def elements(random):
    for kind in KINDS:
        a = random(kind, 4, 5)
        b = a.data.copy()
        b[2, 4] = a.data[1, 3]
        yield simple(f"tensor.extract-insert-{kind}", [a], [Tensor(kind, b), Tensor(kind, a.data[1, 3])], f"""
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %x = tensor.extract %a0[%c1, %c3] : {{a0}}
  %r0 = tensor.insert %x into %a0[%c2, %c4] : {{a0}}
  %r1 = tensor.from_elements %x : {{r1}}""")
        s = random(kind)
        yield simple(f"tensor.splat-{kind}", [s], [Tensor(kind, np.full((3, 4), s.data))], f"""
  %x = tensor.extract %a0[] : {{a0}}
  %r0 = tensor.splat %x : {{r0}}""")
        yield simple(f"tensor.from_elements-{kind}", [a], [Tensor(kind, [[a.data[0, 0], a.data[0, 1], a.data[0, 0]]] * 2)], f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tensor.extract %a0[%c0, %c0] : {{a0}}
  %y = tensor.extract %a0[%c0, %c1] : {{a0}}
  %r0 = tensor.from_elements %x, %y, %x, %x, %y, %x : {{r0}}""")
    n = random("i8", 3, 4, dynamic=True)
    s = random("f32")
    yield simple("tensor.splat-dynamic", [n, s], [Tensor("f32", np.full((3, 4), s.data), True)],
                 sizes_of("a0", 2, "n") + """
  %x = tensor.extract %a1[] : {a1}
  %r0 = tensor.splat %x[%n0, %n1] : {r0}""")
    yield simple("tensor.dim", [n], [Tensor("index", [3, 4, 12]), Tensor("index", 2)], sizes_of("a0", 2, "n") + """
  %p = arith.muli %n0, %n1 : index
  %r0 = tensor.from_elements %n0, %n1, %p : {r0}
  %k = tensor.rank %a0 : {a0}
  %r1 = tensor.from_elements %k : {r1}""")
    a = random("f32", 4)
    yield simple("tensor.cast", [a], [a], """
  %x = tensor.cast %a0 : {a0} to tensor<?xf32>
  %r0 = tensor.cast %x : tensor<?xf32> to {r0}""")
    yield simple("tensor.bitcast", [a], [Tensor("i32", a.data.astype(np.float32).view(np.int32))],
                 "  %r0 = tensor.bitcast %a0 : {a0} to {r0}")


def slices(random):
    for dynamic in (False, True):
        end = f"-{dynamic}"
        a = random("f32", 9, 8, 7, dynamic=dynamic)
        part = a.data[1:8:2, 3, 2:6]
        out = Tensor("f32", part)
        yield simple("tensor.extract_slice" + end, [a], [out],
                     "  %r0 = tensor.extract_slice %a0[1, 3, 2] [4, 1, 4] [2, 1, 1] : {a0} to {r0}")
        whole = a.data.copy()
        b = random("f32", 4, 4)
        whole[1:8:2, 3, 2:6] = b.data
        yield simple("tensor.insert_slice" + end, [a, b], [Tensor("f32", whole, dynamic)],
                     "  %r0 = tensor.insert_slice %a1 into %a0[1, 3, 2] [4, 1, 4] [2, 1, 1] : {a1} into {a0}")
    # Offsets and sizes that the program computes.
    a, at = random("i32", 9, 8), Tensor("index", 3)
    part = a.data[3:7, 1:4]
    yield simple("tensor.extract_slice-computed", [a, at], [Tensor("i32", part)], """
  %o = tensor.extract %a1[] : {a1}
  %r0 = tensor.extract_slice %a0[%o, 1] [4, 3] [1, 1] : {a0} to {r0}""")
    whole = a.data.copy()
    whole[3:7, 1:4] = whole[0:4, 4:7]
    yield simple("tensor.insert_slice-computed", [a, at], [Tensor("i32", whole)], """
  %o = tensor.extract %a1[] : {a1}
  %n = arith.constant 4 : index
  %s = tensor.extract_slice %a0[0, 4] [%n, 3] [1, 1] : {a0} to tensor<?x3xi32>
  %r0 = tensor.insert_slice %s into %a0[%o, 1] [%n, 3] [1, 1] : tensor<?x3xi32> into {a0}""")
    for kind in KINDS:
        a, b = random(kind, 2, 3, 4), random(kind, 2, 5, 4)
        yield simple(f"tensor.concat-{kind}", [a, b], [Tensor(kind, np.concatenate([a.data, b.data, a.data], 1))],
                     "  %r0 = tensor.concat dim(1) %a0, %a1, %a0 : ({a0}, {a1}, {a0}) -> {r0}")
    a, b = random("f32", 2, 3, dynamic=True), random("f32", 4, 3, dynamic=True)
    yield simple("tensor.concat-dynamic", [a, b], [Tensor("f32", np.concatenate([a.data, b.data]), True)],
                 "  %r0 = tensor.concat dim(0) %a0, %a1 : ({a0}, {a1}) -> {r0}")


def shapes(random):
    for kind in ("f32", "i1", "i8"):
        a = random(kind, 6, 4, 5)
        yield simple(f"tensor.expand_shape-{kind}", [a], [Tensor(kind, a.data.reshape(2, 3, 4, 5, 1))],
                     "  %r0 = tensor.expand_shape %a0 [[0, 1], [2], [3, 4]] output_shape [2, 3, 4, 5, 1] : {a0} into {r0}")
        yield simple(f"tensor.collapse_shape-{kind}", [a], [Tensor(kind, a.data.reshape(24, 5))],
                     "  %r0 = tensor.collapse_shape %a0 [[0, 1], [2]] : {a0} into {r0}")
        yield simple(f"tensor.collapse_shape-all-{kind}", [a], [Tensor(kind, a.data.reshape(120))],
                     "  %r0 = tensor.collapse_shape %a0 [[0, 1, 2]] : {a0} into {r0}")
        one = random(kind, 1, 1)
        yield simple(f"tensor.collapse_shape-rank0-{kind}", [one], [Tensor(kind, one.data.reshape(()))],
                     "  %r0 = tensor.collapse_shape %a0 [] : {a0} into {r0}")
    a, b = random("f32", 6, 5, dynamic=True), Tensor("i8", np.zeros((2, 3)), True)
    yield simple("tensor.expand_shape-dynamic", [a, b], [Tensor("f32", a.data.reshape(2, 3, 5), True)],
                 sizes_of("a1", 2, "n") + """
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a0, %c1 : {a0}
  %r0 = tensor.expand_shape %a0 [[0, 1], [2]] output_shape [%n0, %n1, %m] : {a0} into {r0}""")
    c = random("f32", 2, 3, 5, dynamic=True)
    yield simple("tensor.collapse_shape-dynamic", [c], [Tensor("f32", c.data.reshape(6, 5), True)],
                 "  %r0 = tensor.collapse_shape %a0 [[0, 1], [2]] : {a0} into {r0}")
    d = random("f32", 6, 4)
    yield simple("tensor.reshape", [d], [Tensor("f32", d.data.reshape(3, 8))], """
  %s = arith.constant dense<[3, 8]> : tensor<2xindex>
  %r0 = tensor.reshape %a0(%s) : ({a0}, tensor<2xindex>) -> {r0}""")


def pads(random):
    for kind, value in [("f32", "-2.0"), ("i8", "3"), ("i1", "true")]:
        for dynamic in (False, True):
            a = random(kind, 3, 4, dynamic=dynamic)
            number = {"true": True}.get(value) or float(value)
            out = np.pad(a.data, [(1, 2), (0, 3)], constant_values=number)
            constant = value if value == "true" else f"{value} : {kind}"
            yield simple(f"tensor.pad-{kind}-{dynamic}", [a], [Tensor(kind, out, dynamic)], f"""
  %v = arith.constant {constant}
  %r0 = tensor.pad %a0 low[1, 0] high[2, 3] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %v : {kind}
  }} : {{a0}} to {{r0}}""")
    a, amount = random("f32", 3, 4, dynamic=True), Tensor("i8", np.zeros((2, 0)), True)
    i, j = np.indices((3 + 2 + 1, 4 + 0 + 1))
    out = (10.0 * i + j)
    out[2:5, 0:4] = a.data
    yield simple("tensor.pad-computed", [a, amount], [Tensor("f32", out, True)], sizes_of("a1", 2, "n") + """
  %ten = arith.constant 10 : index
  %r0 = tensor.pad %a0 low[%n0, %n1] high[1, 1] {
  ^bb0(%i: index, %j: index):
    %t = arith.muli %i, %ten : index
    %s = arith.addi %t, %j : index
    %w = arith.index_cast %s : index to i32
    %f = arith.sitofp %w : i32 to f32
    tensor.yield %f : f32
  } : {a0} to {r0}""")


def computed(random):
    """generate, gather, scatter."""
    for dynamic in (False, True):
        a = random("f32", 4, 5, dynamic=dynamic)
        i, j = np.indices((4, 5))
        extents = "%n0, %n1" if dynamic else ""
        yield simple(f"tensor.generate-{dynamic}", [a], [Tensor("f32", a.data[i, 4 - j], dynamic)],
                     sizes_of("a0", 2, "n") + f"""
  %four = arith.constant 4 : index
  %r0 = tensor.generate {extents} {{
  ^bb0(%i: index, %j: index):
    %k = arith.subi %four, %j : index
    %x = tensor.extract %a0[%i, %k] : {{a0}}
    tensor.yield %x : f32
  }} : {{r0}}""")
        # The number of coordinates is known, and so are the dimensions of size 1.
        question = "?" if dynamic else None
        table = random("f32", 6, 3, 7, dynamic=dynamic)
        rows, pairs = random("index", 4, 2, low=0, high=6, dynamic=dynamic), random("i32", 5, low=0, high=6, dynamic=dynamic)
        for kind, at, dims in [("rows", rows, [0]), ("pairs", pairs, [0, 2])]:
            coordinates = Tensor(at.kind, np.stack([at.data] * len(dims), -1))
            leading = [question or str(size) for size in at.data.shape]
            rest = [question or str(size) for d, size in enumerate(table.data.shape) if d not in dims]
            index = "tensor<" + "".join(size + "x" for size in leading) + f"{len(dims)}x{at.kind}>"
            picked = table.data[at.data] if kind == "rows" else table.data[at.data, :, at.data]
            whole = "tensor<" + "x".join(leading + rest) + "xf32>"
            yield Case(f"tensor.gather-{kind}-{dynamic}", f"""
func.func @main(%a0: {table.type()}, %a1: {index}) -> {whole} {{
  %r0 = tensor.gather %a0[%a1] gather_dims({dims}) : ({table.type()}, {index}) -> {whole}
  return %r0 : {whole}
}}""", [table, coordinates], [Tensor("f32", picked)])


def cases():
    random = Random(4)
    for family in (ranks, elements, slices, shapes, pads, computed):
        yield from family(random)
