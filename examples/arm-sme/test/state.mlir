// The state of the unit is that of a function of its own: what is around it may call, and cores share it.
// RUN: env TILEWRIGHT_TARGET_PATH=%plugin-dir tw-opt %s -split-input-file -enter-states -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "sme:sme512"} {
func.func private @tilewright.register.ZaWords512.zero(i32)
func.func private @tilewright.unit.sme.fmopa_f32_512(vector<16xf32>, vector<16xf32>, i32)
func.func private @other(index)
// CHECK-LABEL: func.func private @around.Streaming512(
// CHECK-SAME: index
// CHECK: arith.constant 0 : i32
// CHECK: call @tilewright.register.ZaWords512.zero
// CHECK: scf.for
// CHECK: call @tilewright.unit.sme.fmopa_f32_512
// CHECK: return %{{.*}} : index
// CHECK-LABEL: func.func @around(
// CHECK: call @other
// CHECK-NEXT: %[[R:.*]] = call @around.Streaming512(
// CHECK-NEXT: call @other(%[[R]])
func.func @around(%n: index, %v: vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = arith.constant 0 : i32
  call @other(%n) : (index) -> ()
  call @tilewright.register.ZaWords512.zero(%tile) : (i32) -> ()
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%last = %c0) -> index {
    func.call @tilewright.unit.sme.fmopa_f32_512(%v, %v, %tile) : (vector<16xf32>, vector<16xf32>, i32) -> ()
    scf.yield %i : index
  }
  call @other(%r) : (index) -> ()
  return
}

// CHECK-LABEL: func.func private @cores.Streaming512(
// CHECK: func.func @cores(
// CHECK: scf.parallel
// CHECK-NEXT: func.call @cores.Streaming512(
// CHECK-NEXT: scf.reduce
func.func @cores(%n: index, %v: vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = arith.constant 0 : i32
  scf.parallel (%t) = (%c0) to (%n) step (%c1) {
    func.call @tilewright.unit.sme.fmopa_f32_512(%v, %v, %tile) : (vector<16xf32>, vector<16xf32>, i32) -> ()
    scf.reduce
  }
  return
}
}

// -----

module attributes {tilewright.target = "sme:sme512"} {
func.func private @tilewright.unit.sme.fmopa_f32_512(vector<16xf32>, vector<16xf32>, i32)
func.func private @other()
func.func @forbidden(%n: index, %v: vector<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = arith.constant 0 : i32
  scf.for %i = %c0 to %n step %c1 {
    func.call @tilewright.unit.sme.fmopa_f32_512(%v, %v, %tile) : (vector<16xf32>, vector<16xf32>, i32) -> ()
    // expected-error@+1 {{(call) stands inside of the state "Streaming512", which forbids it}}
    func.call @other() : () -> ()
  }
  return
}
}
