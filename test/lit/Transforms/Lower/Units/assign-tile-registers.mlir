// RUN: tw-opt %s -split-input-file -assign-tile-registers -verify-diagnostics | FileCheck %s

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
#a = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 1, 0, 2, 0, 4, 0, 8, 0]>
#pairs = #tile.layout<elements = [1, 0, 0, 1, 0, 2, 0, 4, 0, 8, 2, 0, 4, 0, 8, 0, 16, 0]>
!a = !tile.fragment<16x32xbf16, #a, "AmxRows">
!b = !tile.fragment<32x16xbf16, #pairs, "AmxPairs">
!c = !tile.fragment<16x16xf32, #rows, "AmxRows">

// What the loop carries keeps its register; registers of both classes are those of one bank. A zero that several loops
// or values share becomes one for each.
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
// CHECK-LABEL: @carried
// CHECK: %[[Z0:.*]] = tile.zero : <16x16xf32, #{{.*}}, "AmxRows" : 0>
// CHECK: %[[Z1:.*]] = tile.zero : <16x16xf32, #{{.*}}, "AmxRows" : 1>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[Z0]], %{{.*}} = %[[Z1]]) -> (!tile.fragment<16x16xf32, #{{.*}}, "AmxRows" : 0>, !tile.fragment<16x16xf32, #{{.*}}, "AmxRows" : 1>)
// CHECK: tile.load {{.*}} !tile.fragment<32x16xbf16, #{{.*}}, "AmxPairs" : 2>
// CHECK: tile.load {{.*}} !tile.fragment<16x32xbf16, #{{.*}}, "AmxRows" : 3>
// CHECK: tile.mma {{.*}}"AmxRows" : 3>, {{.*}}"AmxPairs" : 2>, {{.*}}"AmxRows" : 0>
// The register that has been free longest comes next.
// CHECK: tile.load {{.*}} !tile.fragment<16x32xbf16, #{{.*}}, "AmxRows" : 4>
// CHECK: tile.mma {{.*}}"AmxRows" : 4>, {{.*}}"AmxPairs" : 2>, {{.*}}"AmxRows" : 1>
func.func @carried(%A: memref<32x64xbf16>, %B: memref<32x32xbf16>, %C: memref<32x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = tile.zero : !c
  %r:2 = scf.for %k = %c0 to %c2 step %c1 iter_args(%x = %z, %y = %z) -> (!c, !c) {
    %b = tile.load %B[%k * 16, 0] elements affine_map<(r, c) -> (r floordiv 2, c * 2 + r mod 2)> : memref<32x32xbf16> -> !b
    %a0 = tile.load %A[0, %k * 32] elements affine_map<(r, c) -> (r, c)> : memref<32x64xbf16> -> !a
    %d0 = tile.mma %a0, %b, %x {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
    %a1 = tile.load %A[16, %k * 32] elements affine_map<(r, c) -> (r, c)> : memref<32x64xbf16> -> !a
    %d1 = tile.mma %a1, %b, %y {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
    scf.yield %d0, %d1 : !c, !c
  }
  tile.store %r#0, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<32x16xf32>
  tile.store %r#1, %C[16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<32x16xf32>
  return
}
}

// -----

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!c = !tile.fragment<16x16xf32, #rows, "AmxRows">

// One more than the bank has: an error, never a spill.
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func @too_many(%C: memref<16x16xf32>) {
  %0 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  %1 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  %2 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  %3 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  %4 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  %5 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  %6 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  %7 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  // expected-error@+1 {{too many fragments at once for the registers of bank "tmm": 8 are in use and none of the 8 of class "AmxRows" is free; they are not spilled, use a smaller register tile}}
  %8 = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  tile.store %0, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %1, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %2, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %3, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %4, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %5, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %6, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %7, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %8, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  return
}
}

// -----

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
#a = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 1, 0, 2, 0, 4, 0, 8, 0]>
#pairs = #tile.layout<elements = [1, 0, 0, 1, 0, 2, 0, 4, 0, 8, 2, 0, 4, 0, 8, 0, 16, 0]>
!a = !tile.fragment<16x32xbf16, #a, "AmxRows">
!b = !tile.fragment<32x16xbf16, #pairs, "AmxPairs">
!c = !tile.fragment<16x16xf32, #rows, "AmxRows">

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func @needed_again(%A: memref<16x32xbf16>, %B: memref<16x32xbf16>, %C: memref<16x16xf32>) {
  %b = tile.load %B[0, 0] elements affine_map<(r, c) -> (r floordiv 2, c * 2 + r mod 2)> : memref<16x32xbf16> -> !b
  %a = tile.load %A[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x32xbf16> -> !a
  %c = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x16xf32> -> !c
  // expected-error@+1 {{overwrites a fragment in registers "AmxRows" that is needed again, which would take a copy}}
  %d = tile.mma %a, %b, %c {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
  tile.store %c, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %d, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  return
}

}

// -----

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
#a = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 1, 0, 2, 0, 4, 0, 8, 0]>
#pairs = #tile.layout<elements = [1, 0, 0, 1, 0, 2, 0, 4, 0, 8, 2, 0, 4, 0, 8, 0, 16, 0]>
!a = !tile.fragment<16x32xbf16, #a, "AmxRows">
!b = !tile.fragment<32x16xbf16, #pairs, "AmxPairs">
!c = !tile.fragment<16x16xf32, #rows, "AmxRows">

module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func @exchanged(%A: memref<16x32xbf16>, %B: memref<16x32xbf16>, %C: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %z = tile.zero : !c
  %b = tile.load %B[0, 0] elements affine_map<(r, c) -> (r floordiv 2, c * 2 + r mod 2)> : memref<16x32xbf16> -> !b
  %a = tile.load %A[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<16x32xbf16> -> !a
  // expected-error@+1 {{exchanges fragments in registers "AmxRows", which would take a copy}}
  %r:2 = scf.for %k = %c0 to %c2 step %c1 iter_args(%x = %z, %y = %z) -> (!c, !c) {
    %d = tile.mma %a, %b, %x {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
    scf.yield %y, %d : !c, !c
  }
  tile.store %r#0, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  tile.store %r#1, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  return
}
}
