"""Programs on memrefs whose memory has two types, or whose elements are no numbers: arrays of vectors, vectors without dimensions
that loops hand on."""

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


def cases():
    random = Random(9)
    for family in (vectors, carried):
        yield from family(random)
