// A transposition goes through padded tiles of the scratchpad; what is read and written along one dimension does not.
//
// RUN: tw-opt %s -map-transposes-to-lanes | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {

// CHECK-LABEL: @transpose
// CHECK: tile.parallel (%[[I:[a-z0-9]*]], %[[J:[a-z0-9]*]]) to ({{.*}} ceildiv 64, 2) level "grid"
// CHECK:   %[[T:.*]] = tile.alloc() {arrangement = #tile.arrangement<padding = 2>} : memref<64x64xf16, "shared">
// CHECK:   tile.parallel (%[[W:[a-z0-9]*]]) to (8) level "block"
// CHECK:     %[[K:.*]] = tile.copy %arg0[%[[J]] * 64, %[[I]] * 64]
// CHECK-SAME: to %[[T]][0, 0]
// CHECK-SAME: shape [64, 64]
// CHECK:     tile.wait %[[K]]
// CHECK:     %[[X:.*]] = tile.load %[[T]][0, %[[W]] * 8] elements
// CHECK:     %[[B:.*]] = tile.load %arg1[%[[J]] * 64] elements
// CHECK:     tile.map(%{{.*}} = %[[X]], %{{.*}} = %[[B]])
// CHECK:     tile.store %{{.*}}, %arg2[%[[I]] * 64 + %[[W]] * 8, %[[J]] * 64]
func.func private @transpose(%a: memref<100x?xf16>, %bias: memref<100xf16>, %b: memref<?x100xf16>, %m: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 100 {
      %x = affine.load %a[%j, %i] : memref<100x?xf16>
      %y = affine.load %bias[%j] : memref<100xf16>
      %z = arith.addf %x, %y : f16
      affine.store %z, %b[%i, %j] : memref<?x100xf16>
    }
  }
  return
}

// CHECK-LABEL: @straight
// CHECK-NOT: tile.
func.func private @straight(%a: memref<100x64xf32>, %b: memref<100x64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 100 {
    affine.for %j = 0 to 64 {
      %x = affine.load %a[%i, %j] : memref<100x64xf32>
      affine.store %x, %b[%i, %j] : memref<100x64xf32>
    }
  }
  return
}

// Three columns fill no sector anyhow.
// CHECK-LABEL: @narrow
// CHECK-NOT: tile.
func.func private @narrow(%a: memref<3x640xf32>, %b: memref<640x3xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 640 {
    affine.for %j = 0 to 3 {
      %x = affine.load %a[%j, %i] : memref<3x640xf32>
      affine.store %x, %b[%i, %j] : memref<640x3xf32>
    }
  }
  return
}
}
