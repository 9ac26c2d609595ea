// A convolution whose channels lie outside: rows of tiles lie along the points of a row, which are neighbours in memory, since that
// is priced lower than along the rows of the image, of which there are as many. A field of the tile is forced, so that a unit takes it.
//
// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -map-contractions=force=stages=3 | FileCheck %s

// CHECK: #[[POINTS:.*]] = affine_map<(d0, d1) -> (0, d1, 0, d0)>
// CHECK-LABEL: @convolution
// CHECK: tile.parallel
// CHECK: tile.copy %arg0[{{.*}}] elements #[[POINTS]] to
module attributes {tilewright.target = "accelerator:npu"} {
func.func private @convolution(%x: memref<1x32x30x30xbf16>, %w: memref<64x32x3x3xbf16>, %y: memref<1x64x28x28xf32>) attributes {tilewright.kernel} {
  affine.for %n = 0 to 1 {
    affine.for %f = 0 to 64 {
      affine.for %i = 0 to 28 {
        affine.for %j = 0 to 28 {
          affine.for %c = 0 to 32 {
            affine.for %p = 0 to 3 {
              affine.for %q = 0 to 3 {
                %a = affine.load %x[%n, %c, %i + %p, %j + %q] : memref<1x32x30x30xbf16>
                %b = affine.load %w[%f, %c, %p, %q] : memref<64x32x3x3xbf16>
                %s = affine.load %y[%n, %f, %i, %j] : memref<1x64x28x28xf32>
                %aw = arith.extf %a : bf16 to f32
                %bw = arith.extf %b : bf16 to f32
                %m = arith.mulf %aw, %bw : f32
                %t = arith.addf %s, %m : f32
                affine.store %t, %y[%n, %f, %i, %j] : memref<1x64x28x28xf32>
              }
            }
          }
        }
      }
    }
  }
  return
}
}
