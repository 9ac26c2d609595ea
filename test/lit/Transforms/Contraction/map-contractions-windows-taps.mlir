// Vectors of results that run through the rows of a small image, of a sum over the taps of a window alone: k lies side by
// side in the image, as the results do, but ends before a vector along it. The copy reads vectors of results.
//
// RUN: tw-opt %s -map-contractions=force=lane_dims=2,vectors=2,rows=1,k_block=0,pack_vectors=yes | FileCheck %s

// CHECK-LABEL: func.func private @taps
// Rows of five taps, each of a panel of 16, which touches four rows of 7.
// CHECK: memref.alloc() {{.*}}: memref<1x5x{{[0-9]+}}x16xf32>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-4: vector.maskedload {{.*}} : memref<8x11x11xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
// CHECK-NOT: vector.shuffle
// CHECK: tile.mma
module attributes {tilewright.target = "cpu:x86-64-v3"} {
  func.func private @taps(%x: memref<8x11x11xf32>, %w: memref<8x5x5xf32>, %z: memref<8x7x7xf32>)
      attributes {tilewright.kernel} {
    affine.for %c = 0 to 8 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          affine.for %p = 0 to 5 {
            affine.for %q = 0 to 5 {
              %a = affine.load %x[%c, %i + %p, %j + %q] : memref<8x11x11xf32>
              %b = affine.load %w[%c, %p, %q] : memref<8x5x5xf32>
              %s = affine.load %z[%c, %i, %j] : memref<8x7x7xf32>
              %m = arith.mulf %a, %b : f32
              %t = arith.addf %s, %m : f32
              affine.store %t, %z[%c, %i, %j] : memref<8x7x7xf32>
            }
          }
        }
      }
    }
    return
  }
}
