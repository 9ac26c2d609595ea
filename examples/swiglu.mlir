// The feed-forward block of LLaMA, in f16 with sums in f32: 64 tokens, 256 -> 704 -> 256 features.
//
//   h = silu(x * gate) . (x * up);   y = h * down;   silu(v) = v / (1 + exp(-v))
//
// On chips of lanes it is two launches: the gate and the projection read x once, and their sums are never in memory
// (docs/simt/tile-programs.md, "Columns"):
//
//   tw-run examples/swiglu.mlir --target nvidia:H200 --device emulator --verify

#matrix = affine_map<(i, j) -> (i, j)>

func.func @swiglu(%x: tensor<64x256xf16>, %gate: tensor<256x704xf16>, %up: tensor<256x704xf16>,
                  %down: tensor<704x256xf16>) -> tensor<64x256xf16> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %wide = tensor.empty() : tensor<64x704xf32>
  %none = linalg.fill ins(%zero : f32) outs(%wide : tensor<64x704xf32>) -> tensor<64x704xf32>
  %g = linalg.matmul ins(%x, %gate : tensor<64x256xf16>, tensor<256x704xf16>)
                     outs(%none : tensor<64x704xf32>) -> tensor<64x704xf32>
  %u = linalg.matmul ins(%x, %up : tensor<64x256xf16>, tensor<256x704xf16>)
                     outs(%none : tensor<64x704xf32>) -> tensor<64x704xf32>
  %h_empty = tensor.empty() : tensor<64x704xf16>
  %h = linalg.generic {indexing_maps = [#matrix, #matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%g, %u : tensor<64x704xf32>, tensor<64x704xf32>) outs(%h_empty : tensor<64x704xf16>) {
    ^bb0(%a: f32, %b: f32, %o: f16):
      %minus = arith.negf %a : f32
      %e = math.exp %minus : f32
      %below = arith.addf %e, %one : f32
      %silu = arith.divf %a, %below : f32
      %gated = arith.mulf %silu, %b : f32
      %narrow = arith.truncf %gated : f32 to f16
      linalg.yield %narrow : f16
  } -> tensor<64x704xf16>

  %sums = tensor.empty() : tensor<64x256xf32>
  %nothing = linalg.fill ins(%zero : f32) outs(%sums : tensor<64x256xf32>) -> tensor<64x256xf32>
  %d = linalg.matmul ins(%h, %down : tensor<64x704xf16>, tensor<704x256xf16>)
                     outs(%nothing : tensor<64x256xf32>) -> tensor<64x256xf32>
  %y_empty = tensor.empty() : tensor<64x256xf16>
  %y = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]}
      ins(%d : tensor<64x256xf32>) outs(%y_empty : tensor<64x256xf16>) {
    ^bb0(%a: f32, %o: f16):
      %narrow = arith.truncf %a : f32 to f16
      linalg.yield %narrow : f16
  } -> tensor<64x256xf16>
  return %y : tensor<64x256xf16>
}
