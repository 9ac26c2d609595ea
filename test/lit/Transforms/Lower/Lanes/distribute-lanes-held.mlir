// Beside an engine: operands that pass through the registers of lanes, and checks of neighbours that are inside or outside together.
//
// RUN: tw-opt %s -split-input-file -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

#A = #tile.layout<lanes = [0, 4, 0, 8, 1, 0, 2, 0, 4, 0], elements = [0, 1, 0, 2, 8, 0, 0, 16]>
#B = #tile.layout<lanes = [4, 0, 8, 0, 0, 1, 0, 2, 0, 4], elements = [1, 0, 2, 0, 16, 0]>
#C = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>
!a = !tile.fragment<16x32xi8, #A>
!b = !tile.fragment<32x8xi8, #B>
!c = !tile.fragment<16x8xi32, #C>

module attributes {tilewright.target = "nvidia:A100"} {

// The engine copies A two steps ahead; B is loaded before the products of a step, turned and written behind them, and closes no
// group. All of a step is inside or beyond the end: one check for the loads of a lane.
//
// CHECK-LABEL: func.func private @held
// CHECK: scf.for
// CHECK:   scf.if {{.*}} -> (vector<4xi8>, vector<4xi8>, vector<4xi8>, vector<4xi8>)
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xi8>
// CHECK-NOT: scf.if
// CHECK:   nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier0
// CHECK:   nvvm.cp.async.shared.global
// CHECK:   nvvm.cp.async.commit.group
// CHECK-NOT: commit.group
// CHECK-NOT: nvvm.barrier0
// CHECK:   func.call @tilewright.unit.nvidia.mma_m16n8k32_i8_i32
// CHECK-COUNT-8: nvvm.prmt
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xi8>, !llvm.ptr<3>
// CHECK:   scf.yield
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: scf.if
// CHECK-COUNT-4: llvm.store {{.*}} : i32, !llvm.ptr<1>
// CHECK-NOT: scf.if
// CHECK: return
func.func private @held(%A: memref<64x512xi8>, %B: memref<512x64xi8>, %C: memref<64x?xi32>, %n: index)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 12288 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<3x64x32xi8, "shared">
    %sb = tile.alloc() : memref<3x64x32xi8, "shared">
    tile.parallel (%w) to (4) level "block" {
      %zero = tile.zero : !c
      %b0 = tile.copy %B[0, 0] elements affine_map<(r, c) -> (c, r)> to %sb[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 32] {held, turn = array<i64: 4, 4, 16, 1>} : memref<512x64xi8>, memref<3x64x32xi8, "shared">
      %a0 = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 32] : memref<64x512xi8>, memref<3x64x32xi8, "shared">
      %a1 = tile.copy %A[0, 32] elements affine_map<(r, c) -> (r, c)> to %sa[1, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 32] : memref<64x512xi8>, memref<3x64x32xi8, "shared">
      tile.wait %b0
      %r:3 = affine.for %k = 0 to 16 iter_args(%acc = %zero, %ta0 = %a0, %ta1 = %a1) -> (!c, !tile.token, !tile.token) {
        %tb = tile.copy %B[%k * 32 + 32, 0] elements affine_map<(r, c) -> (c, r)> to %sb[(%k + 1) mod 3, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 32] valid(64, %k * -32 + 480) {held, turn = array<i64: 4, 4, 16, 1>} : memref<512x64xi8>, memref<3x64x32xi8, "shared">
        tile.wait %ta0
        %ta2 = tile.copy %A[0, %k * 32 + 64] elements affine_map<(r, c) -> (r, c)> to %sa[(%k + 2) mod 3, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 32] valid(64, %k * -32 + 448) : memref<64x512xi8>, memref<3x64x32xi8, "shared">
        %a = tile.load %sa[%k mod 3, %w * 16, 0] elements affine_map<(r, c) -> (0, r, c)> : memref<3x64x32xi8, "shared"> -> !a
        %b = tile.load %sb[%k mod 3, 8, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<3x64x32xi8, "shared"> -> !b
        %d = tile.mma %a, %b, %acc {unit = "nvidia.mma_m16n8k32_i8_i32"} : !a, !b, !c
        tile.wait %tb
        affine.yield %d, %ta1, %ta2 : !c, !tile.token, !tile.token
      }
      tile.wait %r#1, %r#2
      tile.store %r#0, %C[%w * 16, 8] elements affine_map<(r, c) -> (r, c)> valid(16, %n * 8) : !c, memref<64x?xi32>
    }
  }
  return
}
}
