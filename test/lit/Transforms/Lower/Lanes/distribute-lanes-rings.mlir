// A ring whose copies name an engine: one lane starts them as far as stages are free, a group of 128 lanes multiplies.
//
// RUN: tw-opt %s -split-input-file -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

#A = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 32, 0]>
#B = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 32, 1, 0, 2, 0, 4, 0, 8, 0]>
#C = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0], repeats = [8, 0, 8]>
#swizzle = #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 3>
!a = !tile.fragment<64x16xf16, #A>
!b = !tile.fragment<16x64xf16, #B>
!c = !tile.fragment<64x64xf32, #C>

// A with lines along k, B with lines along its columns, of which the array has 50: the map ends there. The manifest learns
// what the maps describe; the result leaves by a third one.
//
// CHECK: tilewright.manifests = ["{{.*}}\22arguments\22:[{\22buffer\22:0},{\22buffer\22:1},{\22buffer\22:2},{\22tensor_map\22:{\22box\22:[64,64],\22buffer\22:0,\22bytes\22:2,\22pitches\22:[256],\22sizes\22:[128,64],\22swizzle\22:128,\22type\22:\22f16\22}},{\22tensor_map\22:{\22box\22:[64,64],\22buffer\22:1,\22bytes\22:2,\22pitches\22:[128],\22sizes\22:[50,128],\22swizzle\22:128,\22type\22:\22f16\22}},{\22tensor_map\22:{\22box\22:[32,64],\22buffer\22:2,\22bytes\22:4,\22pitches\22:[256],\22sizes\22:[64,64],\22swizzle\22:128,\22type\22:\22f32\22}}]
// CHECK-LABEL: func.func private @ring
// CHECK-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>}
// CHECK: scf.if
// CHECK-COUNT-4: nvvm.mbarrier.init
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.barrier0
// The copying lane.
// CHECK: scf.for
// CHECK:   nvvm.mbarrier.try_wait.parity
// CHECK:   nvvm.mbarrier.arrive.expect_tx {{.*}} : !llvm.ptr<3>, i32
// CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK:   scf.yield {{.*}} : i32, i32
// The group: four products a step, one group of them stays under way.
// CHECK: } else {
// CHECK: scf.for {{.*}} -> (vector<32xf32>, i32, i32)
// CHECK:   nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: call @tilewright.unit.nvidia.wgmma_m64n64k16_f16_f32
// CHECK:   nvvm.wgmma.commit.group.sync.aligned
// CHECK:   llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;"
// CHECK:   scf.if
// CHECK:     nvvm.mbarrier.arrive {{.*}} : !llvm.ptr<3> -> i64
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK-NOT: nvvm.mbarrier.arrive
// Two tiles of the result, each written, fenced and stored. Lanes whose bit 1 is set write columns 16 and following of a row
// of 32 while the others write columns 0 and following, and the other way round.
// CHECK: %[[NUMBER:.*]] = arith.shrui %{{.*}}, %c1_i32
// CHECK: %[[BIT:.*]] = arith.andi %[[NUMBER]], %c1_i32
// CHECK: %[[SET:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK: %[[OTHER:.*]] = vector.shuffle %[[LINE:.*]], %[[LINE]] [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: arith.select %[[SET]], %[[OTHER]], %[[LINE]] : vector<16xf32>
// CHECK: llvm.store {{.*}} !llvm.ptr<3>
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.barrier id
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NOT: llvm.store
// CHECK: nvvm.cp.async.bulk.wait_group 0
module attributes {tilewright.target = "nvidia:H100"} {
func.func @mm() attributes {tilewright.manifest = "{\22launches\22:[{\22launch\22:\22ring\22,\22arguments\22:[{\22buffer\22:0},{\22buffer\22:1},{\22buffer\22:2}]}]}"} {
  return
}
func.func private @ring(%A: memref<64x128xf16>, %B: memref<128x64xf16>, %C: memref<64x64xf32>)
    attributes {tilewright.launch = {threads = 256 : i64, shared = 50176 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() {arrangement = #swizzle} : memref<2x64x64xf16, "shared">
    %sb = tile.alloc() {arrangement = #swizzle} : memref<2x1x64x64xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      %zero = tile.zero : !c
      %r = affine.for %k = 0 to 2 iter_args(%c0 = %zero) -> !c {
        %ta = tile.copy %A[0, %k * 64] elements affine_map<(r, c) -> (r, c)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] {engine = "TmaLoad"} : memref<64x128xf16>, memref<2x64x64xf16, "shared">
        %tb = tile.copy %B[%k * 64, 0] elements affine_map<(r, c) -> (r, c)> to %sb[%k mod 2, 0, 0, 0] elements affine_map<(r, c) -> (0, 0, r, c)> shape [64, 64] valid(64, 50) {engine = "TmaLoad"} : memref<128x64xf16>, memref<2x1x64x64xf16, "shared">
        tile.wait %ta, %tb
        %a0 = tile.load %sa[%k mod 2, %w * 64, 0] elements affine_map<(r, c) -> (0, r, c)> : memref<2x64x64xf16, "shared"> -> !a
        %b0 = tile.load %sb[%k mod 2, 0, 0, 0] elements affine_map<(r, c) -> (0, c floordiv 64, r, c mod 64)> : memref<2x1x64x64xf16, "shared"> -> !b
        %c1 = tile.mma %a0, %b0, %c0 {unit = "nvidia.wgmma_m64n64k16_f16_f32"} : !a, !b, !c
        %a1 = tile.load %sa[%k mod 2, %w * 64, 16] elements affine_map<(r, c) -> (0, r, c)> : memref<2x64x64xf16, "shared"> -> !a
        %b1 = tile.load %sb[%k mod 2, 0, 16, 0] elements affine_map<(r, c) -> (0, c floordiv 64, r, c mod 64)> : memref<2x1x64x64xf16, "shared"> -> !b
        %c2 = tile.mma %a1, %b1, %c1 {unit = "nvidia.wgmma_m64n64k16_f16_f32"} : !a, !b, !c
        %a2 = tile.load %sa[%k mod 2, %w * 64, 32] elements affine_map<(r, c) -> (0, r, c)> : memref<2x64x64xf16, "shared"> -> !a
        %b2 = tile.load %sb[%k mod 2, 0, 32, 0] elements affine_map<(r, c) -> (0, c floordiv 64, r, c mod 64)> : memref<2x1x64x64xf16, "shared"> -> !b
        %c3 = tile.mma %a2, %b2, %c2 {unit = "nvidia.wgmma_m64n64k16_f16_f32"} : !a, !b, !c
        %a3 = tile.load %sa[%k mod 2, %w * 64, 48] elements affine_map<(r, c) -> (0, r, c)> : memref<2x64x64xf16, "shared"> -> !a
        %b3 = tile.load %sb[%k mod 2, 0, 48, 0] elements affine_map<(r, c) -> (0, c floordiv 64, r, c mod 64)> : memref<2x1x64x64xf16, "shared"> -> !b
        %c4 = tile.mma %a3, %b3, %c3 {unit = "nvidia.wgmma_m64n64k16_f16_f32"} : !a, !b, !c
        affine.yield %c4 : !c
      }
      tile.store %r, %C[%w * 64, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x64xf32>
    }
  }
  return
}
}
