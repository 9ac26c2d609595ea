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
