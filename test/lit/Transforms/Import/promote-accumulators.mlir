// RUN: tw-opt %s --promote-accumulators --split-input-file | FileCheck %s
// RUN: tw-opt %s "--promote-accumulators=lanes" --split-input-file | FileCheck %s --check-prefix=LANES

#id = affine_map<(i) -> (i)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @contraction
// CHECK:         %[[WIDE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<4x4xf32>)
// CHECK:           arith.extf
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<4x8xbf16>, tensor<8x4xbf16>) outs(%[[WIDE]] : tensor<4x4xf32>)
// CHECK:           %[[P:.*]] = arith.mulf {{.*}} : f32
// CHECK:           arith.addf %{{.*}}, %[[P]] : f32
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]] : tensor<4x4xf32>) outs(%{{.*}} : tensor<4x4xbf16>)
// CHECK:           arith.truncf
func.func @contraction(%x: tensor<4x8xbf16>, %y: tensor<8x4xbf16>, %z: tensor<4x4xbf16>) -> tensor<4x4xbf16> {
  %r = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<4x8xbf16>, tensor<8x4xbf16>) outs(%z : tensor<4x4xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %o: bf16):
    %m = arith.mulf %p, %q : bf16
    %s = arith.addf %o, %m : bf16
    linalg.yield %s : bf16
  } -> tensor<4x4xbf16>
  return %r : tensor<4x4xbf16>
}

// -----

// An element-wise operation stays in its type.
#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT:     f32
func.func @elementwise(%x: tensor<4xf16>, %z: tensor<4xf16>) -> tensor<4xf16> {
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf16>) outs(%z : tensor<4xf16>) {
  ^bb0(%p: f16, %o: f16):
    %m = arith.mulf %p, %p : f16
    linalg.yield %m : f16
  } -> tensor<4xf16>
  return %r : tensor<4xf16>
}

// -----

// Comparisons and selections follow their operands; a result of another type keeps it.
#a = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @argmax
// CHECK:         linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi32>)
// CHECK:           arith.cmpf ogt, %{{.*}} : f32
// CHECK:           arith.select %{{.*}} : f32
// CHECK:           arith.select %{{.*}} : i32
func.func @argmax(%x: tensor<4x8xf16>, %m: tensor<4xf16>, %at: tensor<4xi32>) -> (tensor<4xf16>, tensor<4xi32>) {
  %r:2 = linalg.generic {indexing_maps = [#a, #r, #r], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf16>) outs(%m, %at : tensor<4xf16>, tensor<4xi32>) {
  ^bb0(%p: f16, %o: f16, %i: i32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %c = arith.cmpf ogt, %p, %o : f16
    %s = arith.select %c, %p, %o : f16
    %t = arith.select %c, %k, %i : i32
    linalg.yield %s, %t : f16, i32
  } -> (tensor<4xf16>, tensor<4xi32>)
  return %r#0, %r#1 : tensor<4xf16>, tensor<4xi32>
}

// -----

// With lanes, bools are combined in i32, over rows alone.

// LANES-LABEL: func.func @any
// LANES:         linalg.generic {{{.*}}iterator_types = ["reduction"]} ins(%arg0 : tensor<8x1xi64>) outs(%{{.*}} : tensor<i32>)
// LANES:           %[[B:.*]] = arith.extui %{{.*}} : i1 to i32
// LANES:           arith.ori %{{.*}}, %[[B]] : i32
// LANES:         arith.cmpi ne, %{{.*}} : i32
// LANES:         return %{{.*}} : tensor<i1>
func.func @any(%x: tensor<8x1xi64>, %o: tensor<i1>) -> tensor<i1> {
  %c0 = arith.constant 0 : i64
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<8x1xi64>) outs(%o : tensor<i1>) {
  ^bb0(%0: i64, %1: i1):
    %2 = arith.cmpi slt, %0, %c0 : i64
    %3 = arith.ori %1, %2 : i1
    linalg.yield %3 : i1
  } -> tensor<i1>
  return %r : tensor<i1>
}

// -----

// One bool that is read is compared as it was summed up: no array of bools is written.

// LANES-LABEL: func.func @asserted
// LANES:         %[[SUM:.*]] = linalg.generic {{{.*}}iterator_types = ["reduction"]} {{.*}} outs(%{{.*}} : tensor<i32>)
// LANES-NOT:     linalg.generic
// LANES:         %[[ELEMENT:.*]] = tensor.extract %[[SUM]][] : tensor<i32>
// LANES:         %[[BAD:.*]] = arith.cmpi ne, %[[ELEMENT]], %{{.*}} : i32
// LANES:         cf.assert %[[BAD]]
func.func @asserted(%x: tensor<8xi1>, %o: tensor<i1>) {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<8xi1>) outs(%o : tensor<i1>) {
  ^bb0(%0: i1, %1: i1):
    %3 = arith.ori %1, %0 : i1
    linalg.yield %3 : i1
  } -> tensor<i1>
  %e = tensor.extract %r[] : tensor<i1>
  cf.assert %e, "one is true"
  return
}
