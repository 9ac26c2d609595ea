// A fused layer, y = max(x * w + b, 0): bias and ReLU run on the accumulators.
// RUN: tw-run %s --load-target=%plugin --target @NAME@ %device --verify
// RUN: tw-run %s --load-target=%plugin --target @NAME@ --device=auto --threads=2 --verify
func.func @layer(%x: tensor<50x64xf32>, %w: tensor<64x100xf32>, %b: tensor<100xf32>) -> tensor<50x100xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<50x100xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<50x100xf32>) -> tensor<50x100xf32>
  %product = linalg.matmul ins(%x, %w : tensor<50x64xf32>, tensor<64x100xf32>)
                           outs(%fill : tensor<50x100xf32>) -> tensor<50x100xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %b : tensor<50x100xf32>, tensor<100xf32>) outs(%empty : tensor<50x100xf32>) {
  ^bb0(%u: f32, %v: f32, %out: f32):
    %sum = arith.addf %u, %v : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<50x100xf32>
  return %y : tensor<50x100xf32>
}
