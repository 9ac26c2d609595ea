// An LSTM over a sequence of any length: four gates of a step from one product each of input and state.
#b = affine_map<(i, j) -> (i, j)>
#v = affine_map<(i, j) -> (j)>
func.func @lstm(%x: tensor<?x3x20xf32>, %w: tensor<20x28xf32>, %u: tensor<7x28xf32>, %bias: tensor<28xf32>) -> (tensor<?x3x7xf32>, tensor<3x7xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x3x20xf32>
  %eh = tensor.empty() : tensor<3x7xf32>
  %h0 = linalg.fill ins(%zero : f32) outs(%eh : tensor<3x7xf32>) -> tensor<3x7xf32>
  %eg = tensor.empty() : tensor<3x28xf32>
  %all = tensor.empty(%n) : tensor<?x3x7xf32>
  %r:3 = scf.for %t = %c0 to %n step %c1 iter_args(%h = %h0, %c = %h0, %out = %all) -> (tensor<3x7xf32>, tensor<3x7xf32>, tensor<?x3x7xf32>) {
    %now = tensor.extract_slice %x[%t, 0, 0] [1, 3, 20] [1, 1, 1] : tensor<?x3x20xf32> to tensor<3x20xf32>
    %start = linalg.generic {indexing_maps = [#v, #b], iterator_types = ["parallel", "parallel"]} ins(%bias : tensor<28xf32>) outs(%eg : tensor<3x28xf32>) {
      ^bb0(%a: f32, %o: f32):
        linalg.yield %a : f32
    } -> tensor<3x28xf32>
    %g0 = linalg.matmul ins(%now, %w : tensor<3x20xf32>, tensor<20x28xf32>) outs(%start : tensor<3x28xf32>) -> tensor<3x28xf32>
    %g = linalg.matmul ins(%h, %u : tensor<3x7xf32>, tensor<7x28xf32>) outs(%g0 : tensor<3x28xf32>) -> tensor<3x28xf32>
    %gi = tensor.extract_slice %g[0, 0] [3, 7] [1, 1] : tensor<3x28xf32> to tensor<3x7xf32>
    %gf = tensor.extract_slice %g[0, 7] [3, 7] [1, 1] : tensor<3x28xf32> to tensor<3x7xf32>
    %gc = tensor.extract_slice %g[0, 14] [3, 7] [1, 1] : tensor<3x28xf32> to tensor<3x7xf32>
    %go = tensor.extract_slice %g[0, 21] [3, 7] [1, 1] : tensor<3x28xf32> to tensor<3x7xf32>
    %next:2 = linalg.generic {indexing_maps = [#b, #b, #b, #b, #b, #b, #b], iterator_types = ["parallel", "parallel"]}
        ins(%gi, %gf, %gc, %go, %c : tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>)
        outs(%eh, %eh : tensor<3x7xf32>, tensor<3x7xf32>) {
      ^bb0(%a: f32, %f: f32, %k: f32, %o: f32, %s: f32, %p: f32, %q: f32):
        %na = arith.negf %a : f32
        %ea = math.exp %na : f32
        %da = arith.addf %ea, %one : f32
        %sa = arith.divf %one, %da : f32
        %nf = arith.negf %f : f32
        %ef = math.exp %nf : f32
        %df = arith.addf %ef, %one : f32
        %sf = arith.divf %one, %df : f32
        %tk = math.tanh %k : f32
        %no = arith.negf %o : f32
        %eo = math.exp %no : f32
        %do = arith.addf %eo, %one : f32
        %so = arith.divf %one, %do : f32
        %keep = arith.mulf %sf, %s : f32
        %new = arith.mulf %sa, %tk : f32
        %c2 = arith.addf %keep, %new : f32
        %tc = math.tanh %c2 : f32
        %h2 = arith.mulf %so, %tc : f32
        linalg.yield %h2, %c2 : f32, f32
    } -> (tensor<3x7xf32>, tensor<3x7xf32>)
    %out2 = tensor.insert_slice %next#0 into %out[%t, 0, 0] [1, 3, 7] [1, 1, 1] : tensor<3x7xf32> into tensor<?x3x7xf32>
    scf.yield %next#0, %next#1, %out2 : tensor<3x7xf32>, tensor<3x7xf32>, tensor<?x3x7xf32>
  }
  return %r#2, %r#1 : tensor<?x3x7xf32>, tensor<3x7xf32>
}
