// Scores of scaled dot-product attention with softmax, for 12 heads of 64 features and 128 tokens (BERT-base), f32.
//
//   s[h, i, j] = softmax over j of (sum over d of q[h, i, d] * k[h, j, d]) / sqrt(64)

#map3 = affine_map<(h, i, j) -> (h, i, j)>

func.func @attention_scores(%q: tensor<12x128x64xf32>, %k: tensor<12x128x64xf32>) -> tensor<12x128x128xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %empty = tensor.empty() : tensor<12x128x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %product = linalg.generic {
      indexing_maps = [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>,
                       affine_map<(h, i, j, d) -> (h, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<12x128x64xf32>, tensor<12x128x64xf32>) outs(%init : tensor<12x128x128xf32>) {
    ^bb0(%x: f32, %y: f32, %acc: f32):
      %p = arith.mulf %x, %y : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  } -> tensor<12x128x128xf32>
  %scaled = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%product : tensor<12x128x128xf32>) outs(%empty : tensor<12x128x128xf32>) {
    ^bb0(%p: f32, %o: f32):
      %s = arith.mulf %p, %scale : f32
      linalg.yield %s : f32
  } -> tensor<12x128x128xf32>
  %scores = linalg.softmax dimension(2) ins(%scaled : tensor<12x128x128xf32>)
                                        outs(%empty : tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  return %scores : tensor<12x128x128xf32>
}
