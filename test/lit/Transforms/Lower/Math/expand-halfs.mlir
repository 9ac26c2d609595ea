// Conversions of f16 as integer arithmetic; the bits of all 65536 values are compared in test/integration/test_scratchpads.py.
//
// RUN: tw-opt %s -expand-halfs | FileCheck %s

// CHECK-LABEL: func.func @widen
// CHECK: %[[B:.*]] = arith.bitcast %arg0 : f16 to i16
// CHECK: arith.extui %[[B]] : i16 to i32
// CHECK: arith.mulf
// CHECK-NOT: arith.extf
// CHECK: return %{{.*}} : f32
func.func @widen(%x: f16) -> f32 {
  %y = arith.extf %x : f16 to f32
  return %y : f32
}

// CHECK-LABEL: func.func @narrow
// CHECK-NOT: arith.truncf
// CHECK: %[[W:.*]] = arith.trunci %{{.*}} : i32 to i16
// CHECK: %[[H:.*]] = arith.bitcast %[[W]] : i16 to f16
// CHECK: return %[[H]] : f16
func.func @narrow(%x: f32) -> f16 {
  %y = arith.truncf %x : f32 to f16
  return %y : f16
}

// Through f32, which holds all values of f16.
// CHECK-LABEL: func.func @doubles
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NOT: f64 to f16
// CHECK: arith.bitcast %{{.*}} : i16 to f16
func.func @doubles(%x: f16, %z: f64) -> (f64, f16) {
  %y = arith.extf %x : f16 to f64
  %w = arith.truncf %z : f64 to f16
  return %y, %w : f64, f16
}

// CHECK-LABEL: func.func @others
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @others(%x: f32) -> bf16 {
  %y = arith.truncf %x : f32 to bf16
  return %y : bf16
}
