#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
module {
  func.func @quantised(%a: tensor<64x64xi8>, %b: tensor<64x96xi8>, %bias: tensor<96xi32>) -> tensor<64x96xi32> {
    %z = arith.constant 0 : i32
    %e = tensor.empty() : tensor<64x96xi32>
    %f = linalg.fill ins(%z : i32) outs(%e : tensor<64x96xi32>) -> tensor<64x96xi32>
    %p = linalg.matmul ins(%a, %b : tensor<64x64xi8>, tensor<64x96xi8>) outs(%f : tensor<64x96xi32>) -> tensor<64x96xi32>
    %r = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
        ins(%p, %bias : tensor<64x96xi32>, tensor<96xi32>) outs(%e : tensor<64x96xi32>) {
      ^bb0(%x: i32, %y: i32, %o: i32):
        %s = arith.addi %x, %y : i32
        %t = arith.maxsi %s, %z : i32
        linalg.yield %t : i32
    } -> tensor<64x96xi32>
    return %r : tensor<64x96xi32>
  }
}
