// RUN: tw-opt %s -name-sizes -check-operand-sizes | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The dimension of a view is the product of those that it makes one, whoever multiplies them: nothing to compare.
// CHECK-LABEL: func.func @view
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @view(%a: tensor<?x?x4xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %b = tensor.dim %a, %c0 : tensor<?x?x4xf32>
  %t = tensor.dim %a, %c1 : tensor<?x?x4xf32>
  %rows = arith.muli %t, %b : index
  %n = arith.muli %rows, %c4 : index
  %v = tensor.collapse_shape %a [[0, 1, 2]] : tensor<?x?x4xf32> into tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.exp ins(%v : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// A slice of a size that is read, and an argument: compared where the size becomes known.
// CHECK-LABEL: func.func @read
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK: %[[DIM:.*]] = tensor.dim %{{.*}}, %{{.*}} : tensor<?xf32>
// CHECK-NEXT: tile.require_size %[[N]], %[[DIM]]{{$}}
// CHECK-NEXT: tensor.extract_slice
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @read(%a: tensor<100xf32>, %b: tensor<?xf32>, %k: tensor<i64>) -> tensor<?xf32> {
  %k0 = tensor.extract %k[] : tensor<i64>
  %n = arith.index_cast %k0 : i64 to index
  %s = tensor.extract_slice %a[0] [%n] [1] : tensor<100xf32> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.add ins(%s, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %t = linalg.mul ins(%s, %b : tensor<?xf32>, tensor<?xf32>) outs(%r : tensor<?xf32>) -> tensor<?xf32>
  return %t : tensor<?xf32>
}

// A scalar argument is known when the call begins.
// CHECK-LABEL: func.func @scalar
// CHECK: tile.require_size %arg1, %{{.*}}
// CHECK: linalg.exp
func.func @scalar(%a: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %x = linalg.exp ins(%a : tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// The product of two sizes: it moves to the start, so that nothing stands between the operations.
// CHECK-LABEL: func.func @product
// CHECK: %[[N:.*]] = arith.muli
// CHECK: tile.require_size %[[N]], %{{.*}}
// CHECK: linalg.exp
// CHECK-NOT: tile.require_size
// CHECK: linalg.add
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %x = linalg.exp ins(%b : tensor<?xf32>) outs(%b : tensor<?xf32>) -> tensor<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %n = tensor.dim %a, %c1 : tensor<?x?xf32>
  %mn = arith.muli %m, %n : index
  %e = tensor.empty(%mn) : tensor<?xf32>
  %r = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Sides of different sizes: the result is compared behind the branch.
// CHECK-LABEL: func.func @branch
// CHECK: %[[R:.*]] = scf.if
// CHECK: %[[DIM:.*]] = tensor.dim %arg2
// CHECK: %[[N:.*]] = tensor.dim %[[R]]
// CHECK: tile.require_size %[[N]], %[[DIM]]
func.func @branch(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>, %f: i1) -> tensor<?xf32> {
  %s = scf.if %f -> tensor<?xf32> {
    %x = linalg.exp ins(%a : tensor<?xf32>) outs(%a : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %x : tensor<?xf32>
  } else {
    scf.yield %b : tensor<?xf32>
  }
  %r = linalg.add ins(%s, %c : tensor<?xf32>, tensor<?xf32>) outs(%c : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Sizes that only data knows: each pair, once, as soon as both are known.
// CHECK-LABEL: func.func @both
// CHECK: %[[M:.*]] = tensor.extract
// CHECK: %[[N:.*]] = tensor.extract
// CHECK: tile.require_size %[[M]], %[[N]]
// CHECK: %[[L:.*]] = tensor.extract
// CHECK: tile.require_size %[[M]], %[[L]]
// CHECK: linalg.add
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @both(%a: tensor<100xf32>, %k: tensor<3xindex>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = tensor.extract %k[%c0] : tensor<3xindex>
  %n = tensor.extract %k[%c1] : tensor<3xindex>
  %l = tensor.extract %k[%c2] : tensor<3xindex>
  %s = tensor.extract_slice %a[0] [%m] [1] : tensor<100xf32> to tensor<?xf32>
  %t = tensor.extract_slice %a[0] [%n] [1] : tensor<100xf32> to tensor<?xf32>
  %u = tensor.extract_slice %a[0] [%l] [1] : tensor<100xf32> to tensor<?xf32>
  %r = linalg.add ins(%s, %t : tensor<?xf32>, tensor<?xf32>) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %q = linalg.add ins(%s, %u : tensor<?xf32>, tensor<?xf32>) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %p = linalg.add ins(%r, %q : tensor<?xf32>, tensor<?xf32>) outs(%s : tensor<?xf32>) -> tensor<?xf32>
  %x = tensor.extract %p[%c0] : tensor<?xf32>
  return %x : f32
}

// In a loop, each round.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for
// CHECK: tile.require_size
// CHECK: scf.yield
func.func @loop(%a: tensor<?xf32>, %k: tensor<?xindex>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> tensor<?xf32> {
    %m = tensor.extract %k[%i] : tensor<?xindex>
    %e = tensor.empty(%m) : tensor<?xf32>
    %y = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// On one side of a branch: nobody asks for the size on the other.
// CHECK-LABEL: func.func @side
// CHECK: arith.cmpi
// CHECK-NOT: tile.require_size
// CHECK: scf.if
// CHECK: tile.require_size
// CHECK-NOT: tile.require_size
// CHECK: scf.yield
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @side(%a: tensor<?xf32>, %k: tensor<i64>, %c: tensor<?xf32>) -> tensor<?xf32> {
  %c5 = arith.constant 5 : index
  %k0 = tensor.extract %k[] : tensor<i64>
  %n = arith.index_cast %k0 : i64 to index
  %small = arith.cmpi sle, %n, %c5 : index
  %r = scf.if %small -> tensor<?xf32> {
    %s = tensor.extract_slice %a[1] [%n] [1] : tensor<?xf32> to tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %t = linalg.add ins(%s, %c : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  } else {
    scf.yield %c : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// What is compared before the call begins: sizes of arguments, affine functions of them, constants; and a dynamic
// broadcast, whose sides are taken to be equal.
// CHECK-LABEL: func.func @known
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @known(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %m = arith.subi %n, %c2 : index
  %s = tensor.extract_slice %a[1] [%m] [1] : tensor<?xf32> to tensor<?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %r = linalg.add ins(%s, %c : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %d = tensor.dim %b, %c0 : tensor<?xf32>
  %max = arith.maxui %n, %d : index
  %one = arith.cmpi eq, %d, %c1 : index
  %w = scf.if %one -> tensor<?xf32> {
    %f = tensor.empty(%max) : tensor<?xf32>
    %g = linalg.generic {indexing_maps = [affine_map<(d0) -> (0)>, #id], iterator_types = ["parallel"]}
        ins(%b : tensor<?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%x: f32, %o: f32):
      linalg.yield %x : f32
    } -> tensor<?xf32>
    scf.yield %g : tensor<?xf32>
  } else {
    scf.yield %b : tensor<?xf32>
  }
  %h = tensor.empty(%max) : tensor<?xf32>
  %q = linalg.add ins(%a, %w : tensor<?xf32>, tensor<?xf32>) outs(%h : tensor<?xf32>) -> tensor<?xf32>
  return %r, %q : tensor<?xf32>, tensor<?xf32>
}

// A dimension of an argument and the product that it is taken to be: 8 elements are no 4 rows of 3.
// CHECK-LABEL: func.func @expand
// CHECK: %[[EACH:.*]] = arith.divui
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[EACH]]
// CHECK: tile.require_size %[[PRODUCT]], %[[SIZE:.*]]{{$}}
// CHECK: tensor.expand_shape
func.func @expand(%a: tensor<?xf32>, %b: tensor<?xi8>) -> tensor<4x?xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %b, %c0 : tensor<?xi8>
  %each = arith.divui %n, %c4 : index
  %x = tensor.expand_shape %a [[0, 1]] output_shape [4, %each] : tensor<?xf32> into tensor<4x?xf32>
  return %x : tensor<4x?xf32>
}

// What is there by definition needs no check.
// CHECK-LABEL: func.func @expand_own
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @expand_own(%a: tensor<?x12xf32>) -> tensor<?x3x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?x12xf32>
  %x = tensor.expand_shape %a [[0], [1, 2]] output_shape [%n, 3, 4] : tensor<?x12xf32> into tensor<?x3x4xf32>
  return %x : tensor<?x3x4xf32>
}

// What is inserted has the slice's size.
// CHECK-LABEL: func.func @insert
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK: tile.require_size %[[N]], %{{.*}}
// CHECK: tensor.extract_slice
// CHECK-NOT: tile.require_size
// CHECK: return
func.func @insert(%a: tensor<100xf32>, %b: tensor<4x?xf32>, %k: tensor<i64>) -> tensor<4x?xf32> {
  %c1 = arith.constant 1 : index
  %k0 = tensor.extract %k[] : tensor<i64>
  %n = arith.index_cast %k0 : i64 to index
  %s = tensor.extract_slice %a[0] [%n] [1] : tensor<100xf32> to tensor<?xf32>
  %d = tensor.dim %b, %c1 : tensor<4x?xf32>
  %r = tensor.insert_slice %s into %b[2, 0] [1, %d] [1, 1] : tensor<?xf32> into tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// What the program asserts, at its place.
// CHECK-LABEL: func.func @asserted
// CHECK-SAME:    %[[P:.*]]: i1
// CHECK:         %[[ONE:.*]] = arith.constant 1 : index
// CHECK:         %[[HOLDS:.*]] = arith.index_castui %[[P]] : i1 to index
// CHECK:         tile.require_size %[[HOLDS]], %[[ONE]]
// CHECK-NOT:     cf.assert
func.func @asserted(%p: i1, %a: tensor<4xf32>) -> tensor<4xf32> {
  cf.assert %p, "sizes are what was traced"
  return %a : tensor<4xf32>
}

// An assertion of each element holds where it does for all: the inputs that it needs are read before the operation. What does the same
// whether it holds or not comes before the comparison.
// CHECK-LABEL: func.func @asserted_of_elements
// CHECK-SAME:    %[[A:.*]]: tensor<16xf32>, %[[N:.*]]: tensor<16xi64>
// CHECK:         %[[ALL:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[N]] : tensor<16xi64>)
// CHECK:           arith.cmpi sge
// CHECK:           arith.andi
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[A]], %[[N]]
// CHECK:         %[[HOLDS:.*]] = tensor.extract %[[ALL]][]
// CHECK:         %[[NUMBER:.*]] = arith.index_castui %[[HOLDS]]
// CHECK:         tile.require_size %[[NUMBER]], %{{.*}}
// CHECK-NOT:     cf.assert
func.func @asserted_of_elements(%a: tensor<16xf32>, %n: tensor<16xi64>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : i64
  %e = tensor.empty() : tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%a, %n : tensor<16xf32>, tensor<16xi64>) outs(%e : tensor<16xf32>) {
  ^bb0(%x: f32, %i: i64, %o: f32):
    %p = arith.cmpi sge, %i, %c0 : i64
    cf.assert %p, "an index is negative"
    %r = math.sqrt %x : f32
    linalg.yield %r : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// An element at an index that is read stays after the assertion of its range.
// CHECK-LABEL: func.func @asserted_index
// CHECK:         tile.require_size
// CHECK:         tensor.extract %arg0
func.func @asserted_index(%a: tensor<16xf32>, %n: tensor<16xi64>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : i64
  %yes = arith.constant true
  %e = tensor.empty() : tensor<16xf32>
  %s = tensor.empty() : tensor<i1>
  %start = linalg.fill ins(%yes : i1) outs(%s : tensor<i1>) -> tensor<i1>
  %all = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%n : tensor<16xi64>) outs(%start : tensor<i1>) {
  ^bb0(%i: i64, %o: i1):
    %p = arith.cmpi sge, %i, %c0 : i64
    %q = arith.andi %o, %p : i1
    linalg.yield %q : i1
  } -> tensor<i1>
  %holds = tensor.extract %all[] : tensor<i1>
  cf.assert %holds, "an index is negative"
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%n : tensor<16xi64>) outs(%e : tensor<16xf32>) {
  ^bb0(%i: i64, %o: f32):
    %at = arith.index_cast %i : i64 to index
    %x = tensor.extract %a[%at] : tensor<16xf32>
    linalg.yield %x : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// One that the program keeps inside of the array is read before it, and what is made of it: one sequence of operations
// without a comparison between. An index that may be one too large is not.
// CHECK-LABEL: func.func @asserted_clamped_index
// CHECK:         tensor.extract %arg0
// CHECK:         tensor.insert_slice
// CHECK:         tile.require_size
// CHECK-LABEL: func.func @asserted_index_clamped_too_late
// CHECK:         tile.require_size
// CHECK:         tensor.extract %arg0
func.func @asserted_clamped_index(%a: tensor<16xf32>, %n: tensor<16xi64>, %both: tensor<32xf32>) -> tensor<32xf32> {
  %c0 = arith.constant 0 : i64
  %last = arith.constant 15 : i64
  %yes = arith.constant true
  %e = tensor.empty() : tensor<16xf32>
  %s = tensor.empty() : tensor<i1>
  %start = linalg.fill ins(%yes : i1) outs(%s : tensor<i1>) -> tensor<i1>
  %all = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%n : tensor<16xi64>) outs(%start : tensor<i1>) {
  ^bb0(%i: i64, %o: i1):
    %p = arith.cmpi sge, %i, %c0 : i64
    %q = arith.andi %o, %p : i1
    linalg.yield %q : i1
  } -> tensor<i1>
  %holds = tensor.extract %all[] : tensor<i1>
  cf.assert %holds, "an index is negative"
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%n : tensor<16xi64>) outs(%e : tensor<16xf32>) {
  ^bb0(%i: i64, %o: f32):
    %below = arith.minsi %i, %last : i64
    %inside = arith.maxsi %below, %c0 : i64
    %at = arith.index_cast %inside : i64 to index
    %x = tensor.extract %a[%at] : tensor<16xf32>
    linalg.yield %x : f32
  } -> tensor<16xf32>
  %z = tensor.insert_slice %y into %both[16] [16] [1] : tensor<16xf32> into tensor<32xf32>
  return %z : tensor<32xf32>
}

func.func @asserted_index_clamped_too_late(%a: tensor<16xf32>, %n: tensor<16xi64>, %both: tensor<32xf32>) -> tensor<16xf32> {
  %c0 = arith.constant 0 : i64
  %last = arith.constant 16 : i64
  %yes = arith.constant true
  %e = tensor.empty() : tensor<16xf32>
  %s = tensor.empty() : tensor<i1>
  %start = linalg.fill ins(%yes : i1) outs(%s : tensor<i1>) -> tensor<i1>
  %all = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%n : tensor<16xi64>) outs(%start : tensor<i1>) {
  ^bb0(%i: i64, %o: i1):
    %p = arith.cmpi sge, %i, %c0 : i64
    %q = arith.andi %o, %p : i1
    linalg.yield %q : i1
  } -> tensor<i1>
  %holds = tensor.extract %all[] : tensor<i1>
  cf.assert %holds, "an index is negative"
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%n : tensor<16xi64>) outs(%e : tensor<16xf32>) {
  ^bb0(%i: i64, %o: f32):
    %below = arith.minsi %i, %last : i64
    %inside = arith.maxsi %below, %c0 : i64
    %at = arith.index_cast %inside : i64 to index
    %x = tensor.extract %a[%at] : tensor<16xf32>
    linalg.yield %x : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// One that is the same for all elements is computed once, and holds where there are none.
// CHECK-LABEL: func.func @asserted_of_all
// CHECK-SAME:    %[[A:.*]]: tensor<?xf32>, %[[P:.*]]: i1
// CHECK:         %[[HAS_NONE:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : index
// CHECK:         %[[HOLDS:.*]] = arith.ori %[[P]], %[[HAS_NONE]] : i1
// CHECK:         %[[NUMBER:.*]] = arith.index_castui %[[HOLDS]]
// CHECK:         tile.require_size %[[NUMBER]], %{{.*}}
// CHECK-NOT:     "reduction"
// CHECK:         linalg.generic
// CHECK-NOT:     cf.assert
func.func @asserted_of_all(%a: tensor<?xf32>, %p: i1) -> tensor<?xf32> {
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : tensor<?xf32>) {
  ^bb0(%o: f32):
    cf.assert %p, "training is not supported"
    %r = math.sqrt %o : f32
    linalg.yield %r : f32
  } -> tensor<?xf32>
  return %y : tensor<?xf32>
}
