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

// Three rows of a are read as they lie; 256 columns of each make one run of b, which leaves three times 256 elements at a time.
// CHECK-LABEL: @narrow
// CHECK: tile.parallel (%[[N:[a-z0-9]*]]) to (3) level "grid"
// CHECK:   %[[T:.*]] = tile.alloc() : memref<1x768xf32, "shared">
// CHECK:   tile.parallel (%[[W:[a-z0-9]*]]) to (8) level "block"
// CHECK:     tile.load %arg0[0, %[[N]] * 256 + %[[W]] * 32]
// CHECK:     tile.store %{{.*}}, %[[T]][0, %[[W]] * 96]
// CHECK:     tile.load %arg0[1, %[[N]] * 256 + %[[W]] * 32]
// CHECK:     tile.store %{{.*}}, %[[T]][0, %[[W]] * 96 + 1]
// CHECK:   tile.parallel (%[[V:[a-z0-9]*]]) to (8) level "block"
// CHECK:     %[[X:.*]] = tile.load %[[T]][0, %[[V]] * 32]
// CHECK:     tile.store %[[X]], %arg1[%[[N]] * 256, %[[V]] * 32]
// CHECK-SAME: valid(1, %[[N]] * -768 - %[[V]] * 32 + 1920)
// CHECK:     tile.load %[[T]][0, %[[V]] * 32 + 256]
func.func private @narrow(%a: memref<3x640xf32>, %b: memref<640x3xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 640 {
    affine.for %j = 0 to 3 {
      %x = affine.load %a[%j, %i] : memref<3x640xf32>
      affine.store %x, %b[%i, %j] : memref<640x3xf32>
    }
  }
  return
}

// Rows and columns of the image lie behind each other on both sides: one dimension of 35 points. Of a, channels and points are one run.
// CHECK-LABEL: @planes
// CHECK: tile.parallel (%[[I:[a-z0-9]*]], %[[N:[a-z0-9]*]]) to (9, 1) level "grid"
// CHECK:   %[[T:.*]] = tile.alloc() : memref<1x192xf32, "shared">
// CHECK:   tile.parallel (%[[W:[a-z0-9]*]]) to (2) level "block"
// CHECK:     tile.copy %arg0[%[[I]], 0, %[[N]] * 64, 0] {{.*}} to %[[T]][0, 0] {{.*}} shape [1, 64]
// CHECK:     tile.copy %arg0[%[[I]], 0, %[[N]] * 64, 64] {{.*}} to %[[T]][0, 64]
// CHECK:     tile.load %[[T]][0, %[[W]] * 96]
// CHECK:     tile.store %{{.*}}, %arg1[%[[I]], 0, 0, %[[N]] * 64 + %[[W]] * 32]
// CHECK:     tile.load %[[T]][0, %[[W]] * 96 + 1]
// CHECK:     tile.store %{{.*}}, %arg1[%[[I]], 1, 0, %[[N]] * 64 + %[[W]] * 32]
func.func private @planes(%a: memref<9x5x7x3xf32>, %b: memref<9x3x5x7xf32>) attributes {tilewright.kernel} {
  affine.for %n = 0 to 9 {
    affine.for %c = 0 to 3 {
      affine.for %h = 0 to 5 {
        affine.for %w = 0 to 7 {
          %x = affine.load %a[%n, %h, %w, %c] : memref<9x5x7x3xf32>
          affine.store %x, %b[%n, %c, %h, %w] : memref<9x3x5x7xf32>
        }
      }
    }
  }
  return
}

// Both runs are of pairs: through a tile of each order, of which that of b has a swizzle, since its lanes write every other word.
// CHECK-LABEL: @pairs
// CHECK: tile.parallel (%{{.*}}, %{{.*}}) to (3, 2) level "grid"
// CHECK:   %[[A:.*]] = tile.alloc() {arrangement = #tile.arrangement<padding = 1>} : memref<32x64xf32, "shared">
// CHECK:   %[[B:.*]] = tile.alloc() {arrangement = #tile.arrangement<swizzleBits = {{[1-5]}}, swizzleBase = 2, swizzleShift = 5>} : memref<32x64xf32, "shared">
// CHECK:   tile.copy %arg0{{.*}} to %[[A]][0, 0] {{.*}} shape [32, 64]
// CHECK:   tile.load %[[A]]
// CHECK:   tile.store %{{.*}}, %[[B]]
// CHECK:   tile.load %[[B]]
// CHECK:   tile.store %{{.*}}, %arg1
func.func private @pairs(%a: memref<64x96x2xf32>, %b: memref<96x64x2xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 2 {
        %x = affine.load %a[%j, %i, %k] : memref<64x96x2xf32>
        affine.store %x, %b[%i, %j, %k] : memref<96x64x2xf32>
      }
    }
  }
  return
}

// Bools are bytes.
// CHECK-LABEL: @bools
// CHECK: memref<128x128xi1, "shared">
func.func private @bools(%a: memref<256x128xi1>, %b: memref<128x256xi1>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 128 {
    affine.for %j = 0 to 256 {
      %x = affine.load %a[%j, %i] : memref<256x128xi1>
      affine.store %x, %b[%i, %j] : memref<128x256xi1>
    }
  }
  return
}

// Lanes along a row of b read whole rows of a anyhow.
// CHECK-LABEL: @together
// CHECK-NOT: tile.
func.func private @together(%a: memref<640x4x8xf32>, %b: memref<640x8x4xf32>) attributes {tilewright.kernel} {
  affine.for %n = 0 to 640 {
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 4 {
        %x = affine.load %a[%n, %j, %i] : memref<640x4x8xf32>
        affine.store %x, %b[%n, %i, %j] : memref<640x8x4xf32>
      }
    }
  }
  return
}
}
