// Sizes that are quotients and remainders of what is negative where there are few elements.
func.func @divisions(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m1 = arith.subi %n, %c1 : index
  %m3 = arith.subi %n, %c3 : index
  %q0 = arith.divui %m1, %c2 : index
  %s0 = arith.minsi %q0, %c5 : index
  %q1 = arith.divsi %m3, %c2 : index
  %s1 = arith.addi %q1, %c3 : index
  %s2 = arith.remui %m1, %c3 : index
  %q3 = arith.remsi %m3, %c2 : index
  %s3 = arith.addi %q3, %c2 : index
  %e0 = tensor.empty(%s0) : tensor<?xf32>
  %r0 = linalg.fill ins(%one : f32) outs(%e0 : tensor<?xf32>) -> tensor<?xf32>
  %e1 = tensor.empty(%s1) : tensor<?xf32>
  %r1 = linalg.fill ins(%one : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
  %e2 = tensor.empty(%s2) : tensor<?xf32>
  %r2 = linalg.fill ins(%one : f32) outs(%e2 : tensor<?xf32>) -> tensor<?xf32>
  %e3 = tensor.empty(%s3) : tensor<?xf32>
  %r3 = linalg.fill ins(%one : f32) outs(%e3 : tensor<?xf32>) -> tensor<?xf32>
  return %r0, %r1, %r2, %r3 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
