func.func @gather(%table: tensor<100x8xf32>, %rows: tensor<5xindex>) -> tensor<5x8xf32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
    ins(%rows : tensor<5xindex>) outs(%e : tensor<5x8xf32>) {
  ^bb0(%row: index, %out: f32):
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%row, %j] : tensor<100x8xf32>
    linalg.yield %x : f32
  } -> tensor<5x8xf32>
  return %r : tensor<5x8xf32>
}
