"""Control flow on tensors, calls between functions, several results."""

import numpy as np

from breadth.case import Case, Random, Tensor, simple



def branches(random):
    for dynamic in (False, True):
        end = f"-{dynamic}"
        a, b = random("f32", 4, 5, dynamic=dynamic), random("f32", 4, 5, dynamic=dynamic)
        for value in (True, False):
            p = Tensor("i1", value)
            yield simple(f"scf.if-{value}{end}", [a, b, p], [Tensor("f32", a.data + b.data if value else a.data * b.data, dynamic)], """
  %p = tensor.extract %a2[] : {a2}
  %r0 = scf.if %p -> {r0} {
    %s = arith.addf %a0, %a1 : {a0}
    scf.yield %s : {a0}
  } else {
    %s = arith.mulf %a0, %a1 : {a0}
    scf.yield %s : {a0}
  }""")
            yield simple(f"scf.if-two-results-{value}{end}", [a, b, p],
                         [Tensor("f32", a.data if value else b.data, dynamic), Tensor("i32", 3 if value else -4)], """
  %p = tensor.extract %a2[] : {a2}
  %three = arith.constant 3 : i32
  %four = arith.constant -4 : i32
  %r0, %k = scf.if %p -> ({r0}, i32) {
    scf.yield %a0, %three : {r0}, i32
  } else {
    scf.yield %a1, %four : {r0}, i32
  }
  %r1 = tensor.from_elements %k : {r1}""")


def loops(random):
    for dynamic in (False, True):
        end = f"-{dynamic}"
        a = random("f32", 4, 5, dynamic=dynamic)
        for count in (0, 1, 6):
            n = Tensor("index", count)
            yield simple(f"scf.for-{count}{end}", [a, n], [Tensor("f32", a.data * 2.0**count, dynamic), Tensor("f32", sum(range(count)))], """
  %n = tensor.extract %a1[] : {a1}
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r0, %k = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a0, %s = %zero) -> ({r0}, f32) {
    %t = arith.addf %x, %x : {r0}
    %w = arith.index_cast %i : index to i32
    %f = arith.sitofp %w : i32 to f32
    %u = arith.addf %s, %f : f32
    scf.yield %t, %u : {r0}, f32
  }
  %r1 = tensor.from_elements %k : {r1}""")
        # A row for each iteration; the tensor that the loop carries is read in the next one.
        rows = np.cumsum(np.vstack([a.data[0] * 0, a.data]), 0)[1:]
        slice_ = "tensor<" + ("?" if dynamic else "5") + "xf32>"
        m = "%m" if dynamic else "5"
        yield simple("scf.for-rows" + end, [a], [Tensor("f32", rows, dynamic)], f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a0, %c0 : {{a0}}
  %m = tensor.dim %a0, %c1 : {{a0}}
  %r0 = scf.for %i = %c1 to %n step %c1 iter_args(%x = %a0) -> {{r0}} {{
    %j = arith.subi %i, %c1 : index
    %u = tensor.extract_slice %x[%j, 0] [1, {m}] [1, 1] : {{r0}} to {slice_}
    %v = tensor.extract_slice %x[%i, 0] [1, {m}] [1, 1] : {{r0}} to {slice_}
    %s = arith.addf %u, %v : {slice_}
    %w = tensor.insert_slice %s into %x[%i, 0] [1, {m}] [1, 1] : {slice_} into {{r0}}
    scf.yield %w : {{r0}}
  }}""")
        x = a.data
        while np.abs(x).sum() < 1000:
            x = x * 2
        yield simple("scf.while" + end, [a], [Tensor("f32", x, dynamic)], """
  %limit = arith.constant 1000.0 : f32
  %zero = arith.constant dense<0.0> : tensor<f32>
  %r0 = scf.while (%x = %a0) : ({r0}) -> {r0} {
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
        iterator_types = ["reduction", "reduction"]} ins(%x : {r0}) outs(%zero : tensor<f32>) {
    ^bb0(%e: f32, %o: f32):
      %b = math.absf %e : f32
      %t = arith.addf %b, %o : f32
      linalg.yield %t : f32
    } -> tensor<f32>
    %sum = tensor.extract %s[] : tensor<f32>
    %more = arith.cmpf olt, %sum, %limit : f32
    scf.condition(%more) %x : {r0}
  } do {
  ^bb0(%x: {r0}):
    %t = arith.addf %x, %x : {r0}
    scf.yield %t : {r0}
  }""")
        # Nested: a loop in a branch in a loop.
        expected = a.data
        for i in range(4):
            expected = expected * 8 if i % 2 else expected - a.data
        yield simple("scf.nested" + end, [a], [Tensor("f32", expected, dynamic)], """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %r0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %a0) -> {r0} {
    %b = arith.remui %i, %c2 : index
    %odd = arith.cmpi eq, %b, %c1 : index
    %v = scf.if %odd -> {r0} {
      %w = scf.for %j = %c0 to %c3 step %c1 iter_args(%y = %x) -> {r0} {
        %z = arith.addf %y, %y : {r0}
        scf.yield %z : {r0}
      }
      scf.yield %w : {r0}
    } else {
      %w = arith.subf %x, %a0 : {r0}
      scf.yield %w : {r0}
    }
    scf.yield %v : {r0}
  }""")
    a = random("f32", 6, 8)
    yield simple("scf.forall", [a], [Tensor("f32", -a.data)], """
  %e = tensor.empty() : {r0}
  %r0 = scf.forall (%i, %j) = (0, 0) to (6, 8) step (3, 4) shared_outs(%o = %e) -> {r0} {
    %s = tensor.extract_slice %a0[%i, %j] [3, 4] [1, 1] : {a0} to tensor<3x4xf32>
    %d = tensor.extract_slice %o[%i, %j] [3, 4] [1, 1] : {r0} to tensor<3x4xf32>
    %n = linalg.negf ins(%s : tensor<3x4xf32>) outs(%d : tensor<3x4xf32>) -> tensor<3x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %n into %o[%i, %j] [3, 4] [1, 1] : tensor<3x4xf32> into {r0}
    }
  }""")
    k = Tensor("index", 2)
    yield simple("scf.index_switch", [a, k], [Tensor("f32", a.data * a.data)], """
  %k = tensor.extract %a1[] : {a1}
  %r0 = scf.index_switch %k -> {r0}
  case 1 {
    %s = arith.addf %a0, %a0 : {r0}
    scf.yield %s : {r0}
  }
  case 2 {
    %s = arith.mulf %a0, %a0 : {r0}
    scf.yield %s : {r0}
  }
  default {
    scf.yield %a0 : {r0}
  }""")


def blocks(random):
    """Branches between blocks, with and without a loop, and an assertion that holds."""
    for dynamic in (False, True):
        a = random("f32", 4, 5, dynamic=dynamic)
        t = a.type()
        for value in (True, False):
            p = Tensor("i1", value)
            yield Case(f"cf.cond_br-{value}-{dynamic}", f"""
func.func @main(%a0: {t}, %p: i1) -> {t} {{
  cf.cond_br %p, ^twice, ^end(%a0 : {t})
^twice:
  %x = arith.addf %a0, %a0 : {t}
  cf.br ^end(%x : {t})
^end(%r: {t}):
  return %r : {t}
}}""", [a, p], [Tensor("f32", a.data * (2 if value else 1), dynamic)])
        n = Tensor("index", 3)
        yield Case(f"cf.br-loop-{dynamic}", f"""
func.func @main(%a0: {t}, %n: index) -> {t} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^head(%c0, %a0 : index, {t})
^head(%i: index, %x: {t}):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^end
^body:
  %y = arith.mulf %x, %a0 : {t}
  %j = arith.addi %i, %c1 : index
  cf.br ^head(%j, %y : index, {t})
^end:
  %ran = arith.cmpi sgt, %i, %c0 : index
  cf.assert %ran, "the loop ran"
  return %x : {t}
}}""", [a, n], [Tensor("f32", a.data**4, dynamic)])


def calls(random):
    for dynamic in (False, True):
        a, b = random("f32", 4, 5, dynamic=dynamic), random("f32", 4, 5, dynamic=dynamic)
        t = a.type()
        yield Case(f"func.call-{dynamic}", f"""
func.func private @both(%x: {t}, %y: {t}) -> ({t}, {t}) {{
  %s = arith.addf %x, %y : {t}
  %d = call @minus(%x, %y) : ({t}, {t}) -> {t}
  return %s, %d : {t}, {t}
}}
func.func private @minus(%x: {t}, %y: {t}) -> {t} {{
  %d = arith.subf %x, %y : {t}
  return %d : {t}
}}
func.func @main(%a0: {t}, %a1: {t}) -> ({t}, {t}, {t}, {t}) {{
  %s, %d = call @both(%a0, %a1) : ({t}, {t}) -> ({t}, {t})
  %u, %v = call @both(%d, %s) : ({t}, {t}) -> ({t}, {t})
  return %s, %d, %u, %a0 : {t}, {t}, {t}, {t}
}}""", [a, b], [Tensor("f32", x, dynamic) for x in (a.data + b.data, a.data - b.data, 2 * a.data, a.data)])
    # A private function that calls itself stays a function.
    a = random("f32", 4, 5)
    t = a.type()
    yield Case("func.call-recursive", f"""
func.func private @twice(%n: index, %x: {t}) -> {t} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %done = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %done -> {t} {{
    scf.yield %x : {t}
  }} else {{
    %m = arith.subi %n, %c1 : index
    %y = arith.addf %x, %x : {t}
    %z = func.call @twice(%m, %y) : (index, {t}) -> {t}
    scf.yield %z : {t}
  }}
  return %r : {t}
}}
func.func @main(%a0: {t}) -> {t} {{
  %c5 = arith.constant 5 : index
  %r = call @twice(%c5, %a0) : (index, {t}) -> {t}
  return %r : {t}
}}""", [a], [Tensor("f32", a.data * 32)])
    # The same result twice, an argument as a result, scalars as arguments and results.
    s = random("f64")
    yield Case("func.results", f"""
func.func @main(%a0: {t}, %a1: f64) -> ({t}, {t}, {t}, f64, i1) {{
  %r = arith.mulf %a0, %a0 : {t}
  %zero = arith.constant 0.0 : f64
  %p = arith.cmpf ogt, %a1, %zero : f64
  return %r, %r, %a0, %a1, %p : {t}, {t}, {t}, f64, i1
}}""", [a, s], [Tensor("f32", a.data**2), Tensor("f32", a.data**2), a, s, Tensor("i1", s.data > 0)])


def cases():
    random = Random(5)
    for family in (branches, loops, blocks, calls):
        yield from family(random)
