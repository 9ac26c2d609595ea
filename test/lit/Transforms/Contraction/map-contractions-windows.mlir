// Vectors of results that run through the rows of a small image: the copy of the image leaves out what the windows have
// between two rows, and sums run through the weights as they lie.
//
// RUN: tw-opt %s -map-contractions=force=lane_dims=2,vectors=2,rows=4,k_block=0,pack_scalars=no | FileCheck %s

// Groups of k, with those behind the end into which the last row may reach, each with its taps, then two vectors.
// CHECK-LABEL: func.func private @planes
// CHECK: %[[PANEL:.*]] = memref.alloc() {{.*}}: memref<1x81x32xf32>
// CHECK: affine.for %[[C:.*]] = 0 to 8
// CHECK-NEXT: affine.for %[[P:.*]] = 0 to 3
// CHECK-NEXT: affine.for %[[Q:.*]] = 0 to 3
// A panel of 32 touches six rows of 7, each by one vector of 8, which a mask ends with the image.
// CHECK-COUNT-6: vector.maskedload {{.*}} : memref<8x9x9xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
// CHECK-NOT: vector.maskedload
// The taps inside of the channels.
// CHECK: affine.for %[[C:.*]] = 0 to 8 iter_args
// CHECK-NEXT: affine.for %[[P:.*]] = 0 to 3 iter_args
// CHECK: tile.load %[[PANEL]][0, %[[C]] * 9 + %[[P]] * 3, 0]
// CHECK: tile.load %{{.*}}[%{{.*}}, %[[C]], %[[P]], 0]
// CHECK: tile.mma
// CHECK: tile.load %[[PANEL]][0, %[[C]] * 9 + %[[P]] * 3 + 2, 16]
// Stored where position 16 of 49 is, in the third row.
// CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}, 2, 2] elements
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @planes(%x: memref<8x9x9xf32>, %w: memref<16x8x3x3xf32>, %z: memref<16x7x7xf32>)
      attributes {tilewright.kernel} {
    affine.for %o = 0 to 16 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          affine.for %c = 0 to 8 {
            affine.for %p = 0 to 3 {
              affine.for %q = 0 to 3 {
                %a = affine.load %x[%c, %i + %p, %j + %q] : memref<8x9x9xf32>
                %b = affine.load %w[%o, %c, %p, %q] : memref<16x8x3x3xf32>
                %s = affine.load %z[%o, %i, %j] : memref<16x7x7xf32>
                %m = arith.mulf %a, %b : f32
                %t = arith.addf %s, %m : f32
                affine.store %t, %z[%o, %i, %j] : memref<16x7x7xf32>
              }
            }
          }
        }
      }
    }
    return
  }
}
