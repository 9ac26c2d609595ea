// RMS norm of rows, and a rotary embedding of the halves of each head by the row's position.
#x = affine_map<(s, h, d) -> (s, h, d)>
#r = affine_map<(s, h, d) -> (s, h)>
#g = affine_map<(s, h, d) -> (d)>
#t = affine_map<(s, h, d) -> (s)>
func.func @rope(%x: tensor<?x3x64xbf16>, %gain: tensor<64xf32>, %position: tensor<?xi32>) -> tensor<?x3x64xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %s = tensor.dim %x, %c0 : tensor<?x3x64xbf16>
  %er = tensor.empty(%s) : tensor<?x3xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<?x3xf32>) -> tensor<?x3xf32>
  %square = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<?x3x64xbf16>) outs(%zr : tensor<?x3xf32>) {
    ^bb0(%v: bf16, %a: f32):
      %w = arith.extf %v : bf16 to f32
      %q = arith.mulf %w, %w : f32
      %u = arith.addf %a, %q : f32
      linalg.yield %u : f32
  } -> tensor<?x3xf32>
  %e = tensor.empty(%s) : tensor<?x3x64xf32>
  %norm = linalg.generic {indexing_maps = [#x, #r, #g, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %square, %gain : tensor<?x3x64xbf16>, tensor<?x3xf32>, tensor<64xf32>) outs(%e : tensor<?x3x64xf32>) {
    ^bb0(%v: bf16, %q: f32, %g: f32, %o: f32):
      %w = arith.extf %v : bf16 to f32
      %inverse = arith.constant 0.015625 : f32
      %epsilon = arith.constant 1.0e-6 : f32
      %mean = arith.mulf %q, %inverse : f32
      %safe = arith.addf %mean, %epsilon : f32
      %f = math.rsqrt %safe : f32
      %y = arith.mulf %w, %f : f32
      %z = arith.mulf %y, %g : f32
      linalg.yield %z : f32
  } -> tensor<?x3x64xf32>
  %low = tensor.extract_slice %norm[0, 0, 0] [%s, 3, 32] [1, 1, 1] : tensor<?x3x64xf32> to tensor<?x3x32xf32>
  %high = tensor.extract_slice %norm[0, 0, 32] [%s, 3, 32] [1, 1, 1] : tensor<?x3x64xf32> to tensor<?x3x32xf32>
  %eh = tensor.empty(%s) : tensor<?x3x32xf32>
  %turned:2 = linalg.generic {indexing_maps = [#x, #x, #t, #x, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%low, %high, %position : tensor<?x3x32xf32>, tensor<?x3x32xf32>, tensor<?xi32>) outs(%eh, %eh : tensor<?x3x32xf32>, tensor<?x3x32xf32>) {
    ^bb0(%a: f32, %b: f32, %p: i32, %o0: f32, %o1: f32):
      %d = linalg.index 2 : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %rate = arith.constant -0.28782314 : f32
      %power = arith.mulf %df, %rate : f32
      %frequency = math.exp %power : f32
      %pf = arith.sitofp %p : i32 to f32
      %angle = arith.mulf %pf, %frequency : f32
      %sin = math.sin %angle : f32
      %cos = math.cos %angle : f32
      %ac = arith.mulf %a, %cos : f32
      %bs = arith.mulf %b, %sin : f32
      %as = arith.mulf %a, %sin : f32
      %bc = arith.mulf %b, %cos : f32
      %x0 = arith.subf %ac, %bs : f32
      %x1 = arith.addf %as, %bc : f32
      linalg.yield %x0, %x1 : f32, f32
  } -> (tensor<?x3x32xf32>, tensor<?x3x32xf32>)
  %all = tensor.concat dim(2) %turned#0, %turned#1 : (tensor<?x3x32xf32>, tensor<?x3x32xf32>) -> tensor<?x3x64xf32>
  %r = arith.truncf %all : tensor<?x3x64xf32> to tensor<?x3x64xbf16>
  return %r : tensor<?x3x64xbf16>
}
