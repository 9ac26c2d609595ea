// Lane code of launches written by hand: fragments by their layouts, copies into the scratchpad, one barrier a step.
//
// RUN: tw-opt %s -split-input-file -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

#A = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0, 0, 8]>
#B = #tile.layout<lanes = [2, 0, 4, 0, 0, 1, 0, 2, 0, 4], elements = [1, 0, 8, 0]>
#C = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>
!a = !tile.fragment<16x16xf16, #A>
!b = !tile.fragment<16x8xf16, #B>
!c = !tile.fragment<16x8xf32, #C>

module attributes {tilewright.target = "nvidia:A100"} {

// A ring of three stages: the copies of a stage are one group, the wait leaves one under way, and one barrier serves the stage that
// has landed and the one that is written next.
//
// CHECK-LABEL: func.func private @ring
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias}
// CHECK: nvvm.cp.async.shared.global
// CHECK-NOT: commit.group
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-2: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-NOT: commit.group
// CHECK: scf.for
// CHECK:   nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier0
// CHECK:   nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.barrier0
// CHECK:   nvvm.ldmatrix {{.*}}num = 4
// CHECK:   nvvm.ldmatrix {{.*}}<col>, num = 2
// CHECK:   func.call @tilewright.unit.nvidia.mma_m16n8k16_f16_f32
// CHECK:   scf.yield
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.store {{.*}} : vector<2xf32>, !llvm.ptr<1>
func.func private @ring(%A: memref<64x512xf16>, %B: memref<512x32xf16>, %C: memref<64x32xf32>)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 12288 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 2, swizzleBase = 4, swizzleShift = 3>} : memref<3x64x16xf16, "shared">
    %sb = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 2, swizzleBase = 4, swizzleShift = 3>} : memref<3x16x32xf16, "shared">
    tile.parallel (%w) to (4) level "block" {
      %zero = tile.zero : !c
      %a0 = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] : memref<64x512xf16>, memref<3x64x16xf16, "shared">
      %b0 = tile.copy %B[0, 0] elements affine_map<(r, c) -> (r, c)> to %sb[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 32] : memref<512x32xf16>, memref<3x16x32xf16, "shared">
      %a1 = tile.copy %A[0, 16] elements affine_map<(r, c) -> (r, c)> to %sa[1, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] : memref<64x512xf16>, memref<3x64x16xf16, "shared">
      %b1 = tile.copy %B[16, 0] elements affine_map<(r, c) -> (r, c)> to %sb[1, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 32] : memref<512x32xf16>, memref<3x16x32xf16, "shared">
      %r:5 = affine.for %k = 0 to 32 iter_args(%acc = %zero, %ta0 = %a0, %tb0 = %b0, %ta1 = %a1, %tb1 = %b1) -> (!c, !tile.token, !tile.token, !tile.token, !tile.token) {
        tile.wait %ta0, %tb0
        %ta2 = tile.copy %A[0, %k * 16 + 32] elements affine_map<(r, c) -> (r, c)> to %sa[(%k + 2) mod 3, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] valid(64, %k * -16 + 480) : memref<64x512xf16>, memref<3x64x16xf16, "shared">
        %tb2 = tile.copy %B[%k * 16 + 32, 0] elements affine_map<(r, c) -> (r, c)> to %sb[(%k + 2) mod 3, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 32] valid(%k * -16 + 480, 32) : memref<512x32xf16>, memref<3x16x32xf16, "shared">
        %a = tile.load %sa[%k mod 3, %w * 16, 0] elements affine_map<(r, c) -> (0, r, c)> : memref<3x64x16xf16, "shared"> -> !a
        %b = tile.load %sb[%k mod 3, 0, 8] elements affine_map<(r, c) -> (0, r, c)> : memref<3x16x32xf16, "shared"> -> !b
        %d = tile.mma %a, %b, %acc {unit = "nvidia.mma_m16n8k16_f16_f32"} : !a, !b, !c
        affine.yield %d, %ta1, %tb1, %ta2, %tb2 : !c, !tile.token, !tile.token, !tile.token, !tile.token
      }
      tile.store %r#0, %C[%w * 16, 8] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x32xf32>
    }
  }
  return
}
}

// -----

#A = #tile.layout<lanes = [1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 0, 4], elements = [0, 1, 0, 2]>
#Bt = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 4, 0], elements = [1, 0, 2, 0]>
!a = !tile.fragment<32x8xf16, #A>
!b = !tile.fragment<8x32xf16, #Bt>
#C32 = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 4, 0], elements = [1, 0, 2, 0, 8, 0, 16, 0]>
!c = !tile.fragment<32x32xf32, #C32>

module attributes {tilewright.target = "amd:MI300X"} {

// Without an engine the elements of a copy wait in registers: loads at the copy, stores at the wait behind the products. The
// array is described once, before any branch; where results are checked, their addresses stand before the branches, too.
//
// CHECK-LABEL: func.func private @staged
// CHECK: rocdl.make.buffer.rsrc %arg0
// CHECK-NOT: rocdl.make.buffer.rsrc
// CHECK: scf.for
// CHECK:   rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK:   rocdl.s.barrier
// CHECK:   llvm.load {{.*}} !llvm.ptr<3>
// CHECK:   rocdl.s.waitcnt 3952
// CHECK:   llvm.store {{.*}} : vector<8xf16>, !llvm.ptr<3>
// CHECK-NOT: rocdl.s.barrier
// CHECK-NOT: rocdl.make.buffer.rsrc
// CHECK: %[[OWN:.*]] = llvm.getelementptr %arg1
// CHECK: scf.if
// CHECK:   llvm.store {{.*}}, %[[OWN]] {{.*}} : f32, !llvm.ptr<1>
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[OWN]][32]
// CHECK: scf.if
// CHECK:   llvm.store {{.*}}, %[[NEXT]] {{.*}} : f32, !llvm.ptr<1>
func.func private @staged(%A: memref<64x512xf16>, %C: memref<?x32xf32>, %m: index)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 4096 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x16xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      %zero = tile.zero : !c
      %t0 = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] : memref<64x512xf16>, memref<2x64x16xf16, "shared">
      tile.wait %t0
      %r = affine.for %k = 0 to 31 iter_args(%acc = %zero) -> (!c) {
        %t = tile.copy %A[0, %k * 16 + 16] elements affine_map<(r, c) -> (r, c)> to %sa[(%k + 1) mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] : memref<64x512xf16>, memref<2x64x16xf16, "shared">
        %a = tile.load %sa[%k mod 2, %w * 32, 0] elements affine_map<(r, c) -> (0, r, c)> : memref<2x64x16xf16, "shared"> -> !a
        %b = tile.load %sa[%k mod 2, %w * 32, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<2x64x16xf16, "shared"> -> !b
        %d = tile.mma %a, %b, %acc {unit = "amd.mfma_cdna3_32x32_f16_f32"} : !a, !b, !c
        tile.wait %t
        affine.yield %d : !c
      }
      tile.store %r, %C[%w * 32, 0] elements affine_map<(r, c) -> (r, c)> valid(%m - %w * 32, 32) : !c, memref<?x32xf32>
    }
  }
  return
}
}

// -----

#A = #tile.layout<lanes = [1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 0, 8], elements = [0, 1, 0, 2, 0, 4]>
#Bt = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 8, 0], elements = [1, 0, 2, 0, 4, 0]>
!a = !tile.fragment<32x16xf16, #A>
!b = !tile.fragment<16x32xf16, #Bt>
#C32 = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 4, 0], elements = [1, 0, 2, 0, 8, 0, 16, 0]>
!c = !tile.fragment<32x32xf32, #C32>

module attributes {tilewright.target = "amd:MI350"} {

// An engine of subgroups copies past the registers: one command for all lanes, whose swizzle is in what each reads. One wait
// and one barrier a step. Fragments of rows along n are loaded as columns, 4 elements along k at a time; products begin when
// what was loaded before the next fragments is there.
//
// CHECK-LABEL: func.func private @direct
// CHECK: rocdl.readfirstlane
// CHECK: rocdl.raw.ptr.buffer.load.lds
// CHECK: arith.xori
// CHECK: rocdl.raw.ptr.buffer.load.lds
// CHECK: rocdl.s.waitcnt 3952
// CHECK: rocdl.s.barrier
// CHECK: scf.for
// CHECK-NOT: rocdl.s.barrier
// CHECK:   rocdl.raw.ptr.buffer.load.lds
// CHECK-NOT: rocdl.s.barrier
// CHECK:   llvm.load {{.*}} !llvm.ptr<3> -> vector<8xf16>
// CHECK-COUNT-2: rocdl.ds.read.tr16.b64
// CHECK:   rocdl.sched.barrier 0
// CHECK:   rocdl.s.waitcnt 49279
// CHECK:   func.call @tilewright.unit.amd.mfma_cdna4_32x32_f16_f32
// CHECK:   rocdl.s.waitcnt 3952
// CHECK:   rocdl.s.barrier
// CHECK-NOT: rocdl.s.barrier
// CHECK: return
func.func private @direct(%A: memref<64x512xf16>, %B: memref<512x64xf16>, %C: memref<64x64xf32>)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 8192 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x16xf16, "shared">
    %sb = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 1, swizzleBase = 5, swizzleShift = 3>} : memref<2x16x64xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      %zero = tile.zero : !c
      %t0 = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] {direct} : memref<64x512xf16>, memref<2x64x16xf16, "shared">
      %u0 = tile.copy %B[0, 0] elements affine_map<(r, c) -> (r, c)> to %sb[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 64] {direct} : memref<512x64xf16>, memref<2x16x64xf16, "shared">
      tile.wait %t0, %u0
      %r = affine.for %k = 0 to 31 iter_args(%acc = %zero) -> (!c) {
        %t = tile.copy %A[0, %k * 16 + 16] elements affine_map<(r, c) -> (r, c)> to %sa[(%k + 1) mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 16] {direct} : memref<64x512xf16>, memref<2x64x16xf16, "shared">
        %u = tile.copy %B[%k * 16 + 16, 0] elements affine_map<(r, c) -> (r, c)> to %sb[(%k + 1) mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [16, 64] {direct} : memref<512x64xf16>, memref<2x16x64xf16, "shared">
        %a = tile.load %sa[%k mod 2, %w * 32, 0] elements affine_map<(r, c) -> (0, r, c)> : memref<2x64x16xf16, "shared"> -> !a
        %b = tile.load %sb[%k mod 2, 0, %w * 32] elements affine_map<(r, c) -> (0, r, c)> : memref<2x16x64xf16, "shared"> -> !b
        %d = tile.mma %a, %b, %acc {unit = "amd.mfma_cdna4_32x32_f16_f32", arrived} : !a, !b, !c
        tile.wait %t, %u
        affine.yield %d : !c
      }
      tile.store %r, %C[%w * 32, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x64xf32>
    }
  }
  return
}
}

// -----

// The elements of a lane, then lanes in pairs; all have the total, the first writes it.
#row = #tile.layout<lanes = [0, 2, 0, 4, 0, 8, 0, 16, 0, 32], elements = [0, 1]>
#one = #tile.layout<lanes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], elements = []>
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func private @total
// CHECK: %[[V:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> vector<2xf32>
// CHECK: arith.addf
// CHECK-COUNT-5: nvvm.shfl.sync idx
// CHECK: arith.addf
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[FIRST]]
// CHECK:   llvm.store {{.*}} : f32, !llvm.ptr<1>
func.func private @total(%A: memref<64xf32>, %S: memref<1xf32>) attributes {tilewright.launch = {threads = 32 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %x = tile.load %A[0] elements affine_map<(r, c) -> (c)> : memref<64xf32> -> !tile.fragment<1x64xf32, #row>
      %s = tile.reduce %x dimension 1 : !tile.fragment<1x64xf32, #row> -> !tile.fragment<1x1xf32, #one> {
      ^bb0(%l: f32, %r: f32):
        %t = arith.addf %l, %r : f32
        tile.yield %t : f32
      }
      tile.store %s, %S[0] elements affine_map<(r, c) -> (c)> : !tile.fragment<1x1xf32, #one>, memref<1xf32>
    }
  }
  return
}
}

// -----

// A copy that transposes: each lane loads four pieces of four rows, turns them in its registers by permutations of two words,
// and writes four pieces of the tile's rows.
module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: func.func private @transposed(
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.load {{.*}} : i32
// CHECK-NOT: rocdl.raw.ptr.buffer.load
// CHECK-COUNT-8: llvm.call_intrinsic "llvm.amdgcn.perm"
// CHECK-NOT: llvm.call_intrinsic
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xi8>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
func.func private @transposed(%A: memref<32x64xi8>) attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xi8, "shared">
    tile.parallel (%w) to (2) level "block" {
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (c, r)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] : memref<32x64xi8>, memref<64x32xi8, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

// The block and the order of lanes as the cost model gives them.
module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: func.func private @transposed_in_bytes(
// CHECK-COUNT-16: rocdl.raw.ptr.buffer.load {{.*}} : i8
// CHECK: llvm.store {{.*}} : vector<16xi8>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
func.func private @transposed_in_bytes(%A: memref<32x64xi8>) attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xi8, "shared">
    tile.parallel (%w) to (2) level "block" {
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (c, r)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] {turn = array<i64: 1, 16, 64, 1>} : memref<32x64xi8>, memref<64x32xi8, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

// Another chip's permutation.
module attributes {tilewright.target = "nvidia:T4"} {
// CHECK-LABEL: func.func private @transposed_by_prmt(
// CHECK-COUNT-8: nvvm.prmt
// CHECK-COUNT-4: llvm.store {{.*}} : vector<4xi8>, !llvm.ptr<3>
func.func private @transposed_by_prmt(%A: memref<32x64xi8>) attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xi8, "shared">
    tile.parallel (%w) to (2) level "block" {
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (c, r)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] : memref<32x64xi8>, memref<64x32xi8, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

// Elements of type index are 8 bytes in memory.
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func private @index
// CHECK: %[[X:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK: llvm.store %[[X]], %{{.*}} {alignment = 8 : i64} : i64, !llvm.ptr<1>
func.func private @index(%a: memref<4xindex>) attributes {tilewright.launch = {shared = 0 : i64, threads = 32 : i64}} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = memref.load %a[%c1] : memref<4xindex>
  memref.store %x, %a[%c2] : memref<4xindex>
  return
}
}

// -----

#A1 = #tile.layout<lanes = [0, 0, 0, 0, 0, 0, 1, 0, 2, 0], elements = []>
#B1 = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 0, 0, 0], elements = []>
#C1 = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 1, 0, 2, 0], elements = []>
!a = !tile.fragment<4x1xf64, #A1>
!b = !tile.fragment<1x8xf64, #B1>
!c = !tile.fragment<4x8xf64, #C1>

module attributes {tilewright.target = "amd:RX9070"} {

// Only those bits of a swizzled address that lanes have too are exchanged: rows of a tile share the address of the lane, and
// the rest of the constant stands behind it. The loop round a ring that lanes fill stays as long as it is, and loads that shall
// stay before the products do.
//
// CHECK: #[[NOT_UNROLLED:loop_annotation.*]] = #llvm.loop_annotation<unroll = #loop_unroll
// CHECK-LABEL: func.func private @shared_addresses
// CHECK: %[[PAD:.*]] = llvm.mlir.addressof
// CHECK: scf.for
// CHECK-COUNT-2: rocdl.s.barrier
// CHECK:   %[[OWN:.*]] = llvm.getelementptr %[[PAD]][%{{.*}}]
// CHECK-NEXT: llvm.load %[[OWN]] {{.*}} -> f64
// CHECK:   %[[BELOW:.*]] = llvm.getelementptr %[[OWN]][32]
// CHECK-NEXT: llvm.load %[[BELOW]] {{.*}} -> f64
// CHECK:   %[[BITS:.*]] = arith.xori %{{.*}}, %c16_i32
// CHECK-NEXT: %[[OTHER:.*]] = llvm.getelementptr %[[PAD]][%[[BITS]]]
// CHECK-NEXT: %[[NEXT:.*]] = llvm.getelementptr %[[OTHER]][1024]
// CHECK-NEXT: llvm.load %[[NEXT]] {{.*}} -> f64
// CHECK:   %[[LAST:.*]] = llvm.getelementptr %[[OTHER]][1056]
// CHECK-NEXT: llvm.load %[[LAST]] {{.*}} -> f64
// CHECK:   rocdl.sched.barrier 0
// CHECK-NEXT: func.call @tilewright.unit.amd.fma32_f64
// CHECK-COUNT-3: func.call @tilewright.unit.amd.fma32_f64
// CHECK: } {loop_annotation = #[[NOT_UNROLLED]]}
func.func private @shared_addresses(%A: memref<256x64xf64>, %C: memref<4x8xf64>)
    attributes {tilewright.launch = {threads = 32 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 6>} : memref<4x64xf64, "shared">
    tile.parallel (%w) to (1) level "block" {
      %zero = tile.zero : !c
      %r = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> (!c) {
        %t = tile.copy %A[%k * 4, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0] elements affine_map<(r, c) -> (r, c)> shape [4, 64] : memref<256x64xf64>, memref<4x64xf64, "shared">
        tile.wait %t
        %a0 = tile.load %sa[0, 0] elements affine_map<(r, c) -> (c, r)> : memref<4x64xf64, "shared"> -> !a
        %a1 = tile.load %sa[0, 4] elements affine_map<(r, c) -> (c, r)> : memref<4x64xf64, "shared"> -> !a
        %a2 = tile.load %sa[2, 0] elements affine_map<(r, c) -> (c, r)> : memref<4x64xf64, "shared"> -> !a
        %a3 = tile.load %sa[2, 4] elements affine_map<(r, c) -> (c, r)> : memref<4x64xf64, "shared"> -> !a
        %b = tile.load %sa[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<4x64xf64, "shared"> -> !b
        %d0 = tile.mma %a0, %b, %acc {unit = "amd.fma32_f64", behind_loads} : !a, !b, !c
        %d1 = tile.mma %a1, %b, %d0 {unit = "amd.fma32_f64"} : !a, !b, !c
        %d2 = tile.mma %a2, %b, %d1 {unit = "amd.fma32_f64"} : !a, !b, !c
        %d3 = tile.mma %a3, %b, %d2 {unit = "amd.fma32_f64"} : !a, !b, !c
        affine.yield %d3 : !c
      }
      tile.store %r, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<4x8xf64>
    }
  }
  return
}
}

// -----

#C32 = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 4, 0], elements = [1, 0, 2, 0, 8, 0, 16, 0]>
!c = !tile.fragment<32x32xf32, #C32>

module attributes {tilewright.target = "amd:MI300X"} {

// What follows a sum is done for 8 of a lane's 16 elements after the other: loads, maps and stores. What is no sum is stored
// as a whole.
//
// CHECK-LABEL: func.func private @in_parts
// CHECK: %[[SUM:.*]] = scf.for
// CHECK: %[[FIRST:.*]] = vector.shuffle %[[SUM]], %[[SUM]] [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK-COUNT-8: llvm.load {{.*}} !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load
// CHECK: %[[X:.*]] = arith.addf %[[FIRST]], %{{.*}} : vector<8xf32>
// CHECK: math.erf %[[X]] : vector<8xf32>
// CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: vector.shuffle %[[SUM]], %[[SUM]] [8, 9, 10, 11, 12, 13, 14, 15]
// CHECK-COUNT-8: llvm.load {{.*}} !llvm.ptr<1> -> f32
// CHECK: math.erf {{.*}} : vector<8xf32>
// CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: math.erf
// CHECK: return
// CHECK-LABEL: func.func private @as_a_whole
// CHECK: math.erf {{.*}} : vector<16xf32>
func.func private @in_parts(%A: memref<32x32xf32>, %B: memref<32x32xf32>, %C: memref<32x32xf32>)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %zero = tile.zero : !c
      %sum = affine.for %k = 0 to 4 iter_args(%acc = %zero) -> (!c) {
        %x = tile.load %A[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<32x32xf32> -> !c
        %y = tile.map(%a = %x, %b = %acc) : (!c, !c) -> (!c) {
          %s = arith.addf %a, %b : f32
          tile.yield %s : f32
        }
        affine.yield %y : !c
      }
      %b = tile.load %B[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<32x32xf32> -> !c
      %y = tile.map(%a = %sum, %o = %b) : (!c, !c) -> (!c) {
        %s = arith.addf %a, %o : f32
        %e = math.erf %s : f32
        tile.yield %e : f32
      }
      tile.store %y, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<32x32xf32>
    }
  }
  return
}
func.func private @as_a_whole(%A: memref<32x32xf32>, %C: memref<32x32xf32>)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %x = tile.load %A[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<32x32xf32> -> !c
      %y = tile.map(%a = %x) : (!c) -> (!c) {
        %e = math.erf %a : f32
        tile.yield %e : f32
      }
      tile.store %y, %C[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<32x32xf32>
    }
  }
  return
}
}

// -----

// Bits of the row's number flip those of the piece twice: 3 and 5 bits above them.
module attributes {tilewright.target = "nvidia:T4"} {
// CHECK-LABEL: func.func private @swizzled_again
// CHECK-DAG: %[[NEAR:.*]] = arith.shrui %[[OFFSET:.*]], %c3_i32
// CHECK-DAG: %[[FAR:.*]] = arith.shrui %[[OFFSET]], %c5_i32
// CHECK: %[[BOTH:.*]] = arith.xori %[[NEAR]], %[[FAR]]
// CHECK: %[[FLIPS:.*]] = arith.andi %[[BOTH]], %c112_i32
// CHECK: arith.xori %[[OFFSET]], %[[FLIPS]]
// CHECK: llvm.store
func.func private @swizzled_again(%A: memref<128x32xi8>) attributes {tilewright.launch = {threads = 32 : i64, shared = 4096 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 3, swizzleAgain = 5>} : memref<32x128xi8, "shared">
    tile.parallel (%w) to (1) level "block" {
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (c, r)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)> shape [32, 128] {turn = array<i64: 8, 1, 4, 128>} : memref<128x32xi8>, memref<32x128xi8, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func private @apart
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias}, %{{.*}}: !llvm.ptr<1> {llvm.noalias}
func.func private @apart(%a: memref<8xf32>, %b: memref<8xf32>) attributes {tilewright.launch = {shared = 0 : i64, threads = 32 : i64}} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<8xf32>
  memref.store %x, %b[%c0] : memref<8xf32>
  return
}
// CHECK-LABEL: func.func private @overlapping
// CHECK-SAME: (%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>)
func.func private @overlapping(%a: memref<8xf32>, %b: memref<8xf32>) attributes {tilewright.launch = {shared = 0 : i64, threads = 32 : i64}, tilewright.overlaps} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<8xf32>
  memref.store %x, %b[%c0] : memref<8xf32>
  return
}
}
