// Copies past the registers that run several steps ahead: a wait counts the younger ones, 3 of a lane in a step here, and leaves
// as many under way. In the last steps, and where another kind of copy is in the launch, a wait is for all.
//
// RUN: tw-opt %s -split-input-file -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

#A = #tile.layout<lanes = [1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 0, 8], elements = [0, 1, 0, 2, 0, 4]>
#Bt = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 8, 0], elements = [1, 0, 2, 0, 4, 0]>
!a = !tile.fragment<32x16xf16, #A>
!b = !tile.fragment<16x32xf16, #Bt>
#C32 = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16, 4, 0], elements = [1, 0, 2, 0, 8, 0, 16, 0]>
!c = !tile.fragment<32x32xf32, #C32>
#to = affine_map<(r, c) -> (0, r, c)>
#id = affine_map<(r, c) -> (r, c)>

module attributes {tilewright.target = "amd:MI350"} {
// Bits 0 to 3 are the count: 3952 is 0, 3955 is 3.
//
// CHECK-LABEL: func.func private @counted
// CHECK-COUNT-6: rocdl.raw.ptr.buffer.load.lds
// CHECK: rocdl.s.waitcnt 3955
// CHECK: rocdl.s.barrier
// CHECK: scf.for
// CHECK-COUNT-3: rocdl.raw.ptr.buffer.load.lds
// CHECK: func.call @tilewright.unit
// CHECK: rocdl.s.waitcnt 3955
// CHECK: rocdl.s.waitcnt 49279
// CHECK-NEXT: rocdl.s.barrier
// CHECK: scf.yield
// CHECK: rocdl.s.waitcnt 3952
func.func private @counted(%A: memref<128x512xf16>, %B: memref<64x512xf16>, %C: memref<64x32xf32>)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 18432 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<3x128x16xf16, "shared">
    %sb = tile.alloc() : memref<3x64x16xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      %zero = tile.zero : !c
      %a0 = tile.copy %A[0, 0] elements #id to %sa[0, 0, 0] elements #to shape [128, 16] {direct} : memref<128x512xf16>, memref<3x128x16xf16, "shared">
      %b0 = tile.copy %B[0, 0] elements #id to %sb[0, 0, 0] elements #to shape [64, 16] {direct} : memref<64x512xf16>, memref<3x64x16xf16, "shared">
      %a1 = tile.copy %A[0, 16] elements #id to %sa[1, 0, 0] elements #to shape [128, 16] {direct} : memref<128x512xf16>, memref<3x128x16xf16, "shared">
      %b1 = tile.copy %B[0, 16] elements #id to %sb[1, 0, 0] elements #to shape [64, 16] {direct} : memref<64x512xf16>, memref<3x64x16xf16, "shared">
      tile.wait %a0, %b0
      %r:3 = affine.for %k = 0 to 30 iter_args(%acc = %zero, %ta = %a1, %tb = %b1) -> (!c, !tile.token, !tile.token) {
        %na = tile.copy %A[0, %k * 16 + 32] elements #id to %sa[(%k + 2) mod 3, 0, 0] elements #to shape [128, 16] {direct} : memref<128x512xf16>, memref<3x128x16xf16, "shared">
        %nb = tile.copy %B[0, %k * 16 + 32] elements #id to %sb[(%k + 2) mod 3, 0, 0] elements #to shape [64, 16] {direct} : memref<64x512xf16>, memref<3x64x16xf16, "shared">
        %x = tile.load %sa[%k mod 3, %w * 32, 0] elements #to : memref<3x128x16xf16, "shared"> -> !a
        %y = tile.load %sb[%k mod 3, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<3x64x16xf16, "shared"> -> !b
        %d = tile.mma %x, %y, %acc {unit = "amd.mfma_cdna4_32x32_f16_f32", arrived} : !a, !b, !c
        tile.wait %ta, %tb
        affine.yield %d, %na, %nb : !c, !tile.token, !tile.token
      }
      tile.wait %r#1, %r#2
      tile.store %r#0, %C[%w * 32, 0] elements #id : !c, memref<64x32xf32>
    }
  }
  return
}
// CHECK-LABEL: func.func private @mixed
// CHECK-COUNT-6: rocdl.raw.ptr.buffer.load.lds
// CHECK: rocdl.s.waitcnt 3952
// CHECK: scf.for
// CHECK-NOT: rocdl.s.waitcnt 3955
// CHECK: rocdl.s.waitcnt 3952
// CHECK: scf.yield
func.func private @mixed(%A: memref<128x512xf16>, %B: memref<64x512xf16>, %C: memref<64x32xf32>)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 18432 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<3x128x16xf16, "shared">
    %sb = tile.alloc() : memref<3x64x16xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      %zero = tile.zero : !c
      %a0 = tile.copy %A[0, 0] elements #id to %sa[0, 0, 0] elements #to shape [128, 16] {direct} : memref<128x512xf16>, memref<3x128x16xf16, "shared">
      %b0 = tile.copy %B[0, 0] elements #id to %sb[0, 0, 0] elements #to shape [64, 16] {direct} : memref<64x512xf16>, memref<3x64x16xf16, "shared">
      %a1 = tile.copy %A[0, 16] elements #id to %sa[1, 0, 0] elements #to shape [128, 16] {direct} : memref<128x512xf16>, memref<3x128x16xf16, "shared">
      %b1 = tile.copy %B[0, 16] elements #id to %sb[1, 0, 0] elements #to shape [64, 16] {direct} : memref<64x512xf16>, memref<3x64x16xf16, "shared">
      tile.wait %a0, %b0
      %r:3 = affine.for %k = 0 to 30 iter_args(%acc = %zero, %ta = %a1, %tb = %b1) -> (!c, !tile.token, !tile.token) {
        %na = tile.copy %A[0, %k * 16 + 32] elements #id to %sa[(%k + 2) mod 3, 0, 0] elements #to shape [128, 16] {direct} : memref<128x512xf16>, memref<3x128x16xf16, "shared">
        %nb = tile.copy %B[0, %k * 16 + 32] elements #id to %sb[(%k + 2) mod 3, 0, 0] elements #to shape [64, 16] {direct} : memref<64x512xf16>, memref<3x64x16xf16, "shared">
        %x = tile.load %sa[%k mod 3, %w * 32, 0] elements #to : memref<3x128x16xf16, "shared"> -> !a
        %y = tile.load %sb[%k mod 3, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<3x64x16xf16, "shared"> -> !b
        %d = tile.mma %x, %y, %acc {unit = "amd.mfma_cdna4_32x32_f16_f32", arrived} : !a, !b, !c
        tile.wait %ta, %tb
        affine.yield %d, %na, %nb : !c, !tile.token, !tile.token
      }
      %o = tile.copy %B[0, 0] elements #id to %sb[0, 0, 0] elements #to shape [64, 16] : memref<64x512xf16>, memref<3x64x16xf16, "shared">
      tile.wait %o
      tile.wait %r#1, %r#2
      tile.store %r#0, %C[%w * 32, 0] elements #id : !c, memref<64x32xf32>
    }
  }
  return
}
}
