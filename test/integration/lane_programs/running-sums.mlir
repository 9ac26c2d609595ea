// Running sums along rows and along columns by loops that carry a tensor.
func.func @cumsum(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %down = scf.for %i = %c1 to %m step %c1 iter_args(%a = %x) -> tensor<?x?xf32> {
    %before = arith.subi %i, %c1 : index
    %p = tensor.extract_slice %a[%before, 0] [1, %n] [1, 1] : tensor<?x?xf32> to tensor<1x?xf32>
    %q = tensor.extract_slice %a[%i, 0] [1, %n] [1, 1] : tensor<?x?xf32> to tensor<1x?xf32>
    %s = arith.addf %p, %q : tensor<1x?xf32>
    %b = tensor.insert_slice %s into %a[%i, 0] [1, %n] [1, 1] : tensor<1x?xf32> into tensor<?x?xf32>
    scf.yield %b : tensor<?x?xf32>
  }
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %right = scf.for %i = %c0 to %m step %c1 iter_args(%a = %e) -> tensor<?x?xf32> {
    %zero = arith.constant 0.0 : f32
    %row:2 = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a, %s = %zero) -> (tensor<?x?xf32>, f32) {
      %v = tensor.extract %x[%i, %j] : tensor<?x?xf32>
      %t = arith.addf %s, %v : f32
      %c = tensor.insert %t into %b[%i, %j] : tensor<?x?xf32>
      scf.yield %c, %t : tensor<?x?xf32>, f32
    }
    scf.yield %row#0 : tensor<?x?xf32>
  }
  return %down, %right : tensor<?x?xf32>, tensor<?x?xf32>
}
