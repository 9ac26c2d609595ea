// y = max(x + b, 0) for every length: vectors, and a rest that fills none.
// RUN: tw-run %s --load-target=%plugin --target @NAME@ %device --sizes=1 --verify
// RUN: tw-run %s --load-target=%plugin --target @NAME@ %device --sizes=1003 --verify
func.func @bias_relu(%x: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x, %b : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
  ^bb0(%u: f32, %v: f32, %out: f32):
    %sum = arith.addf %u, %v : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
