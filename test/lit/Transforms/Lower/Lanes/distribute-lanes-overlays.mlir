// Buffers of the scratchpad that lie over others, and barriers before branches that a part of the lanes takes.
//
// RUN: tw-opt %s -split-input-file -lower-affine -outline-launches -distribute-lanes -canonicalize -cse | FileCheck %s

// All lanes read what each subgroup wrote: one barrier. Then subgroups but the first write over it: the barrier between the two stands
// before their branch, and another one before the branch of the first subgroup, which reads what they wrote. The later buffer begins
// at the first byte, and the launch has as many bytes as the larger of both, 2048 and 4096.
//
// CHECK-LABEL: func.func private @over_launch_0
// CHECK-SAME: shared = 4096 : i64
// CHECK: %[[BASE:.*]] = llvm.mlir.addressof @{{.*}} : !llvm.ptr<3>
// CHECK: %[[OWN:.*]] = llvm.getelementptr %[[BASE]][
// CHECK: llvm.store %{{.*}}, %[[OWN]] {{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK: %[[ALL:.*]] = llvm.getelementptr %[[BASE]][
// CHECK: llvm.load %[[ALL]] {{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK-NEXT: scf.if
// CHECK-NEXT: llvm.store %{{.*}}, %[[OWN]] {{.*}} !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier0
// CHECK: }
// CHECK: nvvm.barrier0
// CHECK-NEXT: scf.if
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[ALL]][512]
// CHECK: llvm.load %[[NEXT]] {{.*}} !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier0
// CHECK: return

#C = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>
!c = !tile.fragment<16x8xf32, #C>

module attributes {tilewright.target = "nvidia:A100"} {
func.func @over(%A: memref<64x8xf32>, %C: memref<64x8xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 1 : i64, tilewright.shapes = [affine_map<() -> (64, 8)>, affine_map<() -> (64, 8)>]} {
  %c0 = arith.constant 0 : index
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x8xf32, "shared">
    %x = tile.alloc() {overlays} : memref<128x8xf32, "shared">
    tile.parallel (%w) to (4) level "block" {
      %a = tile.load %A[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x8xf32> -> !c
      tile.store %a, %s[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x8xf32, "shared">
      %b = tile.load %s[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x8xf32, "shared"> -> !c
      %other = arith.cmpi ne, %w, %c0 : index
      scf.if %other {
        tile.store %b, %x[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<128x8xf32, "shared">
      }
      %first = arith.cmpi eq, %w, %c0 : index
      scf.if %first {
        %d = tile.load %x[16, 0] elements affine_map<(r, c) -> (r, c)> : memref<128x8xf32, "shared"> -> !c
        tile.store %d, %C[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x8xf32>
      }
    }
  }
  return
}
}

// -----

// The larger buffer is the one below. A branch in a branch: the barrier stands before the outer one.
//
// CHECK-LABEL: func.func private @below_launch_0
// CHECK-SAME: shared = 2048 : i64
// CHECK: llvm.store {{.*}} !llvm.ptr<3>
// CHECK: nvvm.barrier0
// CHECK-NEXT: scf.if
// CHECK-NOT: nvvm.barrier0
// CHECK: scf.if
// CHECK-NOT: nvvm.barrier0
// CHECK: llvm.store {{.*}} !llvm.ptr<3>
// CHECK-NOT: nvvm.barrier0
// CHECK: return

#C = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>
!c = !tile.fragment<16x8xf32, #C>

module attributes {tilewright.target = "nvidia:A100"} {
func.func @below(%A: memref<64x8xf32>, %C: memref<64x8xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 1 : i64, tilewright.shapes = [affine_map<() -> (64, 8)>, affine_map<() -> (64, 8)>]} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x8xf32, "shared">
    %x = tile.alloc() {overlays} : memref<16x8xf32, "shared">
    tile.parallel (%w) to (4) level "block" {
      %a = tile.load %A[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x8xf32> -> !c
      tile.store %a, %s[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x8xf32, "shared">
      %other = arith.cmpi ne, %w, %c0 : index
      scf.if %other {
        %second = arith.cmpi eq, %w, %c2 : index
        scf.if %second {
          tile.store %a, %x[0, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<16x8xf32, "shared">
        }
      }
    }
  }
  return
}
}
