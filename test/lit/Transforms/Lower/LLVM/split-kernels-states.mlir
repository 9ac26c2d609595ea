// A unit's state is entered by each function that uses the unit, never around calls of functions.
//
// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -split-kernels | FileCheck %s

!a = !tile.fragment<16x32xbf16, #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 1, 0, 2, 0, 4, 0, 8, 0]>, "AmxRows">
!b = !tile.fragment<32x16xbf16, #tile.layout<elements = [1, 0, 0, 1, 0, 2, 0, 4, 0, 8, 2, 0, 4, 0, 8, 0, 16, 0]>, "AmxPairs">
!c = !tile.fragment<16x16xf32, #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>, "AmxRows">
#id = affine_map<(r, c) -> (r, c)>
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// CHECK-LABEL: func.func private @each_nest(
// CHECK: call @each_nest_nest_0
// CHECK-NEXT: call @each_nest_nest_1
// CHECK-NEXT: return
func.func private @each_nest(%A: memref<16x32xbf16>, %B: memref<32x16xbf16>, %C: memref<16x16xf32>, %D: memref<16x16xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 1 {
    %z = tile.zero : !c
    %a = tile.load %A[0, 0] elements #id : memref<16x32xbf16> -> !a
    %b = tile.load %B[0, 0] elements #id : memref<32x16xbf16> -> !b
    %d = tile.mma %a, %b, %z {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
    tile.store %d, %C[0, 0] elements #id : !c, memref<16x16xf32>
  }
  affine.for %i = 0 to 1 {
    %z = tile.zero : !c
    %a = tile.load %A[0, 0] elements #id : memref<16x32xbf16> -> !a
    %b = tile.load %B[0, 0] elements #id : memref<32x16xbf16> -> !b
    %d = tile.mma %a, %b, %z {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
    tile.store %d, %D[0, 0] elements #id : !c, memref<16x16xf32>
  }
  return
}

// What links the nests goes with them.
// CHECK-LABEL: func.func private @linked(
// CHECK: call @linked_nest_0
// CHECK-NEXT: call @linked_nest_1
// CHECK-NEXT: return
func.func private @linked(%A: memref<16x32xbf16>, %B: memref<32x16xbf16>, %C: memref<16x16xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %z = tile.zero : !c
  %a = tile.load %A[0, 0] elements #id : memref<16x32xbf16> -> !a
  %b = tile.load %B[0, 0] elements #id : memref<32x16xbf16> -> !b
  %d = tile.mma %a, %b, %z {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
  tile.store %d, %C[0, 0] elements #id : !c, memref<16x16xf32>
  affine.for %i = 0 to 16 {
    affine.store %zero, %C[%i, 0] : memref<16x16xf32>
  }
  return
}

// A product that no nest holds: the state would surround the calls.
// CHECK-LABEL: func.func private @between(
// CHECK-NOT: call @between_nest
// CHECK: return
func.func private @between(%A: memref<16x32xbf16>, %B: memref<32x16xbf16>, %C: memref<16x16xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %z = tile.zero : !c
  %a = tile.load %A[0, 0] elements #id : memref<16x32xbf16> -> !a
  %b = tile.load %B[0, 0] elements #id : memref<32x16xbf16> -> !b
  func.call @each_nest(%A, %B, %C, %C) : (memref<16x32xbf16>, memref<32x16xbf16>, memref<16x16xf32>, memref<16x16xf32>) -> ()
  %d = tile.mma %a, %b, %z {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
  tile.store %d, %C[0, 0] elements #id : !c, memref<16x16xf32>
  affine.for %i = 0 to 16 {
    affine.store %zero, %C[%i, 0] : memref<16x16xf32>
  }
  affine.for %i = 0 to 16 {
    affine.store %zero, %C[%i, 1] : memref<16x16xf32>
  }
  return
}
}
