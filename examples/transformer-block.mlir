// A transformer block of GPT's kind on a sequence of unknown length: layer norm, causal attention of 4 heads, residual,
// layer norm, a feed-forward part with exact GELU, residual. A token sees itself and those before it.
//
//   tw-run examples/transformer-block.mlir --sizes 77 --verify

#row = affine_map<(i, j) -> (i)>
#col = affine_map<(i, j) -> (j)>
#id = affine_map<(i, j) -> (i, j)>
#id3 = affine_map<(h, i, j) -> (h, i, j)>
func.func private @norm(%x: tensor<?x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %inv = arith.constant 0.015625 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e1 = tensor.empty(%n) : tensor<?xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x64xf32>) outs(%z1 : tensor<?xf32>) {
  ^bb0(%a: f32, %s: f32):
    %r = arith.addf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %sq = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %sum : tensor<?x64xf32>, tensor<?xf32>) outs(%z1 : tensor<?xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %mean = arith.mulf %m, %inv : f32
    %d = arith.subf %a, %mean : f32
    %dd = arith.mulf %d, %d : f32
    %r = arith.addf %dd, %s : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %o = linalg.generic {indexing_maps = [#id, #row, #row, #col, #col, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %sum, %sq, %g, %b : tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>, tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%a: f32, %m: f32, %q: f32, %gg: f32, %bb: f32, %s: f32):
    %mean = arith.mulf %m, %inv : f32
    %var = arith.mulf %q, %inv : f32
    %ve = arith.addf %var, %eps : f32
    %rs = math.rsqrt %ve : f32
    %d = arith.subf %a, %mean : f32
    %n1 = arith.mulf %d, %rs : f32
    %n2 = arith.mulf %n1, %gg : f32
    %r = arith.addf %n2, %bb : f32
    linalg.yield %r : f32
  } -> tensor<?x64xf32>
  return %o : tensor<?x64xf32>
}
func.func @block(%x: tensor<?x64xf32>, %g1: tensor<64xf32>, %b1: tensor<64xf32>, %wqkv: tensor<64x192xf32>, %wo: tensor<64x64xf32>, %g2: tensor<64xf32>, %b2: tensor<64xf32>, %w1: tensor<64x256xf32>, %w2: tensor<256x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.25 : f32
  %neg = arith.constant -1.0e30 : f32
  %h = call @norm(%x, %g1, %b1) : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %e0 = tensor.empty(%n) : tensor<?x192xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x192xf32>) -> tensor<?x192xf32>
  %qkv = linalg.matmul ins(%h, %wqkv : tensor<?x64xf32>, tensor<64x192xf32>) outs(%z0 : tensor<?x192xf32>) -> tensor<?x192xf32>
  %q4 = tensor.expand_shape %qkv [[0], [1, 2, 3]] output_shape [%n, 3, 4, 16] : tensor<?x192xf32> into tensor<?x3x4x16xf32>
  %q = tensor.extract_slice %q4[0, 0, 0, 0] [%n, 1, 4, 16] [1, 1, 1, 1] : tensor<?x3x4x16xf32> to tensor<?x4x16xf32>
  %k = tensor.extract_slice %q4[0, 1, 0, 0] [%n, 1, 4, 16] [1, 1, 1, 1] : tensor<?x3x4x16xf32> to tensor<?x4x16xf32>
  %v = tensor.extract_slice %q4[0, 2, 0, 0] [%n, 1, 4, 16] [1, 1, 1, 1] : tensor<?x3x4x16xf32> to tensor<?x4x16xf32>
  %es = tensor.empty(%n, %n) : tensor<4x?x?xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(h, i, j, d) -> (i, h, d)>, affine_map<(h, i, j, d) -> (j, h, d)>, affine_map<(h, i, j, d) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : tensor<?x4x16xf32>, tensor<?x4x16xf32>) outs(%zs : tensor<4x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> tensor<4x?x?xf32>
  %m = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<4x?x?xf32>) outs(%es : tensor<4x?x?xf32>) {
  ^bb0(%a: f32, %c: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %vis = arith.cmpi sle, %j, %i : index
    %sc = arith.mulf %a, %scale : f32
    %r = arith.select %vis, %sc, %neg : f32
    linalg.yield %r : f32
  } -> tensor<4x?x?xf32>
  %p = linalg.softmax dimension(2) ins(%m : tensor<4x?x?xf32>) outs(%es : tensor<4x?x?xf32>) -> tensor<4x?x?xf32>
  %ec = tensor.empty(%n) : tensor<?x4x16xf32>
  %zc = linalg.fill ins(%zero : f32) outs(%ec : tensor<?x4x16xf32>) -> tensor<?x4x16xf32>
  %ctx = linalg.generic {indexing_maps = [affine_map<(h, i, d, j) -> (h, i, j)>, affine_map<(h, i, d, j) -> (j, h, d)>, affine_map<(h, i, d, j) -> (i, h, d)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : tensor<4x?x?xf32>, tensor<?x4x16xf32>) outs(%zc : tensor<?x4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %pp = arith.mulf %a, %b : f32
    %r = arith.addf %c, %pp : f32
    linalg.yield %r : f32
  } -> tensor<?x4x16xf32>
  %flat = tensor.collapse_shape %ctx [[0], [1, 2]] : tensor<?x4x16xf32> into tensor<?x64xf32>
  %att = linalg.matmul ins(%flat, %wo : tensor<?x64xf32>, tensor<64x64xf32>) outs(%x : tensor<?x64xf32>) -> tensor<?x64xf32>
  %h2 = call @norm(%att, %g2, %b2) : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %ef = tensor.empty(%n) : tensor<?x256xf32>
  %zf = linalg.fill ins(%zero : f32) outs(%ef : tensor<?x256xf32>) -> tensor<?x256xf32>
  %f1 = linalg.matmul ins(%h2, %w1 : tensor<?x64xf32>, tensor<64x256xf32>) outs(%zf : tensor<?x256xf32>) -> tensor<?x256xf32>
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %rt = arith.constant 0.70710678 : f32
  %ge = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%f1 : tensor<?x256xf32>) outs(%ef : tensor<?x256xf32>) {
  ^bb0(%a: f32, %c: f32):
    %t = arith.mulf %a, %rt : f32
    %er = math.erf %t : f32
    %e1 = arith.addf %er, %one : f32
    %ha = arith.mulf %a, %half : f32
    %r = arith.mulf %ha, %e1 : f32
    linalg.yield %r : f32
  } -> tensor<?x256xf32>
  %out = linalg.matmul ins(%ge, %w2 : tensor<?x256xf32>, tensor<256x64xf32>) outs(%att : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %out : tensor<?x64xf32>
}
