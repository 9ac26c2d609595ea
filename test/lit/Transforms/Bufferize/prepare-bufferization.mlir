// RUN: tw-opt %s --prepare-bufferization --split-input-file | FileCheck %s

// Inputs may not be written; scalars become tensors of rank 0.
// CHECK-LABEL: func.func @scalars
// CHECK-SAME:    %arg0: tensor<4xf32> {bufferization.writable = false}
// CHECK-SAME:    -> (tensor<4xf32>, tensor<f32>)
// CHECK-SAME:    attributes {tilewright.inputs = 2 : i64, tilewright.outputs = 2 : i64}
// CHECK:         tensor.from_elements %arg1 : tensor<f32>
func.func @scalars(%a: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, f32) {
  return %a, %s : tensor<4xf32>, f32
}

// -----

// One tensor returned twice is two results.
// CHECK-LABEL: func.func @twice
// CHECK:         %[[COPY:.*]] = bufferization.alloc_tensor() copy(%arg0)
// CHECK:         return %arg0, %[[COPY]]
func.func @twice(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  return %a, %a : tensor<?xf32>, tensor<?xf32>
}

// -----

// So are two results of a branch, one of which is updated after it.
// CHECK-LABEL: func.func private @branch
// CHECK:         scf.if
// CHECK:           %[[COPY:.*]] = bufferization.alloc_tensor() copy(%arg0)
// CHECK:           scf.yield %arg0, %[[COPY]]
// CHECK:         else
// CHECK-NEXT:      scf.yield %arg1, %arg0
func.func private @branch(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: i1) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = scf.if %c -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  } else {
    scf.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What a loop computes anew goes into the buffer that it carries; what it updates is there already.
// CHECK-LABEL: func.func @loop
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %arg0, %[[Y:.*]] = %arg0)
// CHECK:           %[[NEW:.*]] = arith.addf
// CHECK:           %[[UPDATED:.*]] = tensor.insert
// CHECK:           %[[COPIED:.*]] = bufferization.materialize_in_destination %[[NEW]] in %[[X]]
// CHECK:           scf.yield %[[COPIED]], %[[UPDATED]]
func.func @loop(%a: tensor<4xf32>, %n: index, %s: f32) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> (tensor<4xf32>, tensor<4xf32>) {
    %z = arith.addf %x, %a : tensor<4xf32>
    %w = tensor.insert %s into %y[%i] : tensor<4xf32>
    scf.yield %z, %w : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A size that changes from iteration to iteration cannot stay in one buffer.
// CHECK-LABEL: func.func @growing
// CHECK-NOT:     materialize_in_destination
func.func @growing(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (tensor<?xf32>) {
    %z = tensor.concat dim(0) %x, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %z : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// A scalar result is an array from here on, and is counted as one.
// CHECK: func.func @mixed({{.*}}) -> (tensor<f32>, tensor<?xf32>)
// CHECK-SAME: tilewright.array_results = array<i1: true, true>
func.func @mixed(%a: tensor<?xf32>, %x: f32) -> (f32, tensor<?xf32>) attributes {tilewright.array_results = array<i1: false, true>} {
  return %x, %a : f32, tensor<?xf32>
}

// A function on memrefs keeps it: its arrays are arguments that it may write.
// CHECK: func.func @memrefs(%{{.*}}: memref<4xf32>, %{{.*}}: f32) -> f32
func.func @memrefs(%m: memref<4xf32>, %x: f32) -> f32 attributes {tilewright.array_results = array<i1: false>} {
  return %x : f32
}

// A loop that updates what an outer loop carries, in one side of a branch: the other side makes the copy, since behind
// the branch the buffer is written already.
// CHECK-LABEL: func.func @copy_in_branch
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %
// CHECK: scf.if
// CHECK: scf.for {{.*}} iter_args(%[[Y:.*]] = %[[X]])
// CHECK: bufferization.materialize_in_destination %{{.*}} in %[[Y]]
// CHECK: else
// CHECK: %[[N:.*]] = linalg.negf
// CHECK: %[[C:.*]] = bufferization.materialize_in_destination %[[N]] in %[[X]]
// CHECK: scf.yield %[[C]]
// CHECK-NOT: materialize_in_destination
func.func @copy_in_branch(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<4xf32> {
    %first = arith.cmpi eq, %i, %c0 : index
    %v = scf.if %first -> tensor<4xf32> {
      %w = scf.for %j = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
        %z = linalg.exp ins(%y : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
        scf.yield %z : tensor<4xf32>
      }
      scf.yield %w : tensor<4xf32>
    } else {
      %w = linalg.negf ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    }
    scf.yield %v : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// The old contents of a buffer leave before it is written.
// CHECK-LABEL: func.func @passed_on
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %arg0, %[[Y:.*]] = %arg0)
// CHECK:           %[[NEW:.*]] = arith.addf
// CHECK:           %[[OLD:.*]] = bufferization.materialize_in_destination %[[X]] in %[[Y]]
// CHECK:           %[[COPIED:.*]] = bufferization.materialize_in_destination %[[NEW]] in %[[X]]
// CHECK:           scf.yield %[[COPIED]], %[[OLD]]
func.func @passed_on(%a: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> (tensor<4xf32>, tensor<4xf32>) {
    %z = arith.addf %x, %y : tensor<4xf32>
    scf.yield %z, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// Where an insertion updates the other's buffer, its result is copied where it is made.
// CHECK-LABEL: func.func @inserted
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %arg0, %[[Y:.*]] = %arg0)
// CHECK:           %[[UPDATED:.*]] = tensor.insert %{{.*}} into %[[Y]]
// CHECK-NEXT:      %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[UPDATED]])
// CHECK:           %[[SECOND:.*]] = bufferization.materialize_in_destination %[[X]] in %[[Y]]
// CHECK:           %[[FIRST:.*]] = bufferization.materialize_in_destination %[[COPY]] in %[[X]]
// CHECK:           scf.yield %[[FIRST]], %[[SECOND]]
func.func @inserted(%a: tensor<4xf32>, %n: index, %s: f32) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> (tensor<4xf32>, tensor<4xf32>) {
    %z = tensor.insert %s into %y[%i] : tensor<4xf32>
    scf.yield %z, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// A branch does not write a buffer whose old contents are still wanted behind it: each side copies what it takes from the other's.
// CHECK-LABEL: func.func @exchanged_in_branch
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %arg0, %[[Y:.*]] = %arg0)
// CHECK:           scf.if
// CHECK-DAG:         %[[A:.*]] = bufferization.alloc_tensor() copy(%[[Y]])
// CHECK-DAG:         %[[B:.*]] = bufferization.alloc_tensor() copy(%[[X]])
// CHECK:             scf.yield %[[A]], %[[B]]
// CHECK:             %[[EXP:.*]] = linalg.exp
// CHECK-NOT:         bufferization
// CHECK:             scf.yield %[[EXP]], %[[Y]]
// CHECK:           materialize_in_destination
// CHECK:           materialize_in_destination
func.func @exchanged_in_branch(%a: tensor<4xf32>, %n: index, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> (tensor<4xf32>, tensor<4xf32>) {
    %first = arith.cmpi eq, %i, %c0 : index
    %v:2 = scf.if %first -> (tensor<4xf32>, tensor<4xf32>) {
      scf.yield %y, %x : tensor<4xf32>, tensor<4xf32>
    } else {
      %z = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %z, %y : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %v#0, %v#1 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// Where two change places, one of them is copied first.
// CHECK-LABEL: func.func @exchanged(
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %arg0, %[[Y:.*]] = %arg0)
// CHECK:           %[[OLD:.*]] = bufferization.alloc_tensor() copy(%[[X]])
// CHECK:           %[[FIRST:.*]] = bufferization.materialize_in_destination %[[Y]] in %[[X]]
// CHECK:           %[[SECOND:.*]] = bufferization.materialize_in_destination %[[OLD]] in %[[Y]]
// CHECK:           scf.yield %[[FIRST]], %[[SECOND]]
func.func @exchanged(%a: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %a) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %y, %x : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// What may lie in another's buffer: cases (branches from here on), a choice, a slice, and the state of an inner loop of either kind.
// CHECK-LABEL: func.func @may_lie_in
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %arg0, %[[C:.*]] = %arg0, %[[S:.*]] = %arg0, %[[P:.*]] = %{{.*}}, %[[F:.*]] = %arg0, %[[W:.*]] = %arg0)
// CHECK-NOT:       scf.index_switch
// CHECK:           scf.if
// CHECK-NEXT:        %[[CASE:.*]] = bufferization.alloc_tensor() copy(%[[X]])
// CHECK-NEXT:        %[[WRITTEN:.*]] = bufferization.materialize_in_destination %[[CASE]] in %[[C]]
// CHECK-NEXT:        scf.yield %[[WRITTEN]]
// CHECK:             scf.yield %[[C]]
// CHECK:           %[[CHOICE:.*]] = arith.select
// CHECK-NEXT:      bufferization.alloc_tensor() copy(%[[CHOICE]])
// CHECK:           %[[SLICE:.*]] = tensor.extract_slice %[[X]]
// CHECK-NEXT:      bufferization.alloc_tensor() copy(%[[SLICE]])
// CHECK:           %[[FOR:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[X]])
// CHECK:           bufferization.alloc_tensor() copy(%[[FOR]])
// CHECK:           %[[INIT:.*]] = bufferization.alloc_tensor() copy(%[[X]])
// CHECK-NEXT:      scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %[[INIT]])
func.func @may_lie_in(%a: tensor<4xf32>, %p: tensor<2xf32>, %n: index, %s: f32)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:6 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %c = %a, %h = %a, %q = %p, %f = %a, %w = %a)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) {
    %new = arith.addf %x, %f : tensor<4xf32>
    %case = scf.index_switch %i -> tensor<4xf32>
    case 0 {
      scf.yield %x : tensor<4xf32>
    }
    default {
      scf.yield %c : tensor<4xf32>
    }
    %first = arith.cmpi eq, %i, %c0 : index
    %choice = arith.select %first, %x, %h : tensor<4xf32>
    %slice = tensor.extract_slice %x[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %for = scf.for %j = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
      %z = tensor.insert %s into %y[%j] : tensor<4xf32>
      scf.yield %z : tensor<4xf32>
    }
    %while:2 = scf.while (%j = %i, %y = %x) : (index, tensor<4xf32>) -> (index, tensor<4xf32>) {
      %more = arith.cmpi slt, %j, %n : index
      scf.condition(%more) %j, %y : index, tensor<4xf32>
    } do {
    ^bb0(%j: index, %y: tensor<4xf32>):
      %next = arith.addi %j, %c1 : index
      %z = tensor.insert %s into %y[%j] : tensor<4xf32>
      scf.yield %next, %z : index, tensor<4xf32>
    }
    scf.yield %new, %case, %choice, %slice, %for, %while#1
        : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}

// A branch does not write a buffer of which a slice is read behind it.
// CHECK-LABEL: func.func @sliced
// CHECK:         scf.for {{.*}} iter_args(%[[X:.*]] = %arg0)
// CHECK:           scf.if
// CHECK-NOT:         materialize_in_destination
// CHECK:           tensor.insert_slice
// CHECK:           materialize_in_destination
func.func @sliced(%a: tensor<4xf32>, %e: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<4xf32> {
    %slice = tensor.extract_slice %x[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
    %first = arith.cmpi eq, %i, %c0 : index
    %v = scf.if %first -> tensor<4xf32> {
      %z = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %z : tensor<4xf32>
    } else {
      scf.yield %e : tensor<4xf32>
    }
    %old = tensor.insert_slice %slice into %e[0] [2] [1] : tensor<2xf32> into tensor<4xf32>
    %sum = arith.addf %old, %e : tensor<4xf32>
    %unused = tensor.extract %sum[%c0] : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A while loop over what an enclosing loop carries writes into its buffer; nothing is copied.
// CHECK-LABEL: func.func @while_in_for
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}})
// CHECK-NEXT: %[[W:.*]] = scf.while (%{{.*}} = %[[S]])
// CHECK-NOT: alloc_tensor
// CHECK: scf.yield %[[W]] : tensor<8xf32>
// CHECK-NEXT: }
func.func @while_in_for(%x: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %limit = arith.constant 1.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> tensor<8xf32> {
    %w = scf.while (%t = %s) : (tensor<8xf32>) -> tensor<8xf32> {
      %first = tensor.extract %t[%c0] : tensor<8xf32>
      %go = arith.cmpf ogt, %first, %limit : f32
      scf.condition(%go) %t : tensor<8xf32>
    } do {
    ^bb0(%t: tensor<8xf32>):
      %h = linalg.exp ins(%t : tensor<8xf32>) outs(%t : tensor<8xf32>) -> tensor<8xf32>
      scf.yield %h : tensor<8xf32>
    }
    scf.yield %w : tensor<8xf32>
  }
  return %r : tensor<8xf32>
}

// What it began with is yielded as well: the loop begins with a copy. In the other side of the branch it is the last reader.
// CHECK-LABEL: func.func @while_reads_again
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
// CHECK: scf.if
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK: scf.while (%{{.*}} = %[[COPY]])
// CHECK: } else {
// CHECK: scf.while (%{{.*}} = %[[A]])
func.func @while_reads_again(%x: tensor<8xf32>, %y: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %limit = arith.constant 1.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<8xf32>, tensor<8xf32>) {
    %first = arith.cmpi eq, %i, %c0 : index
    %s:2 = scf.if %first -> (tensor<8xf32>, tensor<8xf32>) {
      %w = scf.while (%t = %a) : (tensor<8xf32>) -> tensor<8xf32> {
        %e = tensor.extract %t[%c0] : tensor<8xf32>
        %go = arith.cmpf ogt, %e, %limit : f32
        scf.condition(%go) %t : tensor<8xf32>
      } do {
      ^bb0(%t: tensor<8xf32>):
        %h = linalg.exp ins(%t : tensor<8xf32>) outs(%t : tensor<8xf32>) -> tensor<8xf32>
        scf.yield %h : tensor<8xf32>
      }
      scf.yield %w, %a : tensor<8xf32>, tensor<8xf32>
    } else {
      %w = scf.while (%t = %a) : (tensor<8xf32>) -> tensor<8xf32> {
        %e = tensor.extract %t[%c0] : tensor<8xf32>
        %go = arith.cmpf ogt, %e, %limit : f32
        scf.condition(%go) %t : tensor<8xf32>
      } do {
      ^bb0(%t: tensor<8xf32>):
        %h = linalg.exp ins(%t : tensor<8xf32>) outs(%t : tensor<8xf32>) -> tensor<8xf32>
        scf.yield %h : tensor<8xf32>
      }
      scf.yield %w, %b : tensor<8xf32>, tensor<8xf32>
    }
    scf.yield %s#0, %s#1 : tensor<8xf32>, tensor<8xf32>
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}
