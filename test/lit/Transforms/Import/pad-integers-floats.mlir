// Floats of 4 and 6 bits: bytes at the boundary, f8E4M3FN inside, rounded once where they are made.
//
// RUN: tw-opt %s -pad-integers -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[A:.*]]: tensor<?xi8>, %[[S:.*]]: i8) -> tensor<?xi8>
// CHECK:       linalg.generic {{.*}} ins(%[[A]] : tensor<?xi8>) outs(%{{.*}} : tensor<?xf8E4M3FN>)
// CHECK:         %[[LOW:.*]] = arith.trunci %{{.*}} : i8 to i4
// CHECK:         %[[CODE:.*]] = arith.bitcast %[[LOW]] : i4 to f4E2M1FN
// CHECK:         %[[WIDE:.*]] = arith.extf %[[CODE]] : f4E2M1FN to f32
// CHECK:         arith.truncf %[[WIDE]] : f32 to f8E4M3FN
// CHECK:       %[[SLOW:.*]] = arith.trunci %[[S]] : i8 to i6
// CHECK:       linalg.generic
// CHECK:         %[[X:.*]] = arith.extf %{{.*}} : f8E4M3FN to f32
// CHECK:         %[[P:.*]] = arith.mulf %[[X]]
// CHECK:         %[[R:.*]] = arith.truncf %[[P]] : f32 to f4E2M1FN
// CHECK:         %[[RW:.*]] = arith.extf %[[R]] : f4E2M1FN to f32
// CHECK:         arith.truncf %[[RW]] : f32 to f8E4M3FN
// CHECK:       linalg.generic {{.*}} outs(%{{.*}} : tensor<?xi8>)
// CHECK:         %[[BITS:.*]] = arith.bitcast %{{.*}} : f4E2M1FN to i4
// CHECK:         arith.extui %[[BITS]] : i4 to i8
func.func @f(%a: tensor<?xf4E2M1FN>, %s: f6E3M2FN) -> tensor<?xf4E2M1FN> {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%a : tensor<?xf4E2M1FN>) {
  ^bb0(%x: f4E2M1FN):
    %0 = arith.extf %x : f4E2M1FN to f32
    %1 = arith.extf %s : f6E3M2FN to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to f4E2M1FN
    linalg.yield %3 : f4E2M1FN
  } -> tensor<?xf4E2M1FN>
  return %r : tensor<?xf4E2M1FN>
}

// A private function keeps its numbers; a call of a public one passes bytes.
// CHECK-LABEL: func.func private @inside(%{{.*}}: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
func.func private @inside(%a: tensor<4xf6E2M3FN>) -> tensor<4xf6E2M3FN> {
  return %a : tensor<4xf6E2M3FN>
}
// CHECK-LABEL: func.func @outside(
// CHECK:       call @inside(%{{.*}}) : (tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
// CHECK:       call @twice(%{{.*}}) : (tensor<4xi8>) -> tensor<4xi8>
func.func @outside(%a: tensor<4xf6E2M3FN>) -> tensor<4xf6E2M3FN> {
  %c = arith.constant dense<[0.125, -7.5, 1.0, 2.0]> : tensor<4xf6E2M3FN>
  %0 = call @inside(%a) : (tensor<4xf6E2M3FN>) -> tensor<4xf6E2M3FN>
  %1 = call @twice(%c) : (tensor<4xf6E2M3FN>) -> tensor<4xf6E2M3FN>
  return %1 : tensor<4xf6E2M3FN>
}
func.func @twice(%a: tensor<4xf6E2M3FN>) -> tensor<4xf6E2M3FN> {
  return %a : tensor<4xf6E2M3FN>
}

// -----

func.func @product(%a: tensor<4x4xf4E2M1FN>, %c: tensor<4x4xf4E2M1FN>) -> tensor<4x4xf4E2M1FN> {
  // expected-error@+1 {{'linalg.matmul' with a result of type 'tensor<4x4xf4E2M1FN>'; floats of 4 and 6 bits are moved and converted: compute in f32, and round by arith.truncf}}
  %r = linalg.matmul ins(%a, %a : tensor<4x4xf4E2M1FN>, tensor<4x4xf4E2M1FN>) outs(%c : tensor<4x4xf4E2M1FN>) -> tensor<4x4xf4E2M1FN>
  return %r : tensor<4x4xf4E2M1FN>
}

// -----

// expected-error@+1 {{which callers cannot write in C; use a tensor, whose elements are passed as bytes}}
func.func @memory(%a: memref<4xf4E2M1FN>) {
  return
}
