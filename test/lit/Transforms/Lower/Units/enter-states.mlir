// RUN: tw-opt %s -split-input-file -enter-states -verify-diagnostics | FileCheck %s

// Around all uses of a function, outside of its loops; in a parallel loop around those of one iteration.
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func private @tilewright.register.AmxRows.zero(i32)
func.func private @tilewright.unit.cpu.amx_tdpbf16(i32, i32, i32)
func.func private @before()
// CHECK-LABEL: @around
// CHECK: call @before()
// CHECK: call @tilewright.state.AmxTiles.enter() : () -> ()
// CHECK-NEXT: scf.for
// CHECK: call @tilewright.unit.cpu.amx_tdpbf16
// CHECK: scf.for
// CHECK: call @tilewright.unit.cpu.amx_tdpbf16
// CHECK-NEXT: }
// CHECK-NEXT: call @tilewright.state.AmxTiles.leave() : () -> ()
// CHECK-NEXT: call @before()
func.func @around(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.constant 0 : i32
  func.call @before() : () -> ()
  scf.for %i = %c0 to %n step %c1 {
    func.call @tilewright.register.AmxRows.zero(%0) : (i32) -> ()
    func.call @tilewright.unit.cpu.amx_tdpbf16(%0, %0, %0) : (i32, i32, i32) -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    func.call @tilewright.unit.cpu.amx_tdpbf16(%0, %0, %0) : (i32, i32, i32) -> ()
  }
  func.call @before() : () -> ()
  return
}

// CHECK-LABEL: @cores
// CHECK-NOT: enter
// CHECK: scf.parallel
// CHECK-NEXT: call @tilewright.state.AmxTiles.enter()
// CHECK-NEXT: scf.for
// CHECK: call @tilewright.state.AmxTiles.leave()
// CHECK-NEXT: scf.reduce
func.func @cores(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.constant 0 : i32
  scf.parallel (%t) = (%c0) to (%n) step (%c1) {
    scf.for %i = %c0 to %n step %c1 {
      func.call @tilewright.unit.cpu.amx_tdpbf16(%0, %0, %0) : (i32, i32, i32) -> ()
    }
    scf.reduce
  }
  return
}

}

// -----

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func private @tilewright.unit.cpu.amx_tdpbf16(i32, i32, i32)
func.func private @other()
func.func @forbidden(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.constant 0 : i32
  scf.for %i = %c0 to %n step %c1 {
    func.call @tilewright.unit.cpu.amx_tdpbf16(%0, %0, %0) : (i32, i32, i32) -> ()
    // expected-error@+1 {{(call) stands inside of the state "AmxTiles", which forbids it}}
    func.call @other() : () -> ()
  }
  return
}
}

// -----

// Functions of libm are calls that a state may leave: this one does not forbid them.
// CHECK-LABEL: @of_libm
// CHECK: call @tilewright.state.AmxTiles.enter()
// CHECK: math.tan
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func private @tilewright.unit.cpu.amx_tdpbf16(i32, i32, i32)
func.func @of_libm(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.constant 0 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (f32) {
    func.call @tilewright.unit.cpu.amx_tdpbf16(%0, %0, %0) : (i32, i32, i32) -> ()
    %e = math.tan %y : f32
    scf.yield %e : f32
  }
  return %r : f32
}
}
