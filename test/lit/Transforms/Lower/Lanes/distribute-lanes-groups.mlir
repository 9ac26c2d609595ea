// Units of a group of subgroups whose operands lanes have copied: what lanes wrote is fenced before the barrier, results are awaited
// before their first use. A comes from registers, or both operands by descriptors.
//
// RUN: tw-opt %s -split-input-file -lower-affine -distribute-lanes | FileCheck %s

#rows = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0, 0, 8]>
#sums = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0], repeats = [2, 0, 8]>
#once = #tile.layout<lanes = [0, 0, 0, 0, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [8, 0]>
#square = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!a = !tile.fragment<64x16xf16, #rows>
!b = !tile.fragment<16x16xf16, #square>
!c = !tile.fragment<64x16xf32, #sums>
!m = !tile.fragment<64x1xf32, #once>

// CHECK-LABEL: func.func private @registers
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.wait.group
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK: nvvm.barrier0
// CHECK-NOT: nvvm.barrier0
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: %[[D:.*]] = call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (vector<8xf16>, i64, i64, vector<8xf32>) -> vector<8xf32>
// CHECK-NOT: nvvm.wgmma
// CHECK: call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32_a(%{{.*}}, %{{.*}}, %{{.*}}, %[[D]])
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: nvvm.shfl.sync
module attributes {tilewright.target = "nvidia:H200"} {
func.func private @registers(%A: memref<64x16xf16>, %B: memref<16x16xf16>, %C: memref<64x16xf32>, %M: memref<64xf32>) attributes {tilewright.launch = {threads = 128 : i64, shared = 1024 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 1, swizzleBase = 4, swizzleShift = 3>} : memref<1x16x16xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      %t = tile.copy %B[0, 0] elements affine_map<(r, c) -> (r, c)> to %s[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 16] : memref<16x16xf16>, memref<1x16x16xf16, "shared">
      tile.wait %t
      %a = tile.load %A[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x16xf16> -> !a
      %zero = tile.zero : !c
      %b = tile.load %s[0, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<1x16x16xf16, "shared"> -> !b
      %d = tile.mma %a, %b, %zero {unit = "nvidia.wgmma_m64n16k16_f16_f32_a"} : !a, !b, !c
      %e = tile.mma %a, %b, %d {unit = "nvidia.wgmma_m64n16k16_f16_f32_a"} : !a, !b, !c
      %f = tile.reduce %e dimension 1 : !c -> !m {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maximumf %x, %y : f32
        tile.yield %z : f32
      }
      tile.store %f, %M[0] elements affine_map<(r, c) -> (r)> : !m, memref<64xf32>
      tile.store %e, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x16xf32>
    }
  }
  return
}
}

// -----

#sums = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0], repeats = [2, 0, 8]>
#tall = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 32, 0]>
#square = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!a = !tile.fragment<64x16xf16, #tall>
!b = !tile.fragment<16x16xf16, #square>
!c = !tile.fragment<64x16xf32, #sums>

// Steps of a loop: the sums are awaited in each, before the stage that they were read from may be written again.
// CHECK-LABEL: func.func private @described
// CHECK: scf.for
// CHECK: nvvm.fence.proxy
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: call @tilewright.unit.nvidia.wgmma_m64n16k16_f16_f32(%{{.*}}) : (i64, i64, i64, i64, vector<8xf32>) -> vector<8xf32>
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: %[[D:.*]] = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// CHECK: scf.yield
module attributes {tilewright.target = "nvidia:H200"} {
func.func private @described(%A: memref<64x64xf16>, %B: memref<16x64xf16>, %C: memref<64x16xf32>) attributes {tilewright.launch = {threads = 128 : i64, shared = 8192 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 1, swizzleBase = 4, swizzleShift = 3>} : memref<2x64x16xf16, "shared">
    %sb = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 1, swizzleBase = 4, swizzleShift = 3>} : memref<2x16x16xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      %zero = tile.zero : !c
      %sum = affine.for %k = 0 to 4 iter_args(%c = %zero) -> (!c) {
        %t = tile.copy %A[0, %k * 16] elements affine_map<(r, c) -> (r, c)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] : memref<64x64xf16>, memref<2x64x16xf16, "shared">
        %u = tile.copy %B[0, %k * 16] elements affine_map<(r, c) -> (r, c)> to %sb[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 16] : memref<16x64xf16>, memref<2x16x16xf16, "shared">
        tile.wait %t, %u
        %a = tile.load %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> : memref<2x64x16xf16, "shared"> -> !a
        %b = tile.load %sb[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<2x16x16xf16, "shared"> -> !b
        %d = tile.mma %a, %b, %c {unit = "nvidia.wgmma_m64n16k16_f16_f32"} : !a, !b, !c
        affine.yield %d : !c
      }
      tile.store %sum, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x16xf32>
    }
  }
  return
}
}

// -----

#rows = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0, 0, 8]>
#sums = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0], repeats = [2, 0, 8]>
#square = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!a = !tile.fragment<64x16xf16, #rows>
!b = !tile.fragment<16x16xf16, #square>
!c = !tile.fragment<64x16xf32, #sums>

// What lanes load between two units is fenced, too.
// CHECK-LABEL: func.func private @between
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: call @tilewright.unit
// CHECK-NOT: wait_group
// CHECK: llvm.load
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: call @tilewright.unit
// CHECK: nvvm.wgmma.commit.group.sync.aligned
module attributes {tilewright.target = "nvidia:H200"} {
func.func private @between(%A: memref<64x32xf16>, %B: memref<16x16xf16>, %C: memref<64x16xf32>) attributes {tilewright.launch = {threads = 128 : i64, shared = 1024 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 1, swizzleBase = 4, swizzleShift = 3>} : memref<1x16x16xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      %t = tile.copy %B[0, 0] elements affine_map<(r, c) -> (r, c)> to %s[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 16] : memref<16x16xf16>, memref<1x16x16xf16, "shared">
      tile.wait %t
      %zero = tile.zero : !c
      %b = tile.load %s[0, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<1x16x16xf16, "shared"> -> !b
      %a = tile.load %A[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x32xf16> -> !a
      %d = tile.mma %a, %b, %zero {unit = "nvidia.wgmma_m64n16k16_f16_f32_a"} : !a, !b, !c
      %h = tile.load %A[0, 16] elements affine_map<(r, c) -> (r, c)> : memref<64x32xf16> -> !a
      %e = tile.mma %h, %b, %d {unit = "nvidia.wgmma_m64n16k16_f16_f32_a"} : !a, !b, !c
      tile.store %e, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x16xf32>
    }
  }
  return
}
}
