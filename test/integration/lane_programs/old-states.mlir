// Loops whose states pass into each other: a wave from its last two states, two arrays that change places each time, with
// and without a condition, and in a loop that counts itself.
#e = affine_map<(i) -> (i)>
func.func @states(%x: tensor<?xf32>, %y: tensor<?xf32>, %times: index)
    -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %r:2 = scf.for %t = %c0 to %times step %c1 iter_args(%now = %x, %before = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %wide = tensor.pad %now low[1] high[1] {
      ^bb0(%i: index):
        tensor.yield %zero : f32
    } : tensor<?xf32> to tensor<?xf32>
    %left = tensor.extract_slice %wide[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    %right = tensor.extract_slice %wide[2] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    %next = linalg.generic {indexing_maps = [#e, #e, #e, #e, #e], iterator_types = ["parallel"]}
        ins(%left, %now, %right, %before : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) {
      ^bb0(%l: f32, %m: f32, %q: f32, %b: f32, %o: f32):
        %s = arith.addf %l, %q : f32
        %h = arith.mulf %s, %half : f32
        %k = arith.addf %h, %m : f32
        %v = arith.subf %k, %b : f32
        linalg.yield %v : f32
    } -> tensor<?xf32>
    scf.yield %next, %now : tensor<?xf32>, tensor<?xf32>
  }
  %s:2 = scf.for %t = %c0 to %times step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    scf.yield %b, %a : tensor<?xf32>, tensor<?xf32>
  }
  %u:2 = scf.for %t = %c0 to %times step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %bit = arith.remui %t, %c2 : index
    %even = arith.cmpi eq, %bit, %c0 : index
    %v:2 = scf.if %even -> (tensor<?xf32>, tensor<?xf32>) {
      scf.yield %b, %a : tensor<?xf32>, tensor<?xf32>
    } else {
      %d = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
      scf.yield %d, %b : tensor<?xf32>, tensor<?xf32>
    }
    scf.yield %v#0, %v#1 : tensor<?xf32>, tensor<?xf32>
  }
  %w:3 = scf.while (%t = %c0, %a = %x, %b = %y) : (index, tensor<?xf32>, tensor<?xf32>) -> (index, tensor<?xf32>, tensor<?xf32>) {
    %more = arith.cmpi slt, %t, %times : index
    scf.condition(%more) %t, %b, %a : index, tensor<?xf32>, tensor<?xf32>
  } do {
  ^bb0(%t: index, %a: tensor<?xf32>, %b: tensor<?xf32>):
    %d = linalg.sub ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
    %next = arith.addi %t, %c1 : index
    scf.yield %next, %b, %d : index, tensor<?xf32>, tensor<?xf32>
  }
  return %r#0, %r#1, %s#0, %s#1, %u#0, %u#1, %w#2, %w#1
      : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
