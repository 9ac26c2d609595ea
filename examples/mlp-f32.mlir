// Three layers of a perceptron with ReLU: 256 samples, 1024 features in and out of each layer, f32.
//
//   h1 = relu(x * w1 + b1);  h2 = relu(h1 * w2 + b2);  y = relu(h2 * w3 + b3)

#matrix = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func private @layer(%x: tensor<256x1024xf32>, %w: tensor<1024x1024xf32>, %b: tensor<1024xf32>) -> tensor<256x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x1024xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %product = linalg.matmul ins(%x, %w : tensor<256x1024xf32>, tensor<1024x1024xf32>)
                           outs(%init : tensor<256x1024xf32>) -> tensor<256x1024xf32>
  %y = linalg.generic {indexing_maps = [#matrix, #column, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%product, %b : tensor<256x1024xf32>, tensor<1024xf32>) outs(%empty : tensor<256x1024xf32>) {
    ^bb0(%p: f32, %bias: f32, %o: f32):
      %sum = arith.addf %p, %bias : f32
      %relu = arith.maximumf %sum, %zero : f32
      linalg.yield %relu : f32
  } -> tensor<256x1024xf32>
  return %y : tensor<256x1024xf32>
}

func.func @mlp(%x: tensor<256x1024xf32>,
               %w1: tensor<1024x1024xf32>, %b1: tensor<1024xf32>,
               %w2: tensor<1024x1024xf32>, %b2: tensor<1024xf32>,
               %w3: tensor<1024x1024xf32>, %b3: tensor<1024xf32>) -> tensor<256x1024xf32> {
  %h1 = call @layer(%x, %w1, %b1) : (tensor<256x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<256x1024xf32>
  %h2 = call @layer(%h1, %w2, %b2) : (tensor<256x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<256x1024xf32>
  %y = call @layer(%h2, %w3, %b3) : (tensor<256x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<256x1024xf32>
  return %y : tensor<256x1024xf32>
}
