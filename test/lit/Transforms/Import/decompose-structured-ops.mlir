// RUN: tw-opt %s --decompose-structured-ops --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-3: linalg.generic
// CHECK:         math.exp
// CHECK-NOT:     linalg.softmax
func.func @softmax(%a: tensor<4x8xf32>, %e: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// -----

// The last tiles are padded; a tile's elements are read with stride one.
// CHECK-DAG:   #[[SOURCE:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 4 + d2, d1 * 8 + d3)>
// CHECK-LABEL: func.func @pack
// CHECK:         tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [10, 20] [1, 1]
// CHECK:         linalg.generic {indexing_maps = [#[[SOURCE]],
func.func @pack(%a: tensor<10x20xf32>, %e: tensor<3x3x4x8xf32>) -> tensor<3x3x4x8xf32> {
  %z = arith.constant 0.0 : f32
  %p = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %e
      : tensor<10x20xf32> -> tensor<3x3x4x8xf32>
  return %p : tensor<3x3x4x8xf32>
}

// -----

// CHECK-DAG:   #[[SOURCE:.*]] = affine_map<(d0, d1) -> (d1 floordiv 8, d0 floordiv 4, d0 mod 4, d1 mod 8)>
// CHECK-LABEL: func.func @unpack
// CHECK:         linalg.generic {indexing_maps = [#[[SOURCE]],
func.func @unpack(%a: tensor<3x3x4x8xf32>, %e: tensor<10x20xf32>) -> tensor<10x20xf32> {
  %p = linalg.unpack %a outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [4, 8] into %e
      : tensor<3x3x4x8xf32> -> tensor<10x20xf32>
  return %p : tensor<10x20xf32>
}

// -----

// CHECK-LABEL: func.func @pad
// CHECK:         %[[FILL:.*]] = linalg.generic
// CHECK:         tensor.insert_slice %{{.*}} into %[[FILL]][1, %{{.*}}] [%{{.*}}, 8] [1, 1]
func.func @pad(%a: tensor<?x8xf32>, %l: index, %z: f32) -> tensor<?x?xf32> {
  %p = tensor.pad %a low[1, %l] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<?x8xf32> to tensor<?x?xf32>
  return %p : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @gather
// CHECK:         linalg.generic
// CHECK:           %[[I:.*]] = linalg.index 0
// CHECK:           %[[AT:.*]] = tensor.extract %arg1[%[[I]], %{{.*}}]
// CHECK:           %[[ROW:.*]] = arith.index_cast %[[AT]]
// CHECK:           tensor.extract %arg0[%[[ROW]], %{{.*}}]
func.func @gather(%a: tensor<7x6xf32>, %i: tensor<5x1xi32>) -> tensor<5x6xf32> {
  %g = tensor.gather %a[%i] gather_dims([0]) : (tensor<7x6xf32>, tensor<5x1xi32>) -> tensor<5x6xf32>
  return %g : tensor<5x6xf32>
}

// -----

// CHECK-LABEL: func.func @tensors
// CHECK:         tensor.insert_slice
// CHECK:         tensor.insert_slice
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT:     tensor.{{generate|splat|concat}}
func.func @tensors(%a: tensor<4x6xf32>, %n: index, %s: i1) -> (tensor<8x6xf32>, tensor<?xindex>, tensor<3xi1>, tensor<4x6xf32>) {
  %k = tensor.concat dim(0) %a, %a : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %g = tensor.generate %n {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<?xindex>
  %p = tensor.splat %s : tensor<3xi1>
  %m = arith.addf %a, %a : tensor<4x6xf32>
  return %k, %g, %p, %m : tensor<8x6xf32>, tensor<?xindex>, tensor<3xi1>, tensor<4x6xf32>
}

// Inputs are inserted with the sizes of the result beside the dimension that grows: those that one input has as a
// constant, else those of the first.
// CHECK-LABEL: func.func @concat
// CHECK-SAME: (%[[A:.*]]: tensor<?x?x?xf32>, %[[B:.*]]: tensor<?x5x3xf32>)
// CHECK-DAG: %[[D0:.*]] = tensor.dim %[[A]], %c0
// CHECK-DAG: %[[D1:.*]] = tensor.dim %[[A]], %c1
// CHECK-DAG: %[[E:.*]] = tensor.empty(%[[D0]], %{{.*}}) : tensor<?x?x3xf32>
// CHECK-DAG: %[[C:.*]] = tensor.cast %[[A]] : tensor<?x?x?xf32> to tensor<?x?x3xf32>
// CHECK: %[[I:.*]] = tensor.insert_slice %[[C]] into %[[E]][0, 0, 0] [%[[D0]], %[[D1]], 3] [1, 1, 1]
// CHECK: tensor.insert_slice %[[B]] into %[[I]][0, %{{.*}}, 0] [%[[D0]], 5, 3] [1, 1, 1]
func.func @concat(%a: tensor<?x?x?xf32>, %b: tensor<?x5x3xf32>) -> tensor<?x?x?xf32> {
  %r = tensor.concat dim(1) %a, %b : (tensor<?x?x?xf32>, tensor<?x5x3xf32>) -> tensor<?x?x?xf32>
  return %r : tensor<?x?x?xf32>
}

// Tile sizes that are not constants: whole tiles, a reshape, a permutation.
// CHECK-LABEL: func.func @pack_dynamic
// CHECK-SAME: (%[[A:.*]]: tensor<?x?xf32>, %[[E:.*]]: tensor<?x?x?x8xf32>, %[[T:.*]]: index)
// CHECK: %[[FULL:.*]] = arith.muli %{{.*}}, %[[T]] : index
// CHECK: %[[P:.*]] = tensor.insert_slice %[[A]] into
// CHECK: %[[S:.*]] = tensor.expand_shape %[[P]] {{\[}}[0, 1], [2, 3]] output_shape [%{{.*}}, %[[T]], %{{.*}}, 8]
// CHECK-SAME: into tensor<?x?x?x8xf32>
// CHECK: linalg.generic {{.*}} ins(%[[S]] : tensor<?x?x?x8xf32>) outs(%[[E]]
func.func @pack_dynamic(%a: tensor<?x?xf32>, %e: tensor<?x?x?x8xf32>, %t: index) -> tensor<?x?x?x8xf32> {
  %z = arith.constant 0.0 : f32
  %p = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [%t, 8] into %e
      : tensor<?x?xf32> -> tensor<?x?x?x8xf32>
  return %p : tensor<?x?x?x8xf32>
}

// CHECK-LABEL: func.func @unpack_dynamic
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?x?x8xf32>) outs(%{{.*}} : tensor<?x?x?x8xf32>)
// CHECK: %[[J:.*]] = tensor.collapse_shape %[[S]] {{\[}}[0, 1], [2, 3]] : tensor<?x?x?x8xf32> into tensor<?x?xf32>
// CHECK: tensor.extract_slice %[[J]][0, 0]
func.func @unpack_dynamic(%a: tensor<?x?x?x8xf32>, %e: tensor<?x?xf32>, %t: index) -> tensor<?x?xf32> {
  %p = linalg.unpack %a outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [%t, 8] into %e
      : tensor<?x?x?x8xf32> -> tensor<?x?xf32>
  return %p : tensor<?x?xf32>
}

// Tests and clamps of floats are comparisons, minima and maxima.
// CHECK-LABEL: func.func @tests
// CHECK-DAG: %[[INF:.*]] = arith.constant 0x7C00 : f16
// CHECK-DAG: %[[MIN:.*]] = arith.constant 6.103520e-05 : f16
// CHECK: arith.cmpf uno, %[[X:.*]], %[[X]] : f16
// CHECK: %[[M:.*]] = math.absf %[[X]] : f16
// CHECK: arith.cmpf oeq, %[[M]], %[[INF]] : f16
// CHECK: arith.cmpf olt, %{{.*}}, %[[INF]] : f16
// CHECK: %[[N:.*]] = arith.cmpf oge, %{{.*}}, %[[MIN]] : f16
// CHECK: arith.andi
// CHECK: %[[C:.*]] = arith.maximumf %[[X]], %{{.*}} : f16
// CHECK: arith.minimumf %[[C]], %{{.*}} : f16
func.func @tests(%x: f16, %lo: f16, %hi: f16) -> (i1, i1, i1, i1, f16) {
  %a = math.isnan %x : f16
  %b = math.isinf %x : f16
  %c = math.isfinite %x : f16
  %d = math.isnormal %x : f16
  %e = math.clampf %x to [%lo, %hi] : f16
  return %a, %b, %c, %d, %e : i1, i1, i1, i1, f16
}

// Powers to an integer: a constant exponent leaves its multiplications, of half-width types in f32.
// CHECK-LABEL: func.func @powers
// CHECK: %[[I2:.*]] = arith.muli %[[I:.*]], %[[I]] : i32
// CHECK: %[[I4:.*]] = arith.muli %[[I2]], %[[I2]] : i32
// CHECK: %[[I5:.*]] = arith.muli %[[I]], %[[I4]] : i32
// CHECK: %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[W2:.*]] = arith.mulf %[[W]], %[[W]] : f32
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[W2]] : f32
// CHECK: arith.truncf %[[R]] : f32 to bf16
func.func @powers(%i: i32, %x: bf16) -> (i32, bf16) {
  %five = arith.constant 5 : i32
  %minus = arith.constant -2 : i32
  %a = math.ipowi %i, %five : i32
  %b = math.fpowi %x, %minus : bf16, i32
  return %a, %b : i32, bf16
}

// CHECK-LABEL: func.func @bitcast
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x4xf32>) outs(%{{.*}} : tensor<?x4xi32>)
// CHECK: arith.bitcast %{{.*}} : f32 to i32
func.func @bitcast(%a: tensor<?x4xf32>) -> tensor<?x4xi32> {
  %b = tensor.bitcast %a : tensor<?x4xf32> to tensor<?x4xi32>
  return %b : tensor<?x4xi32>
}

// -----

// One of two tensors: element by element where their sizes are equal, else as it is.
// CHECK-LABEL: func.func @selection
// CHECK:         linalg.generic
// CHECK:           arith.select %{{.*}} : f32
// CHECK:         arith.select %{{.*}} : tensor<?xf32>
func.func @selection(%a: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<?xf32>, %y: tensor<?xf32>, %c: i1) -> (tensor<4xf32>, tensor<?xf32>) {
  %r = arith.select %c, %a, %b : tensor<4xf32>
  %s = arith.select %c, %x, %y : tensor<?xf32>
  return %r, %s : tensor<4xf32>, tensor<?xf32>
}

// -----

// Both functions of an angle are two.
// CHECK-LABEL: func @sincos
// CHECK-DAG:     math.sin
// CHECK-DAG:     math.cos
func.func @sincos(%x: f32) -> (f32, f32) {
  %s, %c = math.sincos %x : f32
  return %s, %c : f32, f32
}
