// Block-scaled operands become arrays of their own, whatever they were written as.
//
// RUN: tw-opt %s -separate-scales -split-input-file | FileCheck %s

// CHECK-DAG: #[[SCALE:.*]] = affine_map<(d0, d1) -> (d0, d1 floordiv 32)>
// CHECK-LABEL: func.func @generic
// CHECK:      %[[W:.*]] = linalg.generic {{.*}}#[[SCALE]]{{.*}} ins(%arg0, %arg1 : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>)
// CHECK:        arith.extf %{{.*}} : f8E4M3FN to f32
// CHECK:        arith.extf %{{.*}} : f8E8M0FNU to f32
// CHECK:        arith.mulf
// CHECK:      %[[V:.*]] = linalg.generic {{.*}} ins(%arg2, %arg3 :
// CHECK:      linalg.generic {{.*}}"reduction"]} ins(%[[W]], %[[V]] : tensor<?x64xf32>, tensor<?x64xf32>)
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[C:.*]]: f32):
// CHECK-NEXT:   %[[P:.*]] = arith.mulf %[[X]], %[[Y]]
// CHECK-NEXT:   %[[S:.*]] = arith.addf %[[C]], %[[P]]
// CHECK-NEXT:   linalg.yield %[[S]]
func.func @generic(%a: tensor<?x64xf8E4M3FN>, %sa: tensor<?x2xf8E8M0FNU>, %b: tensor<?x64xf8E5M2>, %sb: tensor<?x2xf8E8M0FNU>,
                   %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (i, k floordiv 32)>,
      affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (j, k floordiv 32)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %sa, %b, %sb : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<?x64xf8E5M2>, tensor<?x2xf8E8M0FNU>)
      outs(%c : tensor<?x?xf32>) {
  ^bb0(%x: f8E4M3FN, %u: f8E8M0FNU, %y: f8E5M2, %v: f8E8M0FNU, %o: f32):
    %0 = arith.extf %x : f8E4M3FN to f32
    %1 = arith.extf %u : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.extf %y : f8E5M2 to f32
    %4 = arith.extf %v : f8E8M0FNU to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.mulf %2, %5 : f32
    %7 = arith.addf %o, %6 : f32
    linalg.yield %7 : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// A vector's products are in one sum each: an array of them would only cost.
// CHECK-LABEL: func.func @vector
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
func.func @vector(%a: tensor<8x64xf8E4M3FN>, %s: tensor<8x2xf32>, %x: tensor<64xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k floordiv 32)>,
      affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a, %s, %x : tensor<8x64xf8E4M3FN>, tensor<8x2xf32>, tensor<64xf32>) outs(%c : tensor<8xf32>) {
  ^bb0(%p: f8E4M3FN, %q: f32, %y: f32, %o: f32):
    %0 = arith.extf %p : f8E4M3FN to f32
    %1 = arith.mulf %0, %q : f32
    %2 = arith.mulf %1, %y : f32
    %3 = arith.addf %o, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// One B for all of the batch is a matrix.
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-LABEL: func.func @matmul
// CHECK:      tensor.collapse_shape %arg2 {{\[\[}}0, 1], [2]] : tensor<1x8x64xf8E5M2> into tensor<8x64xf8E5M2>
// CHECK:      linalg.generic {indexing_maps = [#[[A]], #[[B]], #{{.*}}]
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<2x?x64xf32>, tensor<8x64xf32>)
// CHECK-NOT:  tosa
func.func @matmul(%a: tensor<2x?x64xf8E5M2>, %sa: tensor<2x?x2xf8E8M0FNU>, %b: tensor<1x8x64xf8E5M2>, %sb: tensor<1x8x2xf8E8M0FNU>)
    -> tensor<2x?x8xf32> {
  %r = "tosa.matmul_t_block_scaled"(%a, %sa, %b, %sb) <{block_size = #tosa.block_size<BLOCK_SIZE_32>}>
      : (tensor<2x?x64xf8E5M2>, tensor<2x?x2xf8E8M0FNU>, tensor<1x8x64xf8E5M2>, tensor<1x8x2xf8E8M0FNU>) -> tensor<2x?x8xf32>
  return %r : tensor<2x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @cast
// CHECK:      linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>)
// CHECK:        %[[P:.*]] = arith.mulf
// CHECK-NEXT:   arith.truncf %[[P]] : f32 to bf16
func.func @cast(%a: tensor<4x64xf8E4M3FN>, %s: tensor<4x2xf8E8M0FNU>) -> tensor<4x64xbf16> {
  %r = "tosa.cast_from_block_scaled"(%a, %s) <{block_size = #tosa.block_size<BLOCK_SIZE_32>}>
      : (tensor<4x64xf8E4M3FN>, tensor<4x2xf8E8M0FNU>) -> tensor<4x64xbf16>
  return %r : tensor<4x64xbf16>
}

// -----

// A cast: the largest magnitude of each block, the exponent of its scale, and the elements times its reciprocal.
// CHECK-LABEL: func.func @cast_to
// CHECK:      %[[BLOCKS:.*]] = tensor.expand_shape %arg0 {{\[\[}}0], [1, 2]] output_shape [%{{.*}}, 2, 32]
// CHECK:      %[[LARGEST:.*]] = linalg.generic {{.*}}"reduction"]} ins(%[[BLOCKS]]
// CHECK:        arith.andi
// CHECK:        arith.maximumf
// CHECK:      %[[CODES:.*]] = linalg.generic {{.*}} ins(%[[LARGEST]]
// CHECK:        arith.shrui
// CHECK:        arith.select
// CHECK:      %[[SCALES:.*]] = linalg.generic {{.*}} ins(%[[CODES]]
// CHECK:        arith.truncf %{{.*}} : f32 to f8E8M0FNU
// CHECK:      %[[DATA:.*]] = linalg.generic {{.*}} ins(%arg0, %[[CODES]]
// CHECK:        arith.truncf %{{.*}} : f32 to f8E4M3FN
// CHECK:      return %[[DATA]], %[[SCALES]]
func.func @cast_to(%a: tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>) {
  %d, %s = "tosa.cast_to_block_scaled"(%a) <{block_size = #tosa.block_size<BLOCK_SIZE_32>}>
      : (tensor<?x64xf32>) -> (tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>)
  return %d, %s : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>
}
