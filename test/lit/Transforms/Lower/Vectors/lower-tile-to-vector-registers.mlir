// Fragments in tile registers: calls with the register's number, the address and the distance of its rows in bytes.
//
// RUN: tw-opt %s -split-input-file -lower-affine -lower-tile-to-vector -canonicalize -cse -verify-diagnostics | FileCheck %s

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
#a = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 1, 0, 2, 0, 4, 0, 8, 0]>
#pairs = #tile.layout<elements = [1, 0, 0, 1, 0, 2, 0, 4, 0, 8, 2, 0, 4, 0, 8, 0, 16, 0]>
!a = !tile.fragment<16x32xbf16, #a, "AmxRows" : 1>
!b = !tile.fragment<32x16xbf16, #pairs, "AmxPairs" : 2>
!c = !tile.fragment<16x16xf32, #rows, "AmxRows" : 0>

// CHECK-LABEL: @product
// CHECK-DAG: %[[N0:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[N1:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[N2:.*]] = arith.constant 2 : i32
// CHECK-DAG: %[[LINE:.*]] = arith.constant 128 : i64
// CHECK: call @tilewright.register.AmxRows.zero(%[[N0]]) : (i32) -> ()
// CHECK: scf.for
// CHECK: memref.extract_aligned_pointer_as_index %arg0
// CHECK: %[[PA:.*]] = llvm.inttoptr
// The distance of A's rows is not known before the program runs.
// CHECK: call @tilewright.register.AmxRows.fill.bf16(%[[N1]], %[[PA]], %{{.*}}) : (i32, !llvm.ptr, i64) -> ()
// CHECK: call @tilewright.register.AmxPairs.fill.bf16(%[[N2]], %{{.*}}, %[[LINE]]) : (i32, !llvm.ptr, i64) -> ()
// CHECK: call @tilewright.unit.cpu.amx_tdpbf16(%[[N1]], %[[N2]], %[[N0]]) : (i32, i32, i32) -> ()
// CHECK: call @tilewright.register.AmxRows.store.f32(%[[N0]], %{{.*}}, %{{.*}}) : (i32, !llvm.ptr, i64) -> ()
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func @product(%A: memref<?x?xbf16>, %B: memref<?x64xbf16>, %C: memref<16x48xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = tile.zero : !c
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %z) -> (!c) {
    %a = tile.load %A[0, %k * 32] elements affine_map<(r, c) -> (r, c)> : memref<?x?xbf16> -> !a
    %b = tile.load %B[%k * 16, 0] elements affine_map<(r, c) -> (r floordiv 2, c * 2 + r mod 2)> : memref<?x64xbf16> -> !b
    %d = tile.mma %a, %b, %x {unit = "cpu.amx_tdpbf16"} : !a, !b, !c
    scf.yield %d : !c
  }
  tile.store %r, %C[0, 16] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x48xf32>
  return
}
}

// -----

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!c = !tile.fragment<16x16xf32, #rows, "AmxRows" : 0>
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func @transposed(%C: memref<16x16xf32>) {
  // expected-error@+1 {{registers "AmxRows" move whole rows at one distance, but the elements of row 0 lie elsewhere}}
  %c = tile.load %C[0, 0] elements affine_map<(r, c) -> (c, r)> : memref<16x16xf32> -> !c
  tile.store %c, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  return
}
}

// -----

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!c = !tile.fragment<16x16xf32, #rows, "AmxRows" : 0>
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func @partial(%C: memref<16x16xf32>) {
  // expected-error@+1 {{registers "AmxRows" move whole rows at one distance, but `valid` leaves out a part}}
  %c = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> valid(16, 7) : memref<16x16xf32> -> !c
  tile.store %c, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  return
}
}

// -----

#rows = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!c = !tile.fragment<16x16xf32, #rows, "AmxRows">
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
func.func @unnumbered(%C: memref<16x16xf32>) {
  // expected-error@+1 {{register of "AmxRows" without a number; assign-tile-registers gives it one}}
  %c = tile.zero : !c
  tile.store %c, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x16xf32>
  return
}
}
