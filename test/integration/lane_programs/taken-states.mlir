// States that were another one: by a case, a choice, an inner loop, or in part.
func.func @states(%x: tensor<70xf32>, %y: tensor<70xf32>, %times: index)
    -> (tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %empty = tensor.empty() : tensor<70xf32>
  %case:2 = scf.for %t = %c0 to %times step %c1 iter_args(%a = %x, %b = %y) -> (tensor<70xf32>, tensor<70xf32>) {
    %bit = arith.remui %t, %c2 : index
    %old = scf.index_switch %bit -> tensor<70xf32>
    case 0 {
      scf.yield %a : tensor<70xf32>
    }
    default {
      scf.yield %b : tensor<70xf32>
    }
    %sum = linalg.add ins(%a, %b : tensor<70xf32>, tensor<70xf32>) outs(%empty : tensor<70xf32>) -> tensor<70xf32>
    scf.yield %sum, %old : tensor<70xf32>, tensor<70xf32>
  }
  %choice:2 = scf.for %t = %c0 to %times step %c1 iter_args(%a = %x, %b = %y) -> (tensor<70xf32>, tensor<70xf32>) {
    %bit = arith.remui %t, %c2 : index
    %even = arith.cmpi eq, %bit, %c0 : index
    %old = arith.select %even, %a, %b : tensor<70xf32>
    %sum = linalg.add ins(%a, %b : tensor<70xf32>, tensor<70xf32>) outs(%empty : tensor<70xf32>) -> tensor<70xf32>
    scf.yield %sum, %old : tensor<70xf32>, tensor<70xf32>
  }
  %inner:2 = scf.for %t = %c0 to %times step %c1 iter_args(%a = %x, %b = %y) -> (tensor<70xf32>, tensor<70xf32>) {
    %bit = arith.remui %t, %c2 : index
    %doubled:2 = scf.while (%i = %bit, %g = %a) : (index, tensor<70xf32>) -> (index, tensor<70xf32>) {
      %more = arith.cmpi slt, %i, %c1 : index
      scf.condition(%more) %i, %g : index, tensor<70xf32>
    } do {
    ^bb0(%i: index, %g: tensor<70xf32>):
      %next = arith.addi %i, %c1 : index
      %twice = linalg.add ins(%g, %g : tensor<70xf32>, tensor<70xf32>) outs(%empty : tensor<70xf32>) -> tensor<70xf32>
      scf.yield %next, %twice : index, tensor<70xf32>
    }
    %less = linalg.negf ins(%b : tensor<70xf32>) outs(%empty : tensor<70xf32>) -> tensor<70xf32>
    scf.yield %less, %doubled#1 : tensor<70xf32>, tensor<70xf32>
  }
  %part = tensor.extract_slice %y[0] [2] [1] : tensor<70xf32> to tensor<2xf32>
  %slice:2 = scf.for %t = %c0 to %times step %c1 iter_args(%a = %x, %b = %part) -> (tensor<70xf32>, tensor<2xf32>) {
    %old = tensor.extract_slice %a[1] [2] [1] : tensor<70xf32> to tensor<2xf32>
    %first = arith.cmpi eq, %t, %c0 : index
    %new = scf.if %first -> tensor<70xf32> {
      %z = linalg.negf ins(%a : tensor<70xf32>) outs(%empty : tensor<70xf32>) -> tensor<70xf32>
      scf.yield %z : tensor<70xf32>
    } else {
      %z = linalg.add ins(%a, %a : tensor<70xf32>, tensor<70xf32>) outs(%empty : tensor<70xf32>) -> tensor<70xf32>
      scf.yield %z : tensor<70xf32>
    }
    scf.yield %new, %old : tensor<70xf32>, tensor<2xf32>
  }
  return %case#0, %case#1, %choice#0, %choice#1, %inner#0, %inner#1, %slice#0, %slice#1
      : tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<70xf32>, tensor<2xf32>
}
