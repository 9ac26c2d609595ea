// A binomial blur of 5 x 5 taps in two passes of 5, on a grey image of 1080 x 1920 points with a border of 2, f32.
//
//   rows[y, x] = sum over t of weight[t] * image[y, x + t];   out[y, x] = sum over t of weight[t] * rows[y + t, x]
//   weight = (1, 4, 6, 4, 1) / 16

func.func @blur(%image: tensor<1084x1924xf32>) -> tensor<1080x1920xf32> {
  %weight = arith.constant dense<[0.0625, 0.25, 0.375, 0.25, 0.0625]> : tensor<5xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<1084x1920xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<1084x1920xf32>) -> tensor<1084x1920xf32>
  %rows = linalg.generic {
      indexing_maps = [affine_map<(y, x, t) -> (y, x + t)>, affine_map<(y, x, t) -> (t)>,
                       affine_map<(y, x, t) -> (y, x)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%image, %weight : tensor<1084x1924xf32>, tensor<5xf32>) outs(%i0 : tensor<1084x1920xf32>) {
    ^bb0(%p: f32, %w: f32, %acc: f32):
      %m = arith.mulf %p, %w : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
  } -> tensor<1084x1920xf32>
  %e1 = tensor.empty() : tensor<1080x1920xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1080x1920xf32>) -> tensor<1080x1920xf32>
  %out = linalg.generic {
      indexing_maps = [affine_map<(y, x, t) -> (y + t, x)>, affine_map<(y, x, t) -> (t)>,
                       affine_map<(y, x, t) -> (y, x)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%rows, %weight : tensor<1084x1920xf32>, tensor<5xf32>) outs(%i1 : tensor<1080x1920xf32>) {
    ^bb0(%p: f32, %w: f32, %acc: f32):
      %m = arith.mulf %p, %w : f32
      %s = arith.addf %acc, %m : f32
      linalg.yield %s : f32
  } -> tensor<1080x1920xf32>
  return %out : tensor<1080x1920xf32>
}
