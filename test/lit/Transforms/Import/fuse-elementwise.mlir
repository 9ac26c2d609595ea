// RUN: tw-opt %s --tw-import --split-input-file | FileCheck %s
// RUN: tw-opt %s "--fuse-elementwise=lanes" --split-input-file | FileCheck %s --check-prefix=LANES

// Three element-wise operations become one.
// CHECK-LABEL: func.func @chain
// CHECK-COUNT-1: linalg.generic
// CHECK:           arith.addf
// CHECK:           math.exp
// CHECK:           arith.mulf
// CHECK-NOT:     linalg.generic
func.func @chain(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = arith.addf %a, %b : tensor<4x8xf32>
  %1 = math.exp %0 : tensor<4x8xf32>
  %2 = arith.mulf %1, %a : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A producer with two users is computed once; a broadcast moves into both.
// CHECK-LABEL: func.func @shared
// CHECK:         linalg.generic
// CHECK:           math.exp
// CHECK:         linalg.generic
// CHECK-NOT:       math.exp
// CHECK:         linalg.generic
// CHECK-NOT:       math.exp
// CHECK-NOT:     linalg.generic
func.func @shared(%a: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %x = linalg.broadcast ins(%b : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0]
  %0 = math.exp %a : tensor<4x8xf32>
  %1 = arith.addf %0, %x : tensor<4x8xf32>
  %2 = arith.mulf %0, %x : tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Into a contraction moves no arithmetic, but a widening cast and a transposition do.
// CHECK-LABEL: func.func @contraction
// CHECK:         linalg.generic
// CHECK:           math.exp
// CHECK:         %[[INIT:.*]] = linalg.generic
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %arg1 : tensor<4x8xf32>, tensor<4x8xf16>) outs(%[[INIT]]
// CHECK:           arith.extf
// CHECK:           arith.mulf
func.func @contraction(%a: tensor<4x8xf32>, %b: tensor<4x8xf16>) -> tensor<4x4xf32> {
  %z = arith.constant 0.0 : f32
  %x = math.exp %a : tensor<4x8xf32>
  %w = arith.extf %b : tensor<4x8xf16> to tensor<4x8xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%w : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %f = tensor.empty() : tensor<4x4xf32>
  %g = linalg.fill ins(%z : f32) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x4xf32>) outs(%g : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// Into a reduction that is no contraction an element-wise producer moves.
// CHECK-LABEL: func.func @reduction
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// CHECK-SAME:      "reduction"
// CHECK:           math.exp
// CHECK:           arith.addf
// CHECK-NOT:     linalg.generic
func.func @reduction(%a: tensor<4x8xf32>) -> tensor<4xf32> {
  %z = arith.constant 0.0 : f32
  %x = math.exp %a : tensor<4x8xf32>
  %f = tensor.empty() : tensor<4xf32>
  %g = linalg.fill ins(%z : f32) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%g : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}

// -----

// Arrays of numbers are computed where they are read, also through views.
// CHECK-LABEL: func.func @numbers
// CHECK-NOT:     tensor.expand_shape
// CHECK:         linalg.generic {{.*}} ins(%arg0 :
// CHECK-DAG:       linalg.index 0
// CHECK-DAG:       linalg.index 1
// CHECK:           arith.cmpi
// CHECK:           arith.select
// CHECK-NOT:     linalg.generic
func.func @numbers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %none = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xi32>
  %n = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<8xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i32
    linalg.yield %c : i32
  } -> tensor<8xi32>
  %e4 = tensor.empty() : tensor<4xi32>
  %m = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e4 : tensor<4xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 0 : index
    %c = arith.index_cast %i : index to i32
    linalg.yield %c : i32
  } -> tensor<4xi32>
  %rows = tensor.expand_shape %m [[0, 1]] output_shape [4, 1] : tensor<4xi32> into tensor<4x1xi32>
  %columns = tensor.expand_shape %n [[0, 1]] output_shape [1, 8] : tensor<8xi32> into tensor<1x8xi32>
  %f = tensor.empty() : tensor<4x8xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>,
                                        affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %rows, %columns : tensor<4x8xf32>, tensor<4x1xi32>, tensor<1x8xi32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%a: f32, %i: i32, %j: i32, %o: f32):
    %c = arith.cmpi sle, %j, %i : i32
    %s = arith.select %c, %a, %none : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// A map behind another shape of a product takes the product's shape, and what else it reads is a view: both can be one kernel.
// CHECK-LABEL: func.func @behind_a_view
// CHECK-SAME: (%[[A:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<4x6xf32>, %[[R:.*]]: tensor<2x4x6xf32>)
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: %[[VIEW:.*]] = tensor.collapse_shape %[[R]] {{\[\[}}0, 1], [2]] : tensor<2x4x6xf32> into tensor<8x6xf32>
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[P]], %[[VIEW]] : tensor<8x6xf32>, tensor<8x6xf32>)
// CHECK: tensor.expand_shape %[[S]]
func.func @behind_a_view(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %r: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %t = arith.addf %s, %m : f32
    linalg.yield %t : f32
  } -> tensor<8x6xf32>
  %view = tensor.expand_shape %p [[0, 1], [2]] output_shape [2, 4, 6] : tensor<8x6xf32> into tensor<2x4x6xf32>
  %o = tensor.empty() : tensor<2x4x6xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>],
                         iterator_types = ["parallel", "parallel", "parallel"]} ins(%view, %r : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%o : tensor<2x4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<2x4x6xf32>
  return %sum : tensor<2x4x6xf32>
}

// -----

// Parts of a permuted array are parts of the array itself; each permutes as it is read.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: (%[[X:.*]]: tensor<5x2x4xf32>)
// CHECK-DAG: %[[A:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [5, 1, 4] [1, 1, 1] : tensor<5x2x4xf32> to tensor<5x4xf32>
// CHECK-DAG: %[[B:.*]] = tensor.extract_slice %[[X]][0, 1, 0] [5, 1, 4] [1, 1, 1] : tensor<5x2x4xf32> to tensor<5x4xf32>
// CHECK: linalg.generic {indexing_maps = [#[[T:.*]], #[[T]], #{{.*}}], iterator_types = ["parallel", "parallel"]} ins(%[[A]], %[[B]] : tensor<5x4xf32>, tensor<5x4xf32>)
// CHECK: arith.subf
// CHECK-NOT: linalg.generic
func.func @parts(%x: tensor<5x2x4xf32>) -> tensor<4x5xf32> {
  %e = tensor.empty() : tensor<2x4x5xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(p, i, j) -> (j, p, i)>, affine_map<(p, i, j) -> (p, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<5x2x4xf32>) outs(%e : tensor<2x4x5xf32>) {
  ^bb0(%v: f32, %old: f32):
    linalg.yield %v : f32
  } -> tensor<2x4x5xf32>
  %a = tensor.extract_slice %t[0, 0, 0] [1, 4, 5] [1, 1, 1] : tensor<2x4x5xf32> to tensor<4x5xf32>
  %b = tensor.extract_slice %t[1, 0, 0] [1, 4, 5] [1, 1, 1] : tensor<2x4x5xf32> to tensor<4x5xf32>
  %o = tensor.empty() : tensor<4x5xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x5xf32>, tensor<4x5xf32>) outs(%o : tensor<4x5xf32>) {
  ^bb0(%v: f32, %w: f32, %old: f32):
    %s = arith.subf %v, %w : f32
    linalg.yield %s : f32
  } -> tensor<4x5xf32>
  return %d : tensor<4x5xf32>
}

// -----

// Sizes of any number: maps and sums behind another shape of a product take its shape, and so does what is before one. The size of
// the new shape is the program's, or the product of those that become one.
// CHECK-LABEL: func.func @behind_a_dynamic_view
// CHECK-SAME: (%{{.*}}: tensor<?x6xf32>, %[[R:.*]]: tensor<?x?x6xf32>
// CHECK-DAG: %[[ROWS:.*]] = tensor.collapse_shape %[[R]] {{\[}}[0, 1], [2]] : tensor<?x?x6xf32> into tensor<?x6xf32>
// CHECK: %[[O:.*]] = linalg.generic {{.*}} ["parallel", "parallel"]} ins(%{{.*}}, %[[ROWS]] : tensor<?x6xf32>, tensor<?x6xf32>)
// CHECK-DAG: linalg.generic {{.*}} ["parallel", "reduction"]} ins(%[[O]] : tensor<?x6xf32>)
// CHECK-DAG: tensor.expand_shape %[[O]] {{.*}} into tensor<?x?x6xf32>
// CHECK: return
#dynamic = affine_map<(b, i, j) -> (b, i, j)>
func.func @behind_a_dynamic_view(%p: tensor<?x6xf32>, %r: tensor<?x?x6xf32>, %s: tensor<?x?xf32>) -> (tensor<?x?x6xf32>, tensor<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %r, %c0 : tensor<?x?x6xf32>
  %t = tensor.dim %r, %c1 : tensor<?x?x6xf32>
  %view = tensor.expand_shape %p [[0, 1], [2]] output_shape [%b, %t, 6] : tensor<?x6xf32> into tensor<?x?x6xf32>
  %e = tensor.empty(%b, %t) : tensor<?x?x6xf32>
  %sum = linalg.generic {indexing_maps = [#dynamic, #dynamic, #dynamic], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%view, %r : tensor<?x?x6xf32>, tensor<?x?x6xf32>) outs(%e : tensor<?x?x6xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<?x?x6xf32>
  %rows = linalg.generic {indexing_maps = [#dynamic, affine_map<(b, i, j) -> (b, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%sum : tensor<?x?x6xf32>) outs(%s : tensor<?x?xf32>) {
  ^bb0(%x: f32, %old: f32):
    %z = arith.addf %x, %old : f32
    linalg.yield %z : f32
  } -> tensor<?x?xf32>
  return %sum, %rows : tensor<?x?x6xf32>, tensor<?x?xf32>
}

// -----

// Another array has one of the dimensions alone: the map stays as it is.
// CHECK-LABEL: func.func @of_places
// CHECK: tensor.expand_shape
// CHECK: linalg.generic {{.*}} ["parallel", "parallel", "parallel"]}
func.func @of_places(%p: tensor<?x6xf32>, %r: tensor<?x6xf32>, %b: index) -> tensor<?x?x6xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %r, %c0 : tensor<?x6xf32>
  %view = tensor.expand_shape %p [[0, 1], [2]] output_shape [%b, %t, 6] : tensor<?x6xf32> into tensor<?x?x6xf32>
  %e = tensor.empty(%b, %t) : tensor<?x?x6xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (i, j)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%view, %r : tensor<?x?x6xf32>, tensor<?x6xf32>) outs(%e : tensor<?x?x6xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  } -> tensor<?x?x6xf32>
  return %sum : tensor<?x?x6xf32>
}

// -----

// What has a dimension of one element more is collapsed before it gets it.
// CHECK-LABEL: func.func @means
// CHECK: %[[ROWS:.*]] = tensor.collapse_shape %arg0 {{\[}}[0, 1], [2]] : tensor<?x?x6xf32> into tensor<?x6xf32>
// CHECK: %[[S:.*]] = linalg.generic {{.*}} ["parallel", "reduction"]} ins(%[[ROWS]] : tensor<?x6xf32>)
// CHECK-NOT: ["parallel", "parallel", "parallel"]
// CHECK: return {{.*}} : tensor<?x6xf32>
func.func @means(%x: tensor<?x?x6xf32>) -> tensor<?x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x?x6xf32>
  %t = tensor.dim %x, %c1 : tensor<?x?x6xf32>
  %se = tensor.empty(%b, %t) : tensor<?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%se : tensor<?x?xf32>) -> tensor<?x?xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<?x?x6xf32>) outs(%fill : tensor<?x?xf32>) dimensions = [2]
  %view = tensor.expand_shape %sum [[0], [1, 2]] output_shape [%b, %t, 1] : tensor<?x?xf32> into tensor<?x?x1xf32>
  %e = tensor.empty(%b, %t) : tensor<?x?x6xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, 0)>, affine_map<(b, i, j) -> (b, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %view : tensor<?x?x6xf32>, tensor<?x?x1xf32>) outs(%e : tensor<?x?x6xf32>) {
  ^bb0(%v: f32, %w: f32, %old: f32):
    %z = arith.divf %v, %w : f32
    linalg.yield %z : f32
  } -> tensor<?x?x6xf32>
  %rows = tensor.collapse_shape %o [[0, 1], [2]] : tensor<?x?x6xf32> into tensor<?x6xf32>
  return %rows : tensor<?x6xf32>
}

// -----

// Parts of a permuted array of any size.
// CHECK-LABEL: func.func @dynamic_parts
// CHECK-SAME: (%[[X:.*]]: tensor<?x2x4xf32>)
// CHECK-DAG: %[[A:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [%{{.*}}, 1, 4] [1, 1, 1] : tensor<?x2x4xf32> to tensor<?x4xf32>
// CHECK-DAG: %[[B:.*]] = tensor.extract_slice %[[X]][0, 1, 0] [%{{.*}}, 1, 4] [1, 1, 1] : tensor<?x2x4xf32> to tensor<?x4xf32>
// CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<?x4xf32>, tensor<?x4xf32>)
// CHECK-NOT: linalg.generic
func.func @dynamic_parts(%x: tensor<?x2x4xf32>) -> tensor<4x?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x2x4xf32>
  %e = tensor.empty(%n) : tensor<2x4x?xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(p, i, j) -> (j, p, i)>, affine_map<(p, i, j) -> (p, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<?x2x4xf32>) outs(%e : tensor<2x4x?xf32>) {
  ^bb0(%v: f32, %old: f32):
    linalg.yield %v : f32
  } -> tensor<2x4x?xf32>
  %a = tensor.extract_slice %t[0, 0, 0] [1, 4, %n] [1, 1, 1] : tensor<2x4x?xf32> to tensor<4x?xf32>
  %b = tensor.extract_slice %t[1, 0, 0] [1, 4, %n] [1, 1, 1] : tensor<2x4x?xf32> to tensor<4x?xf32>
  %o = tensor.empty(%n) : tensor<4x?xf32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<4x?xf32>, tensor<4x?xf32>) outs(%o : tensor<4x?xf32>) {
  ^bb0(%v: f32, %w: f32, %old: f32):
    %s = arith.subf %v, %w : f32
    linalg.yield %s : f32
  } -> tensor<4x?xf32>
  return %d : tensor<4x?xf32>
}

// -----

// With lanes a sum over rows computes again what is no larger in memory; what is larger, or costs more, it reads.

#both = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @sum_over_rows
// LANES-LABEL: func.func @sum_over_rows
// LANES:         %[[Y:.*]] = linalg.generic {{{.*}}iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<8x16xf16>)
// LANES:         linalg.generic {{{.*}}iterator_types = ["reduction", "parallel"]} ins(%arg0 : tensor<8x16xf16>)
// LANES:           arith.extf
// LANES:           arith.mulf
// LANES:           arith.addf
// LANES:         return %[[Y]]
func.func @sum_over_rows(%x: tensor<8x16xf16>, %s: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>) {
  %empty = tensor.empty() : tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf16>) outs(%empty : tensor<8x16xf32>) {
  ^bb0(%0: f16, %1: f32):
    %2 = arith.extf %0 : f16 to f32
    %3 = arith.mulf %2, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#both, #column], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<8x16xf32>) outs(%s : tensor<16xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.addf %1, %0 : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %y, %r : tensor<8x16xf32>, tensor<16xf32>
}

// LANES-LABEL: func.func @exponentials
// LANES:         %[[Y:.*]] = linalg.generic {{{.*}}iterator_types = ["parallel", "parallel"]}
// LANES:         linalg.generic {{{.*}}iterator_types = ["reduction", "parallel"]} ins(%[[Y]] : tensor<8x16xf32>)
func.func @exponentials(%x: tensor<8x16xf32>, %s: tensor<16xf32>) -> (tensor<8x16xf32>, tensor<16xf32>) {
  %empty = tensor.empty() : tensor<8x16xf32>
  %y = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x16xf32>) outs(%empty : tensor<8x16xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = math.exp %0 : f32
    linalg.yield %2 : f32
  } -> tensor<8x16xf32>
  %r = linalg.generic {indexing_maps = [#both, #column], iterator_types = ["reduction", "parallel"]}
      ins(%y : tensor<8x16xf32>) outs(%s : tensor<16xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.addf %1, %0 : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %y, %r : tensor<8x16xf32>, tensor<16xf32>
}

// -----

// A number behind an array of one element is read where it lies.
// LANES-LABEL: func.func @one_element
// LANES: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1xf32>, tensor<f32>)
func.func @one_element(%x: tensor<1xf32>, %y: tensor<f32>) -> tensor<f32> {
  %number = tensor.collapse_shape %x [] : tensor<1xf32> into tensor<f32>
  %empty = tensor.empty() : tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%number, %y : tensor<f32>, tensor<f32>) outs(%empty : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %t = arith.addf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}

// -----

#all = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>

// The logarithm of soft-max at an index: differences are computed in the sum of exponentials and in the choice, and no nest stores them.
// CHECK-LABEL: func.func @chosen
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
// CHECK:           math.exp
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%arg0
// CHECK:           arith.subf
// CHECK:           arith.select
// CHECK-NOT:     "parallel", "parallel"
// CHECK:         return
func.func @chosen(%x: tensor<8x512xf32>, %m: tensor<8xf32>, %t: tensor<8xi64>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x512xf32>
  %r = tensor.empty() : tensor<8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %d = linalg.generic {indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<8x512xf32>, tensor<8xf32>) outs(%e : tensor<8x512xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.subf %0, %1 : f32
    linalg.yield %3 : f32
  } -> tensor<8x512xf32>
  %s = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<8x512xf32>) outs(%zeros : tensor<8xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = math.exp %0 : f32
    %3 = arith.addf %1, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%t : tensor<8xi64>) outs(%r : tensor<8xf32>) {
  ^bb0(%0: i64, %1: f32):
    %i = linalg.index 0 : index
    %3 = arith.index_cast %0 : i64 to index
    %4 = tensor.extract %d[%i, %3] : tensor<8x512xf32>
    linalg.yield %4 : f32
  } -> tensor<8xf32>
  return %s, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

// Indices that follow from places are computed where they are used: no array of positions is written.
// CHECK-LABEL: func.func @positions
// CHECK-COUNT-1: linalg.generic
// CHECK:         linalg.index
// CHECK:         tensor.extract %arg0
// CHECK-NOT:     linalg.generic
func.func @positions(%table: tensor<64x8xf32>) -> tensor<32x8xf32> {
  %c63 = arith.constant 63 : i64
  %e = tensor.empty() : tensor<32xi64>
  %at = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<32xi64>) {
  ^bb0(%o: i64):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i64
    %r = arith.subi %c63, %n : i64
    linalg.yield %r : i64
  } -> tensor<32xi64>
  %f = tensor.empty() : tensor<32x8xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%at : tensor<32xi64>) outs(%f : tensor<32x8xf32>) {
  ^bb0(%k: i64, %o: f32):
    %row = arith.index_cast %k : i64 to index
    %column = linalg.index 1 : index
    %x = tensor.extract %table[%row, %column] : tensor<64x8xf32>
    linalg.yield %x : f32
  } -> tensor<32x8xf32>
  return %rows : tensor<32x8xf32>
}

// -----

// A window that is a test of many places moves into the choice, and is not written for each head: casts of places do not count.
// CHECK-LABEL: func.func @window
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         return
func.func @window(%x: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  %c8 = arith.constant 8 : i64
  %c9 = arith.constant 9 : i64
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<64x64xi1>
  %mask = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<64x64xi1>) {
  ^bb0(%o: i1):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %q = arith.index_cast %i : index to i64
    %k = arith.index_cast %j : index to i64
    %d = arith.subi %q, %k : i64
    %near = arith.cmpi slt, %d, %c8 : i64
    %after = arith.cmpi sge, %q, %k : i64
    %both = arith.andi %near, %after : i1
    %first = arith.cmpi slt, %k, %c9 : i64
    %kept = arith.ori %both, %first : i1
    %part = arith.divsi %q, %c9 : i64
    %other = arith.divsi %k, %c9 : i64
    %alike = arith.cmpi eq, %part, %other : i64
    %all = arith.andi %kept, %alike : i1
    linalg.yield %all : i1
  } -> tensor<64x64xi1>
  %f = tensor.empty() : tensor<4x64x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(h, i, j) -> (i, j)>, affine_map<(h, i, j) -> (h, i, j)>, affine_map<(h, i, j) -> (h, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%mask, %x : tensor<64x64xi1>, tensor<4x64x64xf32>) outs(%f : tensor<4x64x64xf32>) {
  ^bb0(%m: i1, %a: f32, %o: f32):
    %r = arith.select %m, %a, %least : f32
    linalg.yield %r : f32
  } -> tensor<4x64x64xf32>
  return %y : tensor<4x64x64xf32>
}

// -----

// Numbers that are rounded for a unit with scales are stored for it; without such a unit they are computed where they
// are scaled.
module attributes {tilewright.target = "amd:MI350"} {
// CHECK-LABEL: func @quantised
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @quantised(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf32> {
  %e = tensor.empty() : tensor<8x64xf8E4M3FN>
  %q = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k)>],
                       iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf8E4M3FN>) {
  ^bb0(%a: f32, %o: f8E4M3FN):
    %two = arith.constant 2.0 : f32
    %0 = arith.mulf %a, %two : f32
    %1 = arith.truncf %0 : f32 to f8E4M3FN
    linalg.yield %1 : f8E4M3FN
  } -> tensor<8x64xf8E4M3FN>
  %f = tensor.empty() : tensor<8x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k floordiv 32)>,
                                        affine_map<(i, k) -> (i, k)>], iterator_types = ["parallel", "parallel"]}
      ins(%q, %s : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) outs(%f : tensor<8x64xf32>) {
  ^bb0(%a: f8E4M3FN, %b: f8E8M0FNU, %o: f32):
    %0 = arith.extf %a : f8E4M3FN to f32
    %1 = arith.extf %b : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x64xf32>
  return %w : tensor<8x64xf32>
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: func @quantised
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @quantised(%x: tensor<8x64xf32>, %s: tensor<8x2xf8E8M0FNU>) -> tensor<8x64xf32> {
  %e = tensor.empty() : tensor<8x64xf8E4M3FN>
  %q = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k)>],
                       iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x64xf32>) outs(%e : tensor<8x64xf8E4M3FN>) {
  ^bb0(%a: f32, %o: f8E4M3FN):
    %two = arith.constant 2.0 : f32
    %0 = arith.mulf %a, %two : f32
    %1 = arith.truncf %0 : f32 to f8E4M3FN
    linalg.yield %1 : f8E4M3FN
  } -> tensor<8x64xf8E4M3FN>
  %f = tensor.empty() : tensor<8x64xf32>
  %w = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i, k floordiv 32)>,
                                        affine_map<(i, k) -> (i, k)>], iterator_types = ["parallel", "parallel"]}
      ins(%q, %s : tensor<8x64xf8E4M3FN>, tensor<8x2xf8E8M0FNU>) outs(%f : tensor<8x64xf32>) {
  ^bb0(%a: f8E4M3FN, %b: f8E8M0FNU, %o: f32):
    %0 = arith.extf %a : f8E4M3FN to f32
    %1 = arith.extf %b : f8E8M0FNU to f32
    %2 = arith.mulf %0, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x64xf32>
  return %w : tensor<8x64xf32>
}
}
