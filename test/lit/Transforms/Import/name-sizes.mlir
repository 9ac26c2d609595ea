// RUN: tw-opt %s --name-sizes | FileCheck %s

// CHECK-DAG: #[[MK:.*]] = affine_map<()[s0, s1, s2] -> (s0, s1)>
// CHECK-DAG: #[[KN:.*]] = affine_map<()[s0, s1, s2] -> (s1, s2)>
// CHECK-DAG: #[[MN:.*]] = affine_map<()[s0, s1, s2] -> (s0, s2)>
// CHECK-DAG: #[[FIRST:.*]] = affine_map<()[s0, s1] -> (s0)>
// CHECK-DAG: #[[SECOND:.*]] = affine_map<()[s0, s1] -> (s1)>
// CHECK-DAG: #[[NONE:.*]] = affine_map<()[s0, s1] -> ()>
// CHECK-DAG: #[[TIED:.*]] = affine_set<()[s0, s1] : (s1 - (s0 - 2) == 0)>
// CHECK-DAG: #[[EIGHT:.*]] = affine_set<()[s0] : (s0 - 8 == 0)>

// The k of a product is one size; the result's rows and columns are those of the operands.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: tilewright.array_results = array<i1: true>
// CHECK-SAME: tilewright.shapes = [#[[MK]], #[[KN]], #[[MN]], #[[MN]]]
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// A result whose size follows from an argument's is a size of its own, tied by an equality; scalars have no sizes.
// CHECK-LABEL: func.func @inner(
// CHECK-SAME: tilewright.array_results = array<i1: true, false>
// CHECK-SAME: tilewright.constraints = #[[TIED]]
// CHECK-SAME: tilewright.shapes = [#[[FIRST]], #[[SECOND]], #[[NONE]]]
func.func @inner(%a: tensor<?xf32>) -> (tensor<?xf32>, f32) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %m = affine.apply affine_map<(d0) -> (d0 - 2)>(%n)
  %r = tensor.extract_slice %a[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
  %x = tensor.extract %a[%c0] : tensor<?xf32>
  return %r, %x : tensor<?xf32>, f32
}

// A dynamic size that a cast or a static operand fixes must have that value.
// CHECK-LABEL: func.func @fixed(
// CHECK-SAME: tilewright.constraints = #[[EIGHT]]
func.func @fixed(%a: tensor<?xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.copy ins(%a : tensor<?xf32>) outs(%b : tensor<8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// What a loop carries keeps its size.
// CHECK-LABEL: func.func @carried(
// CHECK-SAME: tilewright.shapes = [#[[IN:map[0-9]*]], #{{map[0-9]*}}, #[[IN]]]
func.func @carried(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%x = %a, %i = %c0) : (tensor<?xf32>, index) -> (tensor<?xf32>, index) {
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %x, %i : tensor<?xf32>, index
  } do {
  ^bb0(%y: tensor<?xf32>, %j: index):
    %z = arith.addf %y, %y : tensor<?xf32>
    %k = arith.addi %j, %c1 : index
    scf.yield %z, %k : tensor<?xf32>, index
  }
  return %r#0 : tensor<?xf32>
}

// A loop whose tensor shrinks: the result has a size of its own.
// CHECK-LABEL: func.func @shrinks(
// CHECK-SAME: tilewright.shapes = [#[[FIRST]], #[[SECOND]]]
func.func @shrinks(%a: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> tensor<?xf32> {
    %d = tensor.dim %x, %c0 : tensor<?xf32>
    %m = arith.subi %d, %c1 : index
    %u = tensor.extract_slice %x[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    scf.yield %u : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// The same with scf.while: the result of the last round is of no size that is known outside.
// CHECK-LABEL: func.func @shrinks_while(
// CHECK-SAME: tilewright.shapes = [#[[FIRST]], #[[SECOND]]]
func.func @shrinks_while(%a: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.while (%x = %a) : (tensor<?xf32>) -> tensor<?xf32> {
    %d = tensor.dim %x, %c0 : tensor<?xf32>
    %more = arith.cmpi sgt, %d, %c3 : index
    scf.condition(%more) %x : tensor<?xf32>
  } do {
  ^bb0(%y: tensor<?xf32>):
    %d = tensor.dim %y, %c0 : tensor<?xf32>
    %m = arith.subi %d, %c1 : index
    %u = tensor.extract_slice %y[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
    scf.yield %u : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// A branch inside a loop, which therefore keeps its tensor's size.
// CHECK-LABEL: func.func @sides(
// CHECK-SAME: tilewright.shapes = [#[[A:map[0-9]*]], #map{{[0-9]*}}, #[[A]]]
func.func @sides(%a: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %l = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> tensor<?xf32> {
    %s = scf.if %c -> tensor<?xf32> {
      %z = arith.addf %x, %x : tensor<?xf32>
      scf.yield %z : tensor<?xf32>
    } else {
      scf.yield %x : tensor<?xf32>
    }
    scf.yield %s : tensor<?xf32>
  }
  return %l : tensor<?xf32>
}

// Sides of different sizes: the result has that of the side which is taken.
// CHECK-LABEL: func.func @different_sides(
// CHECK-SAME: tilewright.shapes = [#[[S0:map[0-9]*]], #[[S1:map[0-9]*]], #{{map[0-9]*}}, #[[S2:map[0-9]*]]]
func.func @different_sides(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %s = scf.if %c -> tensor<?xf32> {
    %z = arith.addf %a, %a : tensor<?xf32>
    scf.yield %z : tensor<?xf32>
  } else {
    scf.yield %b : tensor<?xf32>
  }
  return %s : tensor<?xf32>
}

// The same without work in the sides.
// CHECK-LABEL: func.func @selection(
// CHECK-SAME: tilewright.shapes = [#[[S0]], #[[S1]], #{{map[0-9]*}}, #[[S2]]]
func.func @selection(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %s = arith.select %c, %a, %b : tensor<?xf32>
  return %s : tensor<?xf32>
}

// A size inside that must be one of an argument, and follows from another's.
// CHECK-LABEL: func.func @inside(
// CHECK-SAME: tilewright.constraints = #[[TIED]]
// CHECK-SAME: tilewright.shapes = [#[[FIRST]], #[[SECOND]], #[[SECOND]]]
func.func @inside(%a: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %m = arith.subi %n, %c2 : index
  %s = tensor.extract_slice %a[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
  %r = arith.addf %s, %c : tensor<?xf32>
  return %r : tensor<?xf32>
}
