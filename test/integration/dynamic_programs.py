# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs any of whose sizes are dynamic: what the tests of dynamic sizes share."""

#: Of each element type: that of its sums, and the operations on them.
WORDS = {"f32": ("f32", "arith.mulf", "arith.addf", "arith.maximumf", None),
         "bf16": ("f32", "arith.mulf", "arith.addf", "arith.maximumf", "arith.extf"),
         "i8": ("i32", "arith.muli", "arith.addi", "arith.maxsi", "arith.extsi")}

#: All sets of dynamic sizes of a product.
SUBSETS = ["m", "n", "k", "mn", "mk", "nk", "mnk"]


def product(kind, m, n, k, dynamic="", trans_a=False, trans_b=False, force=""):
    """relu(A B + bias) + residual; the sizes in `dynamic` are not known when it is compiled."""
    sums, mul, add, largest, widen = WORDS[kind]
    extents = {name: "?" if name in dynamic else size for name, size in (("m", m), ("n", n), ("k", k))}
    in_a, in_b = "km" if trans_a else "mk", "nk" if trans_b else "kn"
    tensor = lambda dims, element: "tensor<" + "".join(f"{extents[dim]}x" for dim in dims) + f"{element}>"
    a, b, c, bias = tensor(in_a, kind), tensor(in_b, kind), tensor("mn", sums), tensor("n", sums)
    zero = "0.0" if kind[0] != "i" else "0"
    known = [f"  %{name} = tensor.dim {of}, %c{dims.index(name)} : {type_}\n"
             for name, of, dims, type_ in (("m", "%A", in_a, a), ("n", "%B", in_b, b)) if name in dynamic]
    empty = ", ".join(f"%{name}" for name in "mn" if name in dynamic)
    widened = "" if widen is None else f"""    %x = {widen} %a : {kind} to {sums}
    %y = {widen} %b : {kind} to {sums}
"""
    factors = "%a, %b" if widen is None else "%x, %y"
    maps = [f"affine_map<(i, j, l) -> ({', '.join(dims.replace('m', 'i').replace('n', 'j').replace('k', 'l'))})>"
            for dims in (in_a, in_b, "mn")]
    return f"""#ij = affine_map<(i, j) -> (i, j)>
module attributes {{tilewright.force = "{force}"}} {{
func.func @fused(%A: {a}, %B: {b}, %bias: {bias}, %residual: {c}) -> {c} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant {zero} : {sums}
{"".join(known)}  %empty = tensor.empty({empty}) : {c}
  %zeros = linalg.fill ins(%zero : {sums}) outs(%empty : {c}) -> {c}
  %product = linalg.generic {{indexing_maps = [{", ".join(maps)}],
                             iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%A, %B : {a}, {b}) outs(%zeros : {c}) {{
  ^bb0(%a: {kind}, %b: {kind}, %o: {sums}):
{widened}    %p = {mul} {factors} : {sums}
    %s = {add} %o, %p : {sums}
    linalg.yield %s : {sums}
  }} -> {c}
  %result = linalg.generic {{indexing_maps = [#ij, affine_map<(i, j) -> (j)>, #ij, #ij],
                            iterator_types = ["parallel", "parallel"]}}
      ins(%product, %bias, %residual : {c}, {bias}, {c}) outs(%empty : {c}) {{
  ^bb0(%p: {sums}, %b: {sums}, %r: {sums}, %o: {sums}):
    %s = {add} %p, %b : {sums}
    %t = {largest} %s, %zero : {sums}
    %u = {add} %t, %r : {sums}
    linalg.yield %u : {sums}
  }} -> {c}
  return %result : {c}
}}
}}
"""


def softmax(rows, length, dynamic=""):
    """Soft-max along rows; "r" and "l" in `dynamic`: their number and length are not known when it is compiled."""
    matrix = f"tensor<{'?' if 'r' in dynamic else rows}x{'?' if 'l' in dynamic else length}xf32>"
    names = [f"%{name}" for name, letter in (("rows", "r"), ("length", "l")) if letter in dynamic]
    return f"""func.func @softmax(%x: {matrix}) -> {matrix} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : {matrix}
  %length = tensor.dim %x, %c1 : {matrix}
  %e = tensor.empty({", ".join(names)}) : {matrix}
  %r = linalg.softmax dimension(1) ins(%x : {matrix}) outs(%e : {matrix}) -> {matrix}
  return %r : {matrix}
}}
"""


def layer_norm(rows, length, dynamic=""):
    """(x - mean) / sqrt(variance + 1e-5) along rows, with sums of squares of differences."""
    matrix = f"tensor<{'?' if 'r' in dynamic else rows}x{'?' if 'l' in dynamic else length}xf32>"
    row = f"tensor<{'?' if 'r' in dynamic else rows}xf32>"
    names = [f"%{name}" for name, letter in (("rows", "r"), ("length", "l")) if letter in dynamic]
    count = ["%rows"] if "r" in dynamic else []
    maps = "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>"
    return f"""func.func @norm(%x: {matrix}) -> {matrix} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %epsilon = arith.constant 1.0e-5 : f32
  %rows = tensor.dim %x, %c0 : {matrix}
  %length = tensor.dim %x, %c1 : {matrix}
  %integer = arith.index_cast %length : index to i64
  %count = arith.sitofp %integer : i64 to f32
  %empty = tensor.empty({", ".join(count)}) : {row}
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : {row}) -> {row}
  %sum = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "reduction"]}}
      ins(%x : {matrix}) outs(%zeros : {row}) {{
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }} -> {row}
  %squares = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                             affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
      ins(%x, %sum : {matrix}, {row}) outs(%zeros : {row}) {{
  ^bb0(%a: f32, %t: f32, %o: f32):
    %mean = arith.divf %t, %count : f32
    %d = arith.subf %a, %mean : f32
    %q = arith.mulf %d, %d : f32
    %s = arith.addf %o, %q : f32
    linalg.yield %s : f32
  }} -> {row}
  %e = tensor.empty({", ".join(names)}) : {matrix}
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                       affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %sum, %squares : {matrix}, {row}, {row}) outs(%e : {matrix}) {{
  ^bb0(%a: f32, %t: f32, %q: f32, %o: f32):
    %mean = arith.divf %t, %count : f32
    %d = arith.subf %a, %mean : f32
    %v = arith.divf %q, %count : f32
    %w = arith.addf %v, %epsilon : f32
    %i = math.rsqrt %w : f32
    %n = arith.mulf %d, %i : f32
    linalg.yield %n : f32
  }} -> {matrix}
  return %r : {matrix}
}}
"""


def sizes_of(order, dynamic, **sizes):
    """The option with the dynamic sizes among `order`, which is that of their first appearance; none if there is none."""
    values = [str(sizes[name]) for name in dict.fromkeys(order) if name in dynamic]
    return [f"--sizes={','.join(values)}"] if values else []
