// RUN: tw-opt %s --expand-math --canonicalize --split-input-file | FileCheck %s

// A vector stays a vector: no call, no lane by lane code.
// CHECK-LABEL: func @exp_vector
// CHECK-NOT:     math.exp
// CHECK-COUNT-5: math.fma {{.*}} : vector<16xf32>
// CHECK:         return {{.*}} : vector<16xf32>
func.func @exp_vector(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

// Half precision computes in single precision and rounds once.
// CHECK-LABEL: func @tanh_half
// CHECK:         arith.extf {{.*}} : vector<8xf16> to vector<8xf32>
// CHECK-NOT:     math.tanh
// CHECK:         arith.truncf {{.*}} : vector<8xf32> to vector<8xf16>
func.func @tanh_half(%x: vector<8xf16>) -> vector<8xf16> {
  %y = math.tanh %x : vector<8xf16>
  return %y : vector<8xf16>
}

// -----

// GELU is taken as a whole: one quotient for the tail, no 1 + erf.
// CHECK-LABEL: func @gelu
// CHECK-NOT:     math.erf
// CHECK:         arith.divf
// CHECK-NOT:     arith.divf
// CHECK:         return
func.func @gelu(%x: f32) -> f32 {
  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root = arith.constant 0.707106769 : f32
  %a = arith.mulf %x, %root : f32
  %e = math.erf %a : f32
  %s = arith.addf %e, %one : f32
  %h = arith.mulf %x, %half : f32
  %r = arith.mulf %h, %s : f32
  return %r : f32
}

// -----

// A constant integral exponent is a product.
// CHECK-LABEL: func @cube
// CHECK-SAME:    (%[[X:.*]]: f64)
// CHECK:         %[[S:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK:         arith.mulf %[[X]], %[[S]]
func.func @cube(%x: f64) -> f64 {
  %three = arith.constant 3.0 : f64
  %y = math.powf %x, %three : f64
  return %y : f64
}

// -----

// No expansion: left for libm. Rounding is an instruction.
// CHECK-LABEL: func @left
// CHECK:         math.atan2
// CHECK:         math.floor
func.func @left(%x: f32, %y: f32) -> f32 {
  %a = math.atan2 %x, %y : f32
  %b = math.floor %a : f32
  return %b : f32
}

// -----

// The scaling by a power of two is one instruction where the chip has it.
// CHECK-LABEL: func @scaled
// Where the result is 0 the instruction's own lane is left out: there it would be slow (a masked score of an attention).
// CHECK-SAME:      (%[[X:.*]]: vector<16xf32>)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-DAG:     %[[LEAST:.*]] = arith.constant dense<-1.040000e+02> : vector<16xf32>
// CHECK:         %[[SCALED:.*]] = llvm.call_intrinsic "llvm.ldexp"({{.*}}) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
// CHECK:         %[[SOME:.*]] = arith.cmpf uge, %[[X]], %[[LEAST]] : vector<16xf32>
// CHECK:         %[[Y:.*]] = arith.select %[[SOME]], %[[SCALED]], %[[ZERO]] : vector<16xi1>, vector<16xf32>
// CHECK:         return %[[Y]]
module attributes {tilewright.target = "cpu:zen4"} {
  func.func @scaled(%x: vector<16xf32>) -> vector<16xf32> {
    %y = math.exp %x : vector<16xf32>
    return %y : vector<16xf32>
  }
}
