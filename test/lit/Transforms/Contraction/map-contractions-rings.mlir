// Units that a group of subgroups issues on matrices in the scratchpad: tiles are copied by an engine into a ring of stages,
// blocks take tiles of C in turn, two of them share what they copy of B.
//
// RUN: tw-opt %s -map-contractions | FileCheck %s

// CHECK-LABEL: func.func @product
// CHECK: tile.parallel (%[[W:.*]]) to (66) level "grid"
// CHECK:   tile.parallel (%[[R:.*]]) to (2) level "cluster"
// CHECK:     %[[A:.*]] = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 3>} : memref<4x128x64xf16, "shared">
// CHECK:     %[[B:.*]] = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = 3, swizzleBase = 4, swizzleShift = 3>} : memref<4x4x64x64xf16, "shared">
// CHECK:     affine.for
// CHECK:       tile.parallel (%[[G:.*]], %{{.*}}) to (2, 1) level "block"
// CHECK:         tile.load %{{.*}} : memref<4096x4096xf32>
// CHECK:         affine.for %[[K:.*]] = 0 to 64 iter_args
// CHECK:           tile.copy %arg0[{{.*}}%[[R]]{{.*}}, %[[K]] * 64] {{.*}} to %[[A]][%[[K]] mod 4, 0, 0] {{.*}} shape [128, 64] {engine = "TmaLoad"}
// CHECK-COUNT-4:   tile.copy %arg1[%[[K]] * 64, {{.*}} to %[[B]][%[[K]] mod 4, {{.*}} shape [64, 64] {engine = "TmaLoad"}
// CHECK:           tile.wait
// CHECK-COUNT-4:   tile.mma {{.*}} {unit = "nvidia.wgmma_m64n256k16_f16_f32"}
// CHECK:           affine.yield
// CHECK:         tile.store
module attributes {tilewright.target = "nvidia:H100"} {
func.func @product(%A: memref<4096x4096xf16>, %B: memref<4096x4096xf16>, %C: memref<4096x4096xf32>) {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4096 {
      affine.for %k = 0 to 4096 {
        %a = affine.load %A[%i, %k] : memref<4096x4096xf16>
        %b = affine.load %B[%k, %j] : memref<4096x4096xf16>
        %c = affine.load %C[%i, %j] : memref<4096x4096xf32>
        %x = arith.extf %a : f16 to f32
        %y = arith.extf %b : f16 to f32
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<4096x4096xf32>
      }
    }
  }
  return
}

// Rows whose length nobody knows are no tiles: one subgroup multiplies.
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: engine
// CHECK: tile.mma {{.*}} {unit = "nvidia.mma_
func.func @dynamic(%A: memref<4096x?xf16>, %B: memref<?x4096xf16>, %C: memref<4096x4096xf32>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %A, %c1 : memref<4096x?xf16>
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 4096 {
      affine.for %k = 0 to %n {
        %a = affine.load %A[%i, %k] : memref<4096x?xf16>
        %b = affine.load %B[%k, %j] : memref<?x4096xf16>
        %c = affine.load %C[%i, %j] : memref<4096x4096xf32>
        %x = arith.extf %a : f16 to f32
        %y = arith.extf %b : f16 to f32
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<4096x4096xf32>
      }
    }
  }
  return
}
}
