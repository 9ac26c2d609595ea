// Rows that begin anywhere: lanes of two rows exchange an element of each pair, and single elements of 8 lanes fill a sector of a
// row. Where pairs are proved aligned nothing is exchanged, nor where lanes lie along the row already.
//
// RUN: tw-opt %s -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

!c = !tile.fragment<16x8xf32, #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>>
!h = !tile.fragment<16x8xf16, #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>>
!d = !tile.fragment<16x16xf16, #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0, 0, 8]>>
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func private @any_pitch(
// CHECK: arith.andi %[[LANE:.*]], %c4_i32
// CHECK: arith.xori %[[LANE]], %c4_i32
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-4: llvm.store {{.*}} : f32, !llvm.ptr
func.func private @any_pitch(%C: memref<16x?xf32>, %n: index) attributes {tilewright.launch = {threads = 32 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %x = tile.zero : !c
      tile.store %x, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x?xf32>
    }
  }
  return
}
// CHECK-LABEL: func.func private @known_pitch(
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-2: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr
func.func private @known_pitch(%C: memref<16x64xf32>) attributes {tilewright.launch = {threads = 32 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %x = tile.zero : !c
      tile.store %x, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x64xf32>
    }
  }
  return
}
// CHECK-LABEL: func.func private @along(
// CHECK-NOT: nvvm.shfl.sync
// CHECK: return
func.func private @along(%C: memref<8x?xf32>, %n: index) attributes {tilewright.launch = {threads = 32 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %x = tile.zero : !tile.fragment<8x8xf32, #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 1, 0, 2, 0], elements = [4, 0]>>
      tile.store %x, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !tile.fragment<8x8xf32, #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 1, 0, 2, 0], elements = [4, 0]>>, memref<8x?xf32>
    }
  }
  return
}
// Two units with 8 columns of 2 bytes: neighbouring lanes exchange what they have of one unit for what the other has of the
// next, of two rows a word each; then each stores four neighbours of a row.
// CHECK-LABEL: func.func private @two_units(
// CHECK: arith.andi %[[LANE:.*]], %c1_i32
// CHECK: arith.xori %[[LANE]], %c1_i32
// CHECK-COUNT-2: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-2: llvm.store {{.*}} : vector<4xf16>, !llvm.ptr
// CHECK-NOT: llvm.store
// CHECK: return
func.func private @two_units(%A: memref<16x16xf16>, %C: memref<16x64xf16>) attributes {tilewright.launch = {threads = 32 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %x = tile.load %A[0, 0] elements affine_map<(r, c) -> (0, 0)> : memref<16x16xf16> -> !h
      %y = tile.zero : !h
      %z = tile.join %x, %y : !h, !h -> !d
      tile.store %z, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !d, memref<16x64xf16>
    }
  }
  return
}
// Where rows begin anywhere 16 lanes take single elements of a row, after two exchanges.
// CHECK-LABEL: func.func private @two_units_any_pitch(
// CHECK-COUNT-4: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-8: llvm.store {{.*}} : f16, !llvm.ptr
// CHECK: return
func.func private @two_units_any_pitch(%A: memref<16x16xf16>, %C: memref<16x?xf16>, %n: index) attributes {tilewright.launch = {threads = 32 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %x = tile.load %A[0, 0] elements affine_map<(r, c) -> (0, 0)> : memref<16x16xf16> -> !h
      %y = tile.zero : !h
      %z = tile.join %x, %y : !h, !h -> !d
      tile.store %z, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !d, memref<16x?xf16>
    }
  }
  return
}
}
