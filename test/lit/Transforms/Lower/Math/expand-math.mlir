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

// Rounding is an instruction.
// CHECK-LABEL: func @left
// CHECK-NOT:     math.atan2
// CHECK:         math.floor
func.func @left(%x: f32, %y: f32) -> f32 {
  %a = math.atan2 %x, %y : f32
  %b = math.floor %a : f32
  return %b : f32
}

// -----

// An angle that some lane has above 2^17 is reduced in integers, which the others do not pay for.
// CHECK-LABEL: func @angle
// CHECK-SAME:    (%[[X:.*]]: vector<4xf32>)
// CHECK:         %[[SIZE:.*]] = math.absf %[[X]]
// CHECK:         %[[LARGE:.*]] = arith.cmpf ogt, %[[SIZE]]
// CHECK:         %[[ANY:.*]] = vector.reduction <or>, %[[LARGE]]
// CHECK:         scf.if %[[ANY]]
// CHECK:           arith.mului_extended
// CHECK:         } else {
// CHECK-NOT:       arith.mului_extended
// CHECK-NOT:     math.sin
func.func @angle(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.sin %x : vector<4xf32>
  return %y : vector<4xf32>
}

// -----

// A power whose exponent only the run knows.
// CHECK-LABEL: func @power
// CHECK-NOT:     math.powf
// CHECK:         arith.cmpf uno
func.func @power(%x: f16, %y: f16) -> f16 {
  %z = math.powf %x, %y : f16
  return %z : f16
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

// -----

// LLVM cannot take a copied sign of one element's vector apart.
// CHECK-LABEL: func @sign_of_one
// CHECK:         math.copysign {{.*}} : f64
// CHECK:         math.copysign {{.*}} : vector<2xf64>
func.func @sign_of_one(%x: vector<1xf64>, %y: vector<2xf64>) -> (vector<1xf64>, vector<2xf64>) {
  %a = math.copysign %x, %x : vector<1xf64>
  %b = math.copysign %y, %y : vector<2xf64>
  return %a, %b : vector<1xf64>, vector<2xf64>
}

// -----

// A lane's instruction for 2^x takes what may be approximate, element by element; others keep their correction.
// CHECK-LABEL: func @exp_of_lanes
// CHECK:         %[[T:.*]] = arith.mulf %arg0, %{{.*}} : vector<2xf32>
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.*}}) : (f32) -> f32
// CHECK:         llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.*}}) : (f32) -> f32
// CHECK-NEXT:    %[[Y:.*]] = vector.from_elements
// CHECK:         llvm.call_intrinsic "llvm.exp2"
// CHECK:         math.fma
module attributes {tilewright.target = "nvidia:H200"} {
func.func @exp_of_lanes(%x: vector<2xf32>, %z: f32) -> (vector<2xf32>, f32) {
  %y = math.exp %x fastmath<afn> : vector<2xf32>
  %w = math.exp %z : f32
  return %y, %w : vector<2xf32>, f32
}
}

// -----

// Where the difference is from a few numbers that are repeated, their factor is taken out of it: one fused operation an element.
// CHECK-LABEL: func.func @exp_from_base
// CHECK-SAME: (%[[X:.*]]: vector<8xf32>, %[[BASE:.*]]: vector<2xf32>)
// CHECK: %[[SCALED:.*]] = arith.mulf %[[BASE]], %[[LOG2E:.*]] : vector<2xf32>
// CHECK: %[[SMALL:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : vector<2xf32>
// CHECK: %[[FACTOR:.*]] = arith.select %[[SMALL]], %[[LOG2E]], %{{.*}} : vector<2xi1>, vector<2xf32>
// CHECK: %[[FAR:.*]] = arith.select %[[SMALL]], %[[SCALED]], %[[BASE]]
// CHECK: %[[OFFSET:.*]] = arith.negf %[[FAR]]
// CHECK: %[[FACTORS:.*]] = vector.shuffle %[[FACTOR]], %[[FACTOR]] [0, 0, 1, 1, 0, 0, 1, 1]
// CHECK: %[[OFFSETS:.*]] = vector.shuffle %[[OFFSET]], %[[OFFSET]] [0, 0, 1, 1, 0, 0, 1, 1]
// CHECK: math.fma %[[X]], %[[FACTORS]], %[[OFFSETS]]
// CHECK-COUNT-8: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
module attributes {tilewright.target = "nvidia:H200"} {
func.func @exp_from_base(%x: vector<8xf32>, %base: vector<2xf32>) -> vector<8xf32> {
  %b = vector.shuffle %base, %base [0, 0, 1, 1, 0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
  %d = arith.subf %x, %b : vector<8xf32>
  %y = math.exp %d fastmath<afn> : vector<8xf32>
  return %y : vector<8xf32>
}
}

// -----

// A vector's maximum that keeps a NaN is one comparison beside LLVM's maximum, whose zeros have no order; reproducible
// results keep the order that comparisons give.
// CHECK-LABEL: func @maximum
// CHECK:         llvm.intr.maximum(%{{.*}}, %{{.*}}) {fastmathFlags = #llvm.fastmath<nsz>}
// CHECK:         llvm.intr.minimum(%{{.*}}, %{{.*}}) {fastmathFlags = #llvm.fastmath<nsz>}
// CHECK:         arith.maximumf {{.*}} : f32
module attributes {tilewright.target = "cpu:zen4"} {
  func.func @maximum(%x: vector<16xf32>, %y: vector<16xf32>, %a: f32, %b: f32) -> (vector<16xf32>, vector<16xf32>, f32) {
    %m = arith.maximumf %x, %y : vector<16xf32>
    %n = arith.minimumf %x, %y : vector<16xf32>
    %s = arith.maximumf %a, %b : f32
    return %m, %n, %s : vector<16xf32>, vector<16xf32>, f32
  }
}

// -----

// CHECK-LABEL: func @reproducible_maximum
// CHECK:         arith.maximumf {{.*}} : vector<16xf32>
module attributes {tilewright.target = "cpu:zen4", tilewright.fp = "reproducible"} {
  func.func @reproducible_maximum(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
    %m = arith.maximumf %x, %y : vector<16xf32>
    return %m : vector<16xf32>
  }
}
