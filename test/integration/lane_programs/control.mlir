// Host control flow around launches: a loop whose end an element decides, a branch that replaces an array, a loop that
// carries a float, a constant table, and a scalar argument and result.
func.func @control(%x: tensor<37x50xf32>, %limit: f32) -> (tensor<37x50xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c9 = arith.constant 9 : index
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %table = arith.constant dense<[0.5, -1.0, 0.25, 2.0, 0.75]> : tensor<5xf32>
  // Halved until the first element is below the limit, nine times at most.
  %small:2 = scf.while (%t = %x, %i = %c0) : (tensor<37x50xf32>, index) -> (tensor<37x50xf32>, index) {
    %first = tensor.extract %t[%c0, %c1] : tensor<37x50xf32>
    %large = arith.cmpf oge, %first, %limit : f32
    %early = arith.cmpi slt, %i, %c9 : index
    %go = arith.andi %large, %early : i1
    scf.condition(%go) %t, %i : tensor<37x50xf32>, index
  } do {
  ^bb0(%t: tensor<37x50xf32>, %i: index):
    %e = tensor.empty() : tensor<37x50xf32>
    %h = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%t : tensor<37x50xf32>) outs(%e : tensor<37x50xf32>) {
      ^bb0(%v: f32, %o: f32):
        %w = arith.mulf %v, %half : f32
        linalg.yield %w : f32
    } -> tensor<37x50xf32>
    %n = arith.addi %i, %c1 : index
    scf.yield %h, %n : tensor<37x50xf32>, index
  }
  // A float goes around a loop beside an array, with a table's element each time.
  %sum, %scaled = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %one, %t = %small#0) -> (f32, tensor<37x50xf32>) {
    %w = tensor.extract %table[%i] : tensor<5xf32>
    %next = arith.addf %s, %w : f32
    %e = tensor.empty() : tensor<37x50xf32>
    %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%t : tensor<37x50xf32>) outs(%e : tensor<37x50xf32>) {
      ^bb0(%v: f32, %o: f32):
        %p = arith.mulf %v, %next : f32
        linalg.yield %p : f32
    } -> tensor<37x50xf32>
    scf.yield %next, %u : f32, tensor<37x50xf32>
  }
  %odd = arith.remui %small#1, %c3 : index
  %is = arith.cmpi eq, %odd, %c1 : index
  %r = scf.if %is -> (tensor<37x50xf32>) {
    scf.yield %scaled : tensor<37x50xf32>
  } else {
    %n = arith.addf %scaled, %x : tensor<37x50xf32>
    scf.yield %n : tensor<37x50xf32>
  }
  return %r, %sum : tensor<37x50xf32>, f32
}
