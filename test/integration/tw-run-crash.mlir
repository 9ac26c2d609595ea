#map = affine_map<() -> ()>
#map1 = affine_map<() -> (33)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0) -> ()>
module attributes {tilewright.fp = "default", tilewright.reference, tilewright.target = "cpu:host", tilewright.threads = 1 : i64} {
  func.func @main(%arg0: tensor<f32>, %arg1: tensor<33xf32>) -> (tensor<f32>, tensor<f32>, tensor<33xf32>) attributes {tilewright.array_results = array<i1: true, true, true>, tilewright.shapes = [#map, #map1, #map, #map, #map1]} {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<f32>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = []} outs(%0 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %2 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["reduction"]} ins(%arg1 : tensor<33xf32>) outs(%1 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %5 = arith.mulf %in, %in : f32
      %6 = arith.addf %out, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<f32>
    %3 = tensor.empty() : tensor<33xf32>
    %4 = linalg.generic {indexing_maps = [#map3, #map2, #map2], iterator_types = ["parallel"]} ins(%2, %arg1 : tensor<f32>, tensor<33xf32>) outs(%3 : tensor<33xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %5 = arith.maximumf %in, %in_0 : f32
      linalg.yield %5 : f32
    } -> tensor<33xf32>
    return %2, %2, %4 : tensor<f32>, tensor<f32>, tensor<33xf32>
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(func.func(copy-yielded-slices),one-shot-bufferize{allow-return-allocs-from-loops=true allow-unknown-ops=false analysis-fuzzer-seed=0 analysis-heuristic=bottom-up buffer-alignment=64 bufferize-function-boundaries=true check-parallel-regions=true copy-before-write=false  dump-alias-sets=false function-boundary-type-conversion=identity-layout-map must-infer-memory-space=false  print-conflicts=false test-analysis-only=false unknown-type-conversion=identity-layout-map use-encoding-for-memory-space=false},buffer-results-to-out-params{add-result-attr=false hoist-dynamic-allocs=true hoist-static-allocs=true modify-public-functions=true},func.func(scf-forall-to-for,convert-linalg-to-loops))",
      disable_threading: true,
      verify_each: false
    }
  }
#-}
