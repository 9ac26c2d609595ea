// RUN: tw-opt %s --split-input-file --decompose-structured-ops --split-phases --canonicalize --cse | FileCheck %s

// The phases of a transposed convolution read the same elements, each by its own tap: a loop.
// CHECK-DAG:   #[[ELEMENT:.*]] = affine_map<(d0, d1, d2) -> (d0 + d1)>
// CHECK-DAG:   #[[TAP:.*]] = affine_map<(d0, d1, d2) -> (d1, -d2 + 1)>
// CHECK-DAG:   #[[RESULT:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func.func @uniform
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<2xf32>
// CHECK:         %[[TAPS:.*]] = tensor.expand_shape %[[W]] {{.*}} into tensor<1x2xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[ELEMENT]], #[[TAP]], #[[RESULT]]]
// CHECK-SAME:      ins(%[[X]], %[[TAPS]] :
// CHECK-NOT:     linalg.generic
// CHECK:         tensor.collapse_shape {{.*}} into tensor<16xf32>
#x = affine_map<(p, k) -> (p + k)>
#w = affine_map<(p, k) -> (k)>
#r = affine_map<(p, k) -> (p)>

func.func @uniform(%x: tensor<8xf32>, %w: tensor<2xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<17xf32>) -> tensor<17xf32>
  %d = tensor.insert_slice %x into %zeros[1] [8] [2] : tensor<8xf32> into tensor<17xf32>
  %f = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<16xf32>) -> tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "reduction"]}
      ins(%d, %w : tensor<17xf32>, tensor<2xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// Even results meet one tap of three, odd ones two, and the last phase is shorter. What is summed up is added to the
// results as they were.
// CHECK-LABEL: func.func @phases
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<3xf32>, %[[INIT:.*]]: tensor<15xf32>
// CHECK:         %[[STACK:.*]] = linalg.transpose {{.*}} permutation = [1, 0]
// CHECK:         %[[EVEN:.*]] = tensor.extract_slice %[[STACK]][0, 0] [1, 8] [1, 1]
// CHECK:         %[[MIDDLE:.*]] = tensor.extract_slice %[[W]][1] [1] [2]
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[MIDDLE]] : {{.*}} outs(%[[EVEN]] : tensor<8xf32>)
// CHECK:         %[[ODD:.*]] = tensor.extract_slice %{{.*}}[1, 0] [1, 7] [1, 1]
// CHECK:         %[[OTHERS:.*]] = tensor.extract_slice %[[W]][0] [2] [2]
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[OTHERS]] : {{.*}} outs(%[[ODD]] : tensor<7xf32>)
// CHECK:         linalg.transpose {{.*}} permutation = [1, 0]
// CHECK:         tensor.extract_slice {{.*}} : tensor<16xf32> to tensor<15xf32>
#x = affine_map<(p, k) -> (p + k)>
#w = affine_map<(p, k) -> (k)>
#r = affine_map<(p, k) -> (p)>

func.func @phases(%x: tensor<8xf32>, %w: tensor<3xf32>, %init: tensor<15xf32>) -> tensor<15xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<17xf32>) -> tensor<17xf32>
  %d = tensor.insert_slice %x into %zeros[1] [8] [2] : tensor<8xf32> into tensor<17xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "reduction"]}
      ins(%d, %w : tensor<17xf32>, tensor<3xf32>) outs(%init : tensor<15xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<15xf32>
  return %y : tensor<15xf32>
}

// -----

// One tap: odd results have none, and stay what they are filled with.
// CHECK-LABEL: func.func @one_tap
// CHECK:         linalg.fill
// CHECK:         linalg.generic
// CHECK:         linalg.fill
// CHECK-NOT:     linalg.generic
#x = affine_map<(p, k) -> (p + k)>
#w = affine_map<(p, k) -> (k)>
#r = affine_map<(p, k) -> (p)>

func.func @one_tap(%x: tensor<8xf32>, %w: tensor<1xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %d = tensor.insert_slice %x into %zeros[0] [8] [2] : tensor<8xf32> into tensor<16xf32>
  %f = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<16xf32>) -> tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "reduction"]}
      ins(%d, %w : tensor<16xf32>, tensor<1xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// The largest element is not the same without the zeros.
// CHECK-LABEL: func.func @maximum
// CHECK:         tensor.insert_slice
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<17xf32>, tensor<2xf32>)
#x = affine_map<(p, k) -> (p + k)>
#w = affine_map<(p, k) -> (k)>
#r = affine_map<(p, k) -> (p)>

func.func @maximum(%x: tensor<8xf32>, %w: tensor<2xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<17xf32>) -> tensor<17xf32>
  %d = tensor.insert_slice %x into %zeros[1] [8] [2] : tensor<8xf32> into tensor<17xf32>
  %f = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<16xf32>) -> tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "reduction"]}
      ins(%d, %w : tensor<17xf32>, tensor<2xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.maximumf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// With strict arithmetic, 0 times infinity counts.
// CHECK-LABEL: func.func @strict
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<17xf32>, tensor<2xf32>)
#x = affine_map<(p, k) -> (p + k)>
#w = affine_map<(p, k) -> (k)>
#r = affine_map<(p, k) -> (p)>

module attributes {tilewright.fp = "strict"} {
func.func @strict(%x: tensor<8xf32>, %w: tensor<2xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<17xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<17xf32>) -> tensor<17xf32>
  %d = tensor.insert_slice %x into %zeros[1] [8] [2] : tensor<8xf32> into tensor<17xf32>
  %f = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<16xf32>) -> tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #r], iterator_types = ["parallel", "reduction"]}
      ins(%d, %w : tensor<17xf32>, tensor<2xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %c, %m : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}
}
