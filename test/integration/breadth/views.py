"""Programs on memrefs whose memory has two types, or whose elements are no numbers: arrays of vectors, vectors without dimensions
that loops hand on; loops and hints that hosts of launches have no steps for."""

import numpy as np

from breadth.case import Random, Tensor
from breadth.memrefs import program


def vectors(random):
    a, b = random("f32", 16), Tensor("f32", np.zeros(4))
    yield program("vector-elements-parallel", [a, b], {1: a.data.reshape(4, 4).sum(1)}, """
  %end = arith.constant 4 : index
  %m = memref.alloc() : memref<4xvector<4xf32>>
  scf.parallel (%j) = (%c0) to (%end) step (%c1) {
    %k = arith.muli %j, %end : index
    %x = vector.load %a0[%k] : {a0}, vector<4xf32>
    memref.store %x, %m[%j] : memref<4xvector<4xf32>>
  }
  scf.parallel (%j) = (%c0) to (%end) step (%c1) {
    %x = memref.load %m[%j] : memref<4xvector<4xf32>>
    %s = vector.reduction <add>, %x : vector<4xf32> into f32
    memref.store %s, %a1[%j] : {a1}
  }
  memref.dealloc %m : memref<4xvector<4xf32>>""")
    # Accumulators of a tile on the stack, with views of them, in affine loops; flags and halves.
    a, b = random("f32", 6, 4), Tensor("f32", np.zeros((3, 4)))
    yield program("vector-elements-affine", [a, b], {1: a.data[:3] + a.data[3:]}, """
  %none = arith.constant dense<0.0> : vector<4xf32>
  %sums = memref.alloca() : memref<2x3xvector<4xf32>>
  affine.for %h = 0 to 2 {
    affine.for %i = 0 to 3 {
      affine.store %none, %sums[%h, %i] : memref<2x3xvector<4xf32>>
      %x = affine.vector_load %a0[3 * %h + %i, 0] : {a0}, vector<4xf32>
      %s = affine.load %sums[%h, %i] : memref<2x3xvector<4xf32>>
      %t = arith.addf %s, %x : vector<4xf32>
      affine.store %t, %sums[%h, %i] : memref<2x3xvector<4xf32>>
    }
  }
  %second = memref.subview %sums[1, 0] [1, 3] [1, 1] : memref<2x3xvector<4xf32>> to memref<3xvector<4xf32>, strided<[1], offset: 3>>
  affine.for %i = 0 to 3 {
    %x = affine.load %sums[0, %i] : memref<2x3xvector<4xf32>>
    %y = affine.load %second[%i] : memref<3xvector<4xf32>, strided<[1], offset: 3>>
    %z = arith.addf %x, %y : vector<4xf32>
    affine.vector_store %z, %a1[%i, 0] : {a1}, vector<4xf32>
  }""")
    a, b = random("f16", 4, 6), Tensor("f16", np.zeros((4, 6)))
    yield program("vector-elements-boxes", [a, b], {1: np.where(a.data > 0, a.data, 0)}, """
  %end = arith.constant 4 : index
  %none = arith.constant dense<0.0> : vector<2x3xf16>
  %kept = memref.alloc(%end, %c2) : memref<?x?xvector<2x3xf16>>
  %flags = memref.alloc(%c2) : memref<?xvector<2x3xi1>>
  %p = arith.constant 0.0 : f16
  scf.for %i = %c0 to %c2 step %c1 {
    %row = arith.muli %i, %c2 : index
    %x = vector.transfer_read %a0[%row, %c3], %p : {a0}, vector<2x3xf16>
    %y = vector.transfer_read %a0[%row, %c0], %p : {a0}, vector<2x3xf16>
    memref.store %x, %kept[%c1, %i] : memref<?x?xvector<2x3xf16>>
    memref.store %y, %kept[%c0, %i] : memref<?x?xvector<2x3xf16>>
    %m = arith.cmpf ogt, %x, %none : vector<2x3xf16>
    memref.store %m, %flags[%i] : memref<?xvector<2x3xi1>>
  }
  scf.for %i = %c0 to %c2 step %c1 {
    %row = arith.muli %i, %c2 : index
    %x = memref.load %kept[%c1, %i] : memref<?x?xvector<2x3xf16>>
    %y = memref.load %kept[%c0, %i] : memref<?x?xvector<2x3xf16>>
    %m = memref.load %flags[%i] : memref<?xvector<2x3xi1>>
    %n = arith.cmpf ogt, %y, %none : vector<2x3xf16>
    %u = arith.select %m, %x, %none : vector<2x3xi1>, vector<2x3xf16>
    %v = arith.select %n, %y, %none : vector<2x3xi1>, vector<2x3xf16>
    vector.transfer_write %u, %a1[%row, %c3] : vector<2x3xf16>, {a1}
    vector.transfer_write %v, %a1[%row, %c0] : vector<2x3xf16>, {a1}
  }""")
    a = random("f32", 3, 4)
    yield program("vector.type_cast", [a, Tensor("f32", np.zeros((3, 4)))], {1: -a.data}, """
  %from = vector.type_cast %a0 : {a0} to memref<vector<3x4xf32>>
  %to = vector.type_cast %a1 : {a1} to memref<vector<3x4xf32>>
  %v = memref.load %from[] : memref<vector<3x4xf32>>
  %w = arith.negf %v : vector<3x4xf32>
  memref.store %w, %to[] : memref<vector<3x4xf32>>""")


def bytes_of(*arrays):
    """Arrays one behind the other, as bytes of an argument."""
    return Tensor("i8", np.concatenate([np.ascontiguousarray(array).view(np.int8).ravel() for array in arrays]))


def of_bytes(random):
    x, b = np.arange(1, 9, dtype=np.float32), random("f32", 8)
    twice = (b.data * 2).astype(np.float32)
    for shift in (8, 16, 3):  # a view begins at any byte
        pad, rest = np.zeros(shift, np.int8), np.zeros(20 - shift, np.int8)
        yield program(f"memref.view-{shift}", [bytes_of(pad, x, rest), b],
                      {0: bytes_of(pad, twice, rest).data, 1: x}, f"""
  %at = arith.constant {shift} : index
  %v = memref.view %a0[%at][] : {{a0}} to memref<8xf32>
  scf.parallel (%j) = (%c0) to (%c8) step (%c1) {{
    %x = memref.load %v[%j] : memref<8xf32>
    %y = memref.load %a1[%j] : {{a1}}
    %s = arith.addf %y, %y : f32
    memref.store %s, %v[%j] : memref<8xf32>
    memref.store %x, %a1[%j] : {{a1}}
  }}""")
    # One memory for several arrays of the run's sizes, with linalg on them and parts of them.
    a, b = random("f32", 37, dynamic=True), Tensor("f32", np.zeros(37), dynamic=True)
    yield program("memref.view-workspace", [a, b, Tensor("index", 0)], {1: a.data + np.arange(37) + 36, 2: 36}, """
  %n = memref.dim %a0, %c0 : {a0}
  %four = arith.constant 4 : index
  %bytes = arith.muli %n, %four : index
  %more = arith.addi %bytes, %c1 : index
  %two = arith.addi %more, %bytes : index
  %m = memref.alloc(%two) : memref<?xi8>
  %v = memref.view %m[%c0][%n] : memref<?xi8> to memref<?xf32>
  %w = memref.view %m[%more][%n] : memref<?xi8> to memref<?xi32>
  memref.copy %a0, %v : {a0} to memref<?xf32>
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %i = arith.index_cast %j : index to i32
    memref.store %i, %w[%j] : memref<?xi32>
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%v, %w : memref<?xf32>, memref<?xi32>) outs(%a1 : {a1}) {
    ^bb0(%x: f32, %i: i32, %o: f32):
      %g = arith.sitofp %i : i32 to f32
      %y = arith.addf %x, %g : f32
      linalg.yield %y : f32
  }
  %end = arith.subi %n, %c1 : index
  %tail = memref.subview %w[%end] [1] [1] : memref<?xi32> to memref<1xi32, strided<[1], offset: ?>>
  %last = memref.load %tail[%c0] : memref<1xi32, strided<[1], offset: ?>>
  %size = arith.index_cast %last : i32 to index
  %none = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %sum = scf.for %i = %c0 to %size step %c1 iter_args(%s = %none) -> f32 {
    %t = arith.addf %s, %one : f32
    scf.yield %t : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum : f32) outs(%a1 : {a1}) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.addf %x, %o : f32
      linalg.yield %y : f32
  }
  memref.store %size, %a2[] : {a2}
  memref.dealloc %m : memref<?xi8>""")
    # Products of tiles that begin at odd places; the host's loop says which.
    x, y = np.round(random("f32", 2, 8, 8).data), np.round(random("f32", 2, 8, 8).data)
    pad = np.zeros(5, np.int8)
    z = Tensor("f32", np.zeros((8, 8)))
    yield program("memref.view-products", [bytes_of(pad, x.astype(np.float32), y.astype(np.float32)), z], {1: (x @ y).sum(0)}, """
  %tile = arith.constant 256 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %place = arith.muli %i, %tile : index
    %p = arith.addi %place, %c5 : index
    %all = arith.muli %c2, %tile : index
    %q = arith.addi %p, %all : index
    %x = memref.view %a0[%p][] : {a0} to memref<8x8xf32>
    %y = memref.view %a0[%q][] : {a0} to memref<8x8xf32>
    linalg.matmul ins(%x, %y : memref<8x8xf32>, memref<8x8xf32>) outs(%a1 : {a1})
  }""")
    # Two views that overlap, of which one is written, and the bits of a float.
    a = random("f32", 8)
    flipped = -a.data
    raw = bytes_of(np.zeros(4, np.int8), flipped.astype(np.float32))
    yield program("memref.view-overlap", [Tensor("i8", np.zeros(36)), a, Tensor("i8", np.zeros(3))],
                  {0: raw.data, 1: flipped, 2: raw.data[17:20]}, """
  %four = arith.constant 4 : index
  %whole = memref.view %a0[%c0][] : {a0} to memref<9xi32>
  %floats = memref.view %a0[%four][] : {a0} to memref<8xf32>
  memref.copy %a1, %floats : {a1} to memref<8xf32>
  %sign = arith.constant 0x80000000 : i32
  scf.parallel (%j) = (%c0) to (%c8) step (%c1) {
    %k = arith.addi %j, %c1 : index
    %x = memref.load %whole[%k] : memref<9xi32>
    %y = arith.xori %x, %sign : i32
    memref.store %y, %whole[%k] : memref<9xi32>
    %z = memref.load %floats[%j] : memref<8xf32>
    memref.store %z, %a1[%j] : {a1}
  }
  scf.for %j = %c0 to %c3 step %c1 {
    %k = arith.constant 17 : index
    %l = arith.addi %j, %k : index
    %x = memref.load %a0[%l] : {a0}
    memref.store %x, %a2[%j] : {a2}
  }""")


def carried(random):
    a = random("f32", 8)
    data = a.data.copy()
    for power in (1, 2, 4):
        data[:5] += power
    yield program("vector-of-rank-0-carried", [a, Tensor("f32", 0.0), Tensor("i64", 3)], {0: data, 1: 8.0}, """
  %n = memref.load %a2[] : {a2}
  %end = arith.index_cast %n : i64 to index
  %init = arith.constant dense<1.0> : vector<f32>
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%v = %init) -> vector<f32> {
    scf.parallel (%j) = (%c0) to (%c5) step (%c1) {
      %x = memref.load %a0[%j] : {a0}
      %e = vector.extract %v[] : f32 from vector<f32>
      %y = arith.addf %x, %e : f32
      memref.store %y, %a0[%j] : {a0}
    }
    %w = arith.addf %v, %v : vector<f32>
    scf.yield %w : vector<f32>
  }
  %e = vector.extract %r[] : f32 from vector<f32>
  memref.store %e, %a1[] : {a1}""")


def past_the_end(random):
    """Loops whose last value plus the step is none of their type; bounds are constants, or in an array. One loop stands around an
    operation on arrays, which hosts of launches walk, one is arithmetic alone: both count, and add up their values."""
    x, y = random("f32", 256), Tensor("f32", np.zeros(256))
    for kind, sign, first, end, step in (("i8", "s", -128, 127, 100), ("i8", "u", 0, 255, 100), ("i16", "s", 32000, 32767, 500),
                                         ("i32", "s", 2**31 - 5, 2**31 - 1, 3), ("i32", "u", 2**32 - 5, 2**32 - 1, 3),
                                         ("i64", "u", 1, 2**63 + 5, 2**62 + 5), ("i64", "u", 2**64 - 9, 2**64 - 1, 3),
                                         ("index", "u", 1, 2**63 + 5, 2**62 + 5)):
        values = np.array(range(first, end, step), np.uint64 if first >= 0 else np.int64)
        bounds = Tensor(kind, np.array([first, end, step], values.dtype))
        to_i64 = {"index": "arith.index_cast", "i64": "arith.bitcast"}.get(kind, f"arith.ext{sign}i")
        loop = f"""{'unsigned ' * (sign == 'u')}%j = %b0 to %b1 step %b2 iter_args(%n = %none, %s = %none) -> (i64, i64) : {kind} {{
    %w = {to_i64} %j : {kind} to i64
    %m = arith.addi %n, %one : i64
    %t = arith.addi %s, %w : i64"""
        for where in ("constants", "array"):
            read = "".join(f"  %b{i} = arith.constant {value} : {kind}\n" if where == "constants" else
                           f"  %b{i} = memref.load %a0[%c{i}] : {{a0}}\n" for i, value in enumerate(bounds.data))
            sums = Tensor("i64", np.zeros((2, 2)))
            want = {2: np.abs(x.data), 3: np.array([[values.size, values.sum().astype(np.int64)]] * 2)}
            yield program(f"scf.for-past-{kind}{sign}{first}-{where}", [bounds, x, y, sums], want, f"""
{read}  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %p:2 = scf.for {loop}
    linalg.map {{ math.absf }} ins(%a1 : {{a1}}) outs(%a2 : {{a2}})
    scf.yield %m, %t : i64, i64
  }}
  %q:2 = scf.for {loop}
    scf.yield %m, %t : i64, i64
  }}
  memref.store %p#0, %a3[%c0, %c0] : {{a3}}
  memref.store %p#1, %a3[%c0, %c1] : {{a3}}
  memref.store %q#0, %a3[%c1, %c0] : {{a3}}
  memref.store %q#1, %a3[%c1, %c1] : {{a3}}""")


def host_forms(random):
    """What the host of launches has no steps for, and what only the optimiser of a CPU reads."""
    a, b = random("f32", 8), Tensor("f32", np.zeros(8))
    for kind, unsigned, first, end, places in (("i32", "", 1, 6, [1, 3, 5]), ("i16", "unsigned ", 0, 5, [0, 2, 4]),
                                               ("i32", "", -3, 2, [0, 2, 4])):
        shift = min(first, 0)
        want = np.abs(a.data)
        want[places] = 1
        yield program(f"scf.for-{kind}-{unsigned.strip()}{first}", [a, b], {1: want}, f"""
  %first = arith.constant {first} : {kind}
  %end = arith.constant {end} : {kind}
  %step = arith.constant 2 : {kind}
  %shift = arith.constant {-shift} : {kind}
  %one = arith.constant 1.0 : f32
  scf.for {unsigned}%j = %first to %end step %step : {kind} {{
    %k = arith.addi %j, %shift : {kind}
    %i = arith.index_cast %k : {kind} to index
    %whole = arith.cmpi eq, %j, %first : {kind}
    scf.if %whole {{
      linalg.map {{ math.absf }} ins(%a0 : {{a0}}) outs(%a1 : {{a1}})
    }}
    memref.store %one, %a1[%i] : {{a1}}
  }}""")
    yield from past_the_end(random)
    yield program("memref.assume_alignment", [a, b], {1: a.data + 1}, """
  %same = memref.assume_alignment %a0, 16 : {a0}
  %one = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %x = memref.load %same[%i] : {a0}
    %y = arith.addf %x, %one : f32
    memref.store %y, %a1[%i] : {a1}
  }""")
    a = random("f32", 4, 6)
    yield program("affine.delinearize_index", [a, Tensor("f32", np.zeros((6, 4)))], {1: a.data.T}, """
  %end = arith.constant 24 : index
  scf.parallel (%i) = (%c0) to (%end) step (%c1) {
    %p:2 = affine.delinearize_index %i into (4, 6) : index, index
    %x = memref.load %a0[%p#0, %p#1] : {a0}
    %q = affine.linearize_index [%p#1, %p#0] by (6, 4) : index
    %r:2 = affine.delinearize_index %q into (6, 4) : index, index
    memref.store %x, %a1[%r#0, %r#1] : {a1}
  }""")


def cases():
    random = Random(9)
    for family in (vectors, of_bytes, carried, host_forms):
        yield from family(random)
