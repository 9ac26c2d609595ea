// A depthwise 3 x 3 convolution with stride 2, a pointwise one as a product over channels, ReLU6.
func.func @depthwise(%x: tensor<?x?x?x13xf32>, %k: tensor<3x3x13xf32>, %w: tensor<13x21xf32>) -> tensor<?x?x?x21xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x?x?x13xf32>
  %h = tensor.dim %x, %c1 : tensor<?x?x?x13xf32>
  %v = tensor.dim %x, %c2 : tensor<?x?x?x13xf32>
  %hm = arith.subi %h, %c1 : index
  %vm = arith.subi %v, %c1 : index
  %hh = arith.divui %hm, %c2 : index
  %vh = arith.divui %vm, %c2 : index
  %ho = arith.addi %hh, %c1 : index
  %vo = arith.addi %vh, %c1 : index
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb0(%a: index, %b: index, %c: index, %d: index):
      tensor.yield %zero : f32
  } : tensor<?x?x?x13xf32> to tensor<?x?x?x13xf32>
  %ed = tensor.empty(%n, %ho, %vo) : tensor<?x?x?x13xf32>
  %zd = linalg.fill ins(%zero : f32) outs(%ed : tensor<?x?x?x13xf32>) -> tensor<?x?x?x13xf32>
  %d = linalg.depthwise_conv_2d_nhwc_hwc {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
      ins(%p, %k : tensor<?x?x?x13xf32>, tensor<3x3x13xf32>) outs(%zd : tensor<?x?x?x13xf32>) -> tensor<?x?x?x13xf32>
  %eo = tensor.empty(%n, %ho, %vo) : tensor<?x?x?x21xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<?x?x?x21xf32>) -> tensor<?x?x?x21xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, f, c) -> (n, h, w, c)>, affine_map<(n, h, w, f, c) -> (c, f)>, affine_map<(n, h, w, f, c) -> (n, h, w, f)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%d, %w : tensor<?x?x?x13xf32>, tensor<13x21xf32>) outs(%zo : tensor<?x?x?x21xf32>) {
    ^bb0(%a: f32, %b: f32, %s: f32):
      %q = arith.mulf %a, %b : f32
      %t = arith.addf %s, %q : f32
      linalg.yield %t : f32
  } -> tensor<?x?x?x21xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, h, w, f) -> (n, h, w, f)>, affine_map<(n, h, w, f) -> (n, h, w, f)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%y : tensor<?x?x?x21xf32>) outs(%eo : tensor<?x?x?x21xf32>) {
    ^bb0(%a: f32, %o: f32):
      %six = arith.constant 6.0 : f32
      %l = arith.maximumf %a, %zero : f32
      %u = arith.minimumf %l, %six : f32
      linalg.yield %u : f32
  } -> tensor<?x?x?x21xf32>
  return %r : tensor<?x?x?x21xf32>
}
