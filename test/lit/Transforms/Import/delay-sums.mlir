// RUN: tw-opt %s --delay-sums | FileCheck %s

#both = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// The sum over rows, and what follows from it, come last.

// CHECK-LABEL: func.func @sums
// CHECK:         iterator_types = ["parallel", "reduction"]
// CHECK:         iterator_types = ["reduction", "parallel"]
// CHECK:         math.exp
// CHECK:         return
func.func @sums(%x: tensor<8x512xf32>, %a: tensor<512xf32>, %b: tensor<8xf32>) -> (tensor<512xf32>, tensor<8xf32>) {
  %c = linalg.generic {indexing_maps = [#both, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<8x512xf32>) outs(%a : tensor<512xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.addf %1, %0 : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %empty = tensor.empty() : tensor<512xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%c : tensor<512xf32>) outs(%empty : tensor<512xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = math.exp %0 : f32
    linalg.yield %2 : f32
  } -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#both, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x512xf32>) outs(%b : tensor<8xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.addf %1, %0 : f32
    linalg.yield %2 : f32
  } -> tensor<8xf32>
  return %e, %r : tensor<512xf32>, tensor<8xf32>
}
