// Conversions of 8-bit floats as integer arithmetic; all codes and all ties are compared in test/integration/test_float8.py.
//
// RUN: tw-opt %s -expand-float8 | FileCheck %s

// By way of f16, whose bias is 8 larger; NaN is no largest exponent there.
// CHECK-LABEL: func.func @widen
// CHECK: %[[B:.*]] = arith.bitcast %arg0 : f8E4M3FN to i8
// CHECK: %[[E:.*]] = arith.extsi %[[B]] : i8 to i16
// CHECK: arith.shli %[[E]]
// CHECK: %[[H:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[S:.*]] = arith.constant 2.560000e+02 : f32
// CHECK: %[[V:.*]] = arith.mulf %[[H]], %[[S]] : f32
// CHECK: %[[N:.*]] = arith.cmpi eq
// CHECK: %[[R:.*]] = arith.select %[[N]], %{{.*}}, %[[V]] : f32
// CHECK: return %[[R]] : f32
func.func @widen(%x: f8E4M3FN) -> f32 {
  %y = arith.extf %x : f8E4M3FN to f32
  return %y : f32
}

// The upper half of an f16.
// CHECK-LABEL: func.func @half
// CHECK: %[[W:.*]] = arith.extui %{{.*}} : vector<8xi8> to vector<8xi16>
// CHECK: %[[S:.*]] = arith.shli %[[W]]
// CHECK: %[[H:.*]] = arith.bitcast %[[S]] : vector<8xi16> to vector<8xf16>
// CHECK-NEXT: return %[[H]]
func.func @half(%x: vector<8xf8E5M2>) -> vector<8xf16> {
  %y = arith.extf %x : vector<8xf8E5M2> to vector<8xf16>
  return %y : vector<8xf16>
}

// Its largest exponent has numbers, so that f16 does not do.
// CHECK-LABEL: func.func @fields
// CHECK-NOT: f16
// CHECK: arith.subf
// CHECK: return %{{.*}} : f32
func.func @fields(%x: f8E5M2FNUZ) -> f32 {
  %y = arith.extf %x : f8E5M2FNUZ to f32
  return %y : f32
}

// CHECK-LABEL: func.func @narrow_vector
// CHECK: %[[W:.*]] = arith.bitcast %arg0 : vector<16xf32> to vector<16xi32>
// CHECK-NOT: arith.truncf
// CHECK: %[[C:.*]] = arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>
// CHECK: %[[R:.*]] = arith.bitcast %[[C]] : vector<16xi8> to vector<16xf8E5M2>
// CHECK: return %[[R]]
func.func @narrow_vector(%x: vector<16xf32>) -> vector<16xf8E5M2> {
  %y = arith.truncf %x : vector<16xf32> to vector<16xf8E5M2>
  return %y : vector<16xf8E5M2>
}

// A value of 8 bits is exact in bf16: the upper half of the f32.
// CHECK-LABEL: func.func @brain
// CHECK: arith.shrui %{{.*}}, %{{.*}} : vector<32xi32>
// CHECK: arith.trunci %{{.*}} : vector<32xi32> to vector<32xi16>
// CHECK: %[[N:.*]] = arith.cmpi eq, %{{.*}} : vector<32xi8>
// CHECK: arith.select %[[N]], %{{.*}} : vector<32xi1>, vector<32xi16>
// CHECK: arith.bitcast %{{.*}} : vector<32xi16> to vector<32xbf16>
func.func @brain(%x: vector<32xf8E4M3FNUZ>) -> vector<32xbf16> {
  %y = arith.extf %x : vector<32xf8E4M3FNUZ> to vector<32xbf16>
  return %y : vector<32xbf16>
}

// f64 is rounded once: to odd in f32 first.
// CHECK-LABEL: func.func @doubles
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: %[[N:.*]] = arith.truncf %arg1 : f64 to f32
// CHECK: arith.cmpf ogt
// CHECK-NOT: f64 to f8E5M2FNUZ
// CHECK: arith.bitcast %{{.*}} : i8 to f8E5M2FNUZ
func.func @doubles(%x: f8E5M2FNUZ, %z: f64) -> (f64, f8E5M2FNUZ) {
  %y = arith.extf %x : f8E5M2FNUZ to f64
  %w = arith.truncf %z : f64 to f8E5M2FNUZ
  return %y, %w : f64, f8E5M2FNUZ
}

// CHECK-LABEL: func.func @fused
// CHECK: %[[F:.*]] = math.fma %{{.*}} : f32
// CHECK: arith.bitcast %[[F]] : f32 to i32
// CHECK: return %{{.*}} : f8E5M2
func.func @fused(%x: f8E5M2) -> f8E5M2 {
  %y = math.fma %x, %x, %x : f8E5M2
  return %y : f8E5M2
}

// CHECK-LABEL: func.func @others
// CHECK: arith.truncf %{{.*}} : f64 to f16
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @others(%x: f32, %y: f64) -> (f16, bf16) {
  %v = arith.truncf %y : f64 to f16
  %w = arith.truncf %x : f32 to bf16
  return %v, %w : f16, bf16
}

// A power of two is the exponent of the wider float: its smallest number is subnormal in f32, and one code is NaN.
// CHECK-LABEL: func.func @power
// CHECK: %[[B:.*]] = arith.bitcast %arg0 : f8E8M0FNU to i8
// CHECK: %[[E:.*]] = arith.extui %[[B]] : i8 to i32
// CHECK: arith.shli %[[E]], %{{.*}} : i32
// CHECK: arith.constant 4194304 : i32
// CHECK: arith.constant -1 : i8
// CHECK: arith.constant 2143289344 : i32
// CHECK: arith.bitcast %{{.*}} : i32 to f32
func.func @power(%x: f8E8M0FNU) -> f32 {
  %y = arith.extf %x : f8E8M0FNU to f32
  return %y : f32
}

// Back it is the exponent alone.
// CHECK-LABEL: func.func @exponent
// CHECK: %[[W:.*]] = arith.bitcast %arg0 : vector<4xf32> to vector<4xi32>
// CHECK: %[[E:.*]] = arith.shrui %[[W]]
// CHECK: %[[C:.*]] = arith.trunci %[[E]] : vector<4xi32> to vector<4xi8>
// CHECK: arith.bitcast %[[C]] : vector<4xi8> to vector<4xf8E8M0FNU>
func.func @exponent(%x: vector<4xf32>) -> vector<4xf8E8M0FNU> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xf8E8M0FNU>
  return %y : vector<4xf8E8M0FNU>
}
