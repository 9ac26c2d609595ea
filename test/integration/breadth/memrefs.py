"""Programs on memrefs: parallel loops with reductions, vectors of memory, memory of the stack, atomic updates, globals, and
arrays of integers with a sign. Arrays that a program writes are arguments first and outputs then."""

import numpy as np

from breadth.case import Case, Random, Tensor


def program(name, arguments, expected, body, prefix="", **words):
    """A case of `main`, whose arguments %a0, %a1, .. are memrefs; `expected`: {index: data} of those that it writes."""
    types = [t.type().replace("tensor", "memref") for t in arguments]
    signature = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    for i, t in enumerate(types):
        body = body.replace(f"{{a{i}}}", t)
    text = f"{prefix}func.func @main({signature}) {{\n{CONSTANTS}{body}\n  return\n}}\n"
    outputs = [Tensor(arguments[i].kind, data, arguments[i].dynamic) for i, data in sorted(expected.items())]
    return Case(name, text, arguments, outputs, **words)


CONSTANTS = "".join(f"  %c{i} = arith.constant {i} : index\n" for i in (0, 1, 2, 3, 5, 8)) + "  %zero = arith.constant 0.0 : f32\n"


def parallel(random):
    for rows in (1, 37, 3001):  # lanes of one block, of several, several iterations a lane
        a = random("f32", rows, 3, dynamic=True)
        total = Tensor("f32", 0.0)
        yield program(f"scf.parallel-sum-{rows}", [a, total], {1: a.data.sum() + 1}, """
  %n = memref.dim %a0, %c0 : {a0}
  %init = arith.constant 1.0 : f32
  %s = scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c3) step (%c1, %c1) init (%init) -> f32 {
    %v = memref.load %a0[%i, %j] : {a0}
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      %t = arith.addf %x, %y : f32
      scf.reduce.return %t : f32
    }
  }
  memref.store %s, %a1[] : {a1}""", units=64)
    a = random("i32", 2600)
    most, count = Tensor("i32", 0), Tensor("index", 0)
    yield program("scf.parallel-two", [a, most, count], {1: a.data[5::2].max(), 2: int((a.data[5::2] > 0).sum())}, """
  %end = arith.constant 2600 : index
  %least = arith.constant -100 : i32
  %none = arith.constant 0 : i32
  %m, %k = scf.parallel (%i) = (%c5) to (%end) step (%c2) init (%least, %c0) -> (i32, index) {
    %v = memref.load %a0[%i] : {a0}
    %p = arith.cmpi sgt, %v, %none : i32
    %one = arith.select %p, %c1, %c0 : index
    scf.reduce(%v, %one : i32, index) {
    ^bb0(%x: i32, %y: i32):
      %t = arith.maxsi %x, %y : i32
      scf.reduce.return %t : i32
    }, {
    ^bb0(%x: index, %y: index):
      %t = arith.addi %x, %y : index
      scf.reduce.return %t : index
    }
  }
  memref.store %m, %a1[] : {a1}
  memref.store %k, %a2[] : {a2}""")
    # A sum in each iteration of another loop, whose bounds are data; the last of them is empty.
    a, sums = random("f32", 40, 33), Tensor("f32", np.zeros(40))
    n = Tensor("index", 8)
    expected = np.array([a.data[i, 3:max(3, 8 - i % 8)].sum() for i in range(40)])
    yield program("scf.parallel-rows", [a, n, sums], {2: expected}, """
  %end = arith.constant 40 : index
  %n = memref.load %a1[] : {a1}
  scf.parallel (%i) = (%c0) to (%end) step (%c1) {
    %less = arith.remui %i, %n : index
    %to = arith.subi %n, %less : index
    %s = scf.parallel (%j) = (%c3) to (%to) step (%c1) init (%zero) -> f32 {
      %v = memref.load %a0[%i, %j] : {a0}
      scf.reduce(%v : f32) {
      ^bb0(%x: f32, %y: f32):
        %t = arith.addf %x, %y : f32
        scf.reduce.return %t : f32
      }
    }
    memref.store %s, %a2[%i] : {a2}
    scf.reduce
  }""")
    kept = random("f32", 8)
    yield program("scf.parallel-empty", [n, kept, Tensor("f32", 5.0)], {1: kept.data, 2: 0.5}, """
  %n = memref.load %a0[] : {a0}
  %to = arith.subi %c2, %n : index
  %half = arith.constant 0.5 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%to, %to) step (%c1, %c1) {
    memref.store %zero, %a1[%i] : {a1}
    scf.reduce
  }
  %s = scf.parallel (%i) = (%c0) to (%to) step (%c1) init (%half) -> f32 {
    scf.reduce(%zero : f32) {
    ^bb0(%x: f32, %y: f32):
      %t = arith.mulf %x, %y : f32
      scf.reduce.return %t : f32
    }
  }
  memref.store %s, %a2[] : {a2}""")
    # A host loop around parallel ones: each reads what the one before has written.
    a = random("f32", 6, 7)
    x = a.data
    for _ in range(3):
        x = x + np.roll(x, 1, 0)
    yield program("scf.parallel-steps", [a, Tensor("f32", np.zeros((6, 7)))], {0: x, 1: x}, """
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  scf.for %k = %c0 to %c3 step %c1 {
    scf.parallel (%i, %j) = (%c0, %c0) to (%c6, %c7) step (%c1, %c1) {
      %b = arith.addi %i, %c5 : index
      %u = arith.remui %b, %c6 : index
      %v = memref.load %a0[%i, %j] : {a0}
      %w = memref.load %a0[%u, %j] : {a0}
      %s = arith.addf %v, %w : f32
      memref.store %s, %a1[%i, %j] : {a1}
      scf.reduce
    }
    memref.copy %a1, %a0 : {a1} to {a0}
  }""")
    a = random("f32", 9, 5)
    yield program("affine.parallel", [a, Tensor("f32", np.zeros((9, 5))), Tensor("f32", 0.0)],
                  {1: a.data * 2, 2: a.data.max()}, """
  affine.parallel (%i, %j) = (0, 0) to (9, 5) {
    %v = affine.load %a0[%i, %j] : {a0}
    %w = arith.addf %v, %v : f32
    affine.store %w, %a1[%i, %j] : {a1}
  }
  %s = affine.parallel (%i, %j) = (0, 0) to (9, 5) reduce ("maximumf") -> (f32) {
    %v = affine.load %a0[%i, %j] : {a0}
    affine.yield %v : f32
  }
  affine.store %s, %a2[] : {a2}""")


def vectors(random):
    a, b = random("f32", 21), Tensor("f32", np.zeros(21))
    # The last vector goes beyond the end.
    yield program("vector.transfer_read", [a, b], {1: a.data * 2}, """
  %end = arith.constant 21 : index
  scf.for %i = %c0 to %end step %c8 {
    %v = vector.transfer_read %a0[%i], %zero : {a0}, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    vector.transfer_write %w, %a1[%i] : vector<8xf32>, {a1}
  }""")
    a, s = random("f32", 4, 16), Tensor("f32", np.zeros(4))
    yield program("vector.load-in-parallel", [a, s], {1: (a.data**2).sum(1)}, """
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %none = arith.constant dense<0.0> : vector<8xf32>
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %sums = scf.for %j = %c0 to %c16 step %c8 iter_args(%acc = %none) -> vector<8xf32> {
      %v = vector.load %a0[%i, %j] : {a0}, vector<8xf32>
      %w = vector.fma %v, %v, %acc : vector<8xf32>
      scf.yield %w : vector<8xf32>
    }
    %s = vector.reduction <add>, %sums : vector<8xf32> into f32
    memref.store %s, %a1[%i] : {a1}
    scf.reduce
  }""", units=16)
    # A vector that the host carries around launches.
    yield program("vector.carried", [a, s], {1: np.full(4, a.data[:, :8].sum())}, """
  %c4 = arith.constant 4 : index
  %none = arith.constant dense<0.0> : vector<8xf32>
  %sums = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %none) -> vector<8xf32> {
    %v = vector.load %a0[%i, %c0] : {a0}, vector<8xf32>
    %w = arith.addf %v, %acc : vector<8xf32>
    linalg.fill ins(%zero : f32) outs(%a1 : {a1})
    scf.yield %w : vector<8xf32>
  }
  %s = vector.reduction <add>, %sums : vector<8xf32> into f32
  linalg.fill ins(%s : f32) outs(%a1 : {a1})""", units=64)
    index = Tensor("i32", [3, 0, 7, 7, 1, 5, 2, 6])
    a, b = random("f32", 8), random("f32", 8)
    mask = np.arange(8) < 5
    yield program("vector.gather", [a, index, b], {2: np.where(mask, a.data[index.data], b.data)}, """
  %pad = arith.constant dense<0.0> : vector<8xf32>
  %m = vector.create_mask %c5 : vector<8xi1>
  %ix = vector.load %a1[%c0] : {a1}, vector<8xi32>
  %v = vector.gather %a0[%c0] [%ix], %m, %pad : {a0}, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.maskedstore %a2[%c0], %m, %v : {a2}, vector<8xi1>, vector<8xf32>""")
    kept = np.concatenate([a.data[a.data > 0], b.data[(a.data > 0).sum():]])
    yield program("vector.compressstore", [a, b], {1: kept}, """
  %none = arith.constant dense<0.0> : vector<8xf32>
  %v = vector.load %a0[%c0] : {a0}, vector<8xf32>
  %m = arith.cmpf ogt, %v, %none : vector<8xf32>
  vector.compressstore %a1[%c0], %m, %v : {a1}, vector<8xi1>, vector<8xf32>""")
    m = random("f32", 5, 8)
    column = np.zeros(8)
    column[:3] = m.data[2:5, 1]
    yield program("vector.transfer-boxes", [m, Tensor("f32", np.zeros((8, 4))), Tensor("f32", np.zeros(8))],
                  {1: m.data[:4].T, 2: column}, """
  %v = vector.transfer_read %a0[%c0, %c0], %zero : {a0}, vector<4x8xf32>
  %t = vector.transpose %v, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
  vector.transfer_write %t, %a1[%c0, %c0] : vector<8x4xf32>, {a1}
  %w = vector.transfer_read %a0[%c2, %c1], %zero {permutation_map = affine_map<(d0, d1) -> (d0)>} : {a0}, vector<8xf32>
  vector.store %w, %a2[%c0] : {a2}, vector<8xf32>""")
    x, y, z = random("f32", 4, 8), random("f32", 8, 4), random("f32", 4, 4)
    yield program("vector.contract", [x, y, z], {2: z.data + x.data @ y.data}, """
  %x = vector.transfer_read %a0[%c0, %c0], %zero : {a0}, vector<4x8xf32>
  %y = vector.load %a1[%c0, %c0] : {a1}, vector<8x4xf32>
  %z = vector.transfer_read %a2[%c0, %c0], %zero {in_bounds = [true, true]} : {a2}, vector<4x4xf32>
  %r = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %z : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
  vector.store %r, %a2[%c0, %c0] : {a2}, vector<4x4xf32>""", units=32)
    flags = Tensor("i1", a.data > 0)
    yield program("vector.mask", [a, b, Tensor("i1", np.zeros(8))], {1: np.where(mask, a.data, b.data), 2: flags.data}, """
  %none = arith.constant dense<0.0> : vector<8xf32>
  %m = vector.create_mask %c5 : vector<8xi1>
  %v = vector.mask %m { vector.transfer_read %a0[%c0], %zero {in_bounds = [true]} : {a0}, vector<8xf32> } : vector<8xi1> -> vector<8xf32>
  vector.mask %m { vector.transfer_write %v, %a1[%c0] {in_bounds = [true]} : vector<8xf32>, {a1} } : vector<8xi1>
  %w = vector.load %a0[%c0] : {a0}, vector<8xf32>
  %p = arith.cmpf ogt, %w, %none : vector<8xf32>
  vector.store %p, %a2[%c0] : {a2}, vector<8xi1>""")
    t = m.type()
    yield Case("vector.tensors", f"""
func.func @main(%a0: {t}) -> {t} {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {t}
  %v = vector.transfer_read %a0[%c0, %c0], %zero : {t}, vector<5x8xf32>
  %w = arith.addf %v, %v : vector<5x8xf32>
  %r = vector.transfer_write %w, %e[%c0, %c0] : vector<5x8xf32>, {t}
  return %r : {t}
}}""", [m], [Tensor("f32", m.data * 2)])
    yield program("affine.vector_load", [a, b], {1: -a.data}, """
  affine.for %i = 0 to 8 step 4 {
    %v = affine.vector_load %a0[%i] : {a0}, vector<4xf32>
    %w = arith.negf %v : vector<4xf32>
    affine.vector_store %w, %a1[%i] : {a1}, vector<4xf32>
  }""")


def memory(random):
    a, s = random("f32", 6, 5), Tensor("f32", np.zeros(6))
    yield program("memref.alloca", [a, s], {1: a.data.sum(1)}, """
  affine.for %i = 0 to 6 {
    memref.alloca_scope {
      %sum = memref.alloca() : memref<f32>
      memref.store %zero, %sum[] : memref<f32>
      affine.for %j = 0 to 5 {
        memref.prefetch %a1[%i], write, locality<3>, data : {a1}
        %v = memref.load %a0[%i, %j] : {a0}
        %t = memref.load %sum[] : memref<f32>
        %u = arith.addf %v, %t : f32
        memref.store %u, %sum[] : memref<f32>
      }
      %r = memref.load %sum[] : memref<f32>
      memref.store %r, %a1[%i] : {a1}
    }
  }""")
    a, h = random("i32", 100, low=0, high=8), Tensor("i32", np.zeros(8))
    yield program("memref.atomic_rmw", [a, h], {1: np.bincount(a.data, minlength=8)}, """
  %end = arith.constant 100 : index
  %one = arith.constant 1 : i32
  scf.parallel (%i) = (%c0) to (%end) step (%c1) {
    %v = memref.load %a0[%i] : {a0}
    %k = arith.index_cast %v : i32 to index
    %old = memref.atomic_rmw addi %one, %a1[%k] : (i32, {a1}) -> i32
    scf.reduce
  }""")
    yield program("memref.generic_atomic_rmw", [a, Tensor("i32", -1)], {1: a.data.max()}, """
  %end = arith.constant 100 : index
  scf.for %i = %c0 to %end step %c1 {
    %v = memref.load %a0[%i] : {a0}
    %old = memref.generic_atomic_rmw %a1[] : {a1} {
    ^bb0(%x: i32):
      %m = arith.maxsi %x, %v : i32
      memref.atomic_yield %m : i32
    }
  }""")
    d = random("f32", 4, 3, dynamic=True)
    for k in (0, 1):
        yield program(f"memref.dim-{k}", [d, Tensor("index", k), Tensor("index", 0)], {2: (4, 3)[k]}, """
  %k = memref.load %a1[] : {a1}
  %n = memref.dim %a0, %k : {a0}
  memref.store %n, %a2[] : {a2}""")
    yield program("memref.realloc", [random("f32", 8), Tensor("f32", np.zeros(8))], {1: np.full(8, 3.0)}, """
  %b = memref.alloc(%c5) : memref<?xf32>
  %three = arith.constant 3.0 : f32
  linalg.fill ins(%three : f32) outs(%b : memref<?xf32>)
  %c = memref.realloc %b(%c8) : memref<?xf32> to memref<?xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %in = arith.cmpi slt, %i, %c5 : index
    %k = arith.select %in, %i, %c0 : index
    %v = memref.load %c[%k] : memref<?xf32>
    memref.store %v, %a1[%i] : {a1}
  }
  memref.dealloc %c : memref<?xf32>""")
    a = random("f32", 8)
    # What a program keeps: one buffer without a value, one whose value the call changes; two names of one.
    yield program("memref.global-written", [a, Tensor("f32", np.zeros(8)), Tensor("i64", 0)], {1: a.data * 2, 2: 6}, """
  %b = memref.get_global @buffer : memref<8xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %a0[%i] : {a0}
    %w = arith.addf %v, %v : f32
    memref.store %w, %b[%i] : memref<8xf32>
  }
  %same = memref.get_global @buffer : memref<8xf32>
  memref.copy %same, %a1 : memref<8xf32> to {a1}
  %n = memref.get_global @count : memref<i64>
  %k = memref.load %n[] : memref<i64>
  %one = arith.constant 1 : i64
  %l = arith.addi %k, %one : i64
  memref.store %l, %n[] : memref<i64>
  %again = memref.load %n[] : memref<i64>
  memref.store %again, %a2[] : {a2}""", prefix="""
memref.global "private" @buffer : memref<8xf32> = uninitialized
memref.global "private" @count : memref<i64> = dense<5>
""")
    yield program("cf.assert-in-loop", [a, Tensor("f32", np.zeros(8))], {1: -a.data}, """
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %a0[%i] : {a0}
    %number = arith.cmpf ord, %v, %v : f32
    cf.assert %number, "a number"
    %w = arith.negf %v : f32
    memref.store %w, %a1[%i] : {a1}
  }""")


def signs(random):
    """Types with a sign: bits that are moved, and what the program says of them."""
    for kind in ("ui8", "si16", "ui32"):
        a = random(kind, 5, 7, low=0, high=100)
        t = a.type()
        yield Case(f"signs-move-{kind}", f"""
func.func @main(%a0: {t}, %n: index) -> (tensor<7x5x{kind}>, tensor<10x7x{kind}>, {kind}) {{
  %e = tensor.empty() : tensor<7x5x{kind}>
  %r = linalg.transpose ins(%a0 : {t}) outs(%e : tensor<7x5x{kind}>) permutation = [1, 0]
  %c = tensor.concat dim(0) %a0, %a0 : ({t}, {t}) -> tensor<10x7x{kind}>
  %x = tensor.extract %a0[%n, %n] : {t}
  return %r, %c, %x : tensor<7x5x{kind}>, tensor<10x7x{kind}>, {kind}
}}""", [a, Tensor("index", 3)], [Tensor(kind, a.data.T), Tensor(kind, np.vstack([a.data, a.data])), Tensor(kind, a.data[3, 3])])
    a = random("ui8", 5, 7, low=0, high=256)
    shifted = np.round(a.data.astype(np.float64) - 128)
    yield Case("signs-rescale", f"""
func.func @main(%a0: {a.type()}) -> (tensor<5x7xi8>, tensor<5x7xui8>) {{
  %m = "tosa.const"() <{{values = dense<1073741824> : tensor<1xi32>}}> : () -> tensor<1xi32>
  %s = "tosa.const"() <{{values = dense<30> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %u = "tosa.const"() <{{values = dense<128> : tensor<1xui8>}}> : () -> tensor<1xui8>
  %z = "tosa.const"() <{{values = dense<0> : tensor<1xi8>}}> : () -> tensor<1xi8>
  %r = tosa.rescale %a0, %m, %s, %u, %z {{scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = true, output_unsigned = false}} : ({a.type()}, tensor<1xi32>, tensor<1xi8>, tensor<1xui8>, tensor<1xi8>) -> tensor<5x7xi8>
  %t = tosa.rescale %r, %m, %s, %z, %u {{scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = true}} : (tensor<5x7xi8>, tensor<1xi32>, tensor<1xi8>, tensor<1xi8>, tensor<1xui8>) -> tensor<5x7xui8>
  return %r, %t : tensor<5x7xi8>, tensor<5x7xui8>
}}""", [a], [Tensor("i8", shifted), Tensor("ui8", a.data)])


def cases():
    random = Random(8)
    for family in (parallel, vectors, memory, signs):
        yield from family(random)
