// States of loops that are operands of a product and take its result: from the left, and from the right.
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>
#e = affine_map<(i, j) -> (i, j)>
func.func @recurrences(%x: tensor<70x97xf32>, %w: tensor<97x97xf32>, %z: tensor<97x65xf16>) -> (tensor<70x97xf32>, tensor<97x65xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %ex = tensor.empty() : tensor<70x97xf32>
  %ez = tensor.empty() : tensor<97x65xf32>
  %en = tensor.empty() : tensor<97x65xf16>
  %left = scf.for %t = %c0 to %c3 step %c1 iter_args(%h = %x) -> (tensor<70x97xf32>) {
    %s = linalg.fill ins(%zero : f32) outs(%ex : tensor<70x97xf32>) -> tensor<70x97xf32>
    %p = linalg.matmul ins(%h, %w : tensor<70x97xf32>, tensor<97x97xf32>) outs(%s : tensor<70x97xf32>) -> tensor<70x97xf32>
    %r = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%p : tensor<70x97xf32>) outs(%ex : tensor<70x97xf32>) {
      ^bb0(%v: f32, %o: f32):
        %y = arith.mulf %v, %scale : f32
        %u = math.tanh %y : f32
        linalg.yield %u : f32
    } -> tensor<70x97xf32>
    scf.yield %r : tensor<70x97xf32>
  }
  %right = scf.for %t = %c0 to %c3 step %c1 iter_args(%h = %z) -> (tensor<97x65xf16>) {
    %s = linalg.fill ins(%zero : f32) outs(%ez : tensor<97x65xf32>) -> tensor<97x65xf32>
    %p = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%w, %h : tensor<97x97xf32>, tensor<97x65xf16>) outs(%s : tensor<97x65xf32>) {
      ^bb0(%v: f32, %f: f16, %o: f32):
        %g = arith.extf %f : f16 to f32
        %q = arith.mulf %v, %g : f32
        %y = arith.addf %o, %q : f32
        linalg.yield %y : f32
    } -> tensor<97x65xf32>
    %r = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%p : tensor<97x65xf32>) outs(%en : tensor<97x65xf16>) {
      ^bb0(%v: f32, %o: f16):
        %y = arith.mulf %v, %scale : f32
        %u = arith.truncf %y : f32 to f16
        linalg.yield %u : f16
    } -> tensor<97x65xf16>
    scf.yield %r : tensor<97x65xf16>
  }
  return %left, %right : tensor<70x97xf32>, tensor<97x65xf16>
}
