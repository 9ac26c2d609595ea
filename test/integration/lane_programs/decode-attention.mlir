// One step of decoding: queries of 2 sequences against a cache whose length only the run knows, masked beyond each sequence's own length.
#q = affine_map<(b, h, l, d) -> (b, h, d)>
#k = affine_map<(b, h, l, d) -> (b, l, h, d)>
#s = affine_map<(b, h, l, d) -> (b, h, l)>
#o = affine_map<(b, h, d, l) -> (b, h, d)>
#p = affine_map<(b, h, d, l) -> (b, h, l)>
#v = affine_map<(b, h, d, l) -> (b, l, h, d)>
#id = affine_map<(b, h, l) -> (b, h, l)>
#n = affine_map<(b, h, l) -> (b)>
func.func @decode(%q: tensor<2x4x32xf16>, %keys: tensor<2x?x4x32xf16>, %values: tensor<2x?x4x32xf16>, %length: tensor<2xi32>) -> tensor<2x4x32xf16> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.17677669 : f32
  %m = tensor.dim %keys, %c1 : tensor<2x?x4x32xf16>
  %es = tensor.empty(%m) : tensor<2x4x?xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %score = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %keys : tensor<2x4x32xf16>, tensor<2x?x4x32xf16>) outs(%zs : tensor<2x4x?xf32>) {
    ^bb0(%a: f16, %b: f16, %c: f32):
      %x = arith.extf %a : f16 to f32
      %y = arith.extf %b : f16 to f32
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %c, %p : f32
      linalg.yield %t : f32
  } -> tensor<2x4x?xf32>
  %masked = linalg.generic {indexing_maps = [#id, #n, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%score, %length : tensor<2x4x?xf32>, tensor<2xi32>) outs(%es : tensor<2x4x?xf32>) {
    ^bb0(%x: f32, %n: i32, %o: f32):
      %l = linalg.index 2 : index
      %li = arith.index_cast %l : index to i32
      %seven = arith.constant 7 : i32
      %short = arith.andi %n, %seven : i32
      %inside = arith.cmpi sle, %li, %short : i32
      %y = arith.mulf %x, %scale : f32
      %z = arith.select %inside, %y, %least : f32
      linalg.yield %z : f32
  } -> tensor<2x4x?xf32>
  %soft = linalg.softmax dimension(2) ins(%masked : tensor<2x4x?xf32>) outs(%es : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %eo = tensor.empty() : tensor<2x4x32xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x4x32xf32>) -> tensor<2x4x32xf32>
  %out = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%soft, %values : tensor<2x4x?xf32>, tensor<2x?x4x32xf16>) outs(%zo : tensor<2x4x32xf32>) {
    ^bb0(%a: f32, %b: f16, %c: f32):
      %y = arith.extf %b : f16 to f32
      %p = arith.mulf %a, %y : f32
      %t = arith.addf %c, %p : f32
      linalg.yield %t : f32
  } -> tensor<2x4x32xf32>
  %r = arith.truncf %out : tensor<2x4x32xf32> to tensor<2x4x32xf16>
  return %r : tensor<2x4x32xf16>
}
