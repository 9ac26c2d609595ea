// Rows that run through several dimensions of the result, which an operand or the result does not go on in: the copy of
// the operand leaves out what is between two, and rows of the result move one by one. An epilogue that would write into
// a border stays a nest where vectors then run through both dimensions of an image.
//
// RUN: tw-opt %s -map-contractions=force=lanes_on=n,row_dims=2,vectors=1,rows=5 -split-input-file | FileCheck %s
// RUN: tw-opt %s -map-contractions -split-input-file | FileCheck %s --check-prefix=CHOSEN

// Every second row and column of an image: 49 rows in tiles of 5 and 4, copied one element at a time.
// CHECK-LABEL: func.func private @strided
// CHECK: %[[ROWS:.*]] = memref.alloc() {{.*}}: memref<9x
// CHECK: affine.load %{{.*}}[%[[C:.*]], ((%[[T:.*]] * 5 + %[[R:.*]]) floordiv 7) * 2, %{{.*}}] : memref<8x14x14xf32>
// CHECK-NEXT: affine.store %{{.*}}, %[[ROWS]][%[[T]], %[[C]], %[[R]]]
// CHECK: tile.load %[[ROWS]]
// CHECK: tile.mma
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @strided(%x: memref<8x14x14xf32>, %w: memref<32x8xf32>, %z: memref<32x7x7xf32>)
      attributes {tilewright.kernel} {
    affine.for %o = 0 to 32 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          affine.for %c = 0 to 8 {
            %0 = affine.load %x[%c, %i * 2, %j * 2] : memref<8x14x14xf32>
            %1 = affine.load %w[%o, %c] : memref<32x8xf32>
            %2 = affine.load %z[%o, %i, %j] : memref<32x7x7xf32>
            %3 = arith.mulf %0, %1 : f32
            %4 = arith.addf %2, %3 : f32
            affine.store %4, %z[%o, %i, %j] : memref<32x7x7xf32>
          }
        }
      }
    }
    return
  }
}

// -----

// A border around the result: each row of sums has a place of its own, and none is transposed with others.
// CHECK-LABEL: func.func private @border
// CHECK: tile.mma
// CHECK-NOT: tile.transpose
// CHECK-COUNT-5: tile.store %{{.*}}, %{{.*}}[%{{.*}}, {{.*}} floordiv 7
// CHECK-NOT: tile.transpose
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @border(%x: memref<8x7x7xf32>, %w: memref<32x8xf32>, %z: memref<32x9x9xf32>)
      attributes {tilewright.kernel} {
    affine.for %o = 0 to 32 {
      affine.for %i = 0 to 7 {
        affine.for %j = 0 to 7 {
          affine.for %c = 0 to 8 {
            %0 = affine.load %x[%c, %i, %j] : memref<8x7x7xf32>
            %1 = affine.load %w[%o, %c] : memref<32x8xf32>
            %2 = affine.load %z[%o, %i + 1, %j + 1] : memref<32x9x9xf32>
            %3 = arith.mulf %0, %1 : f32
            %4 = arith.addf %2, %3 : f32
            affine.store %4, %z[%o, %i + 1, %j + 1] : memref<32x9x9xf32>
          }
        }
      }
    }
    return
  }
}

// -----

// CHOSEN-LABEL: func.func private @epilogue
// CHOSEN: tile.mma
// CHOSEN: affine.for %[[O:.*]] = 0 to 128 {
// CHOSEN-NEXT: affine.for %[[I:.*]] = 0 to 28
// CHOSEN-NEXT: affine.for %[[J:.*]] = 0 to 28
// CHOSEN: arith.maximumf
// CHOSEN-NEXT: affine.store %{{.*}}, %{{.*}}[%[[O]], %[[I]] + 1, %[[J]] + 1] : memref<128x30x30xf32>
module attributes {tilewright.target = "cpu:zen4"} {
  func.func private @epilogue(%x: memref<512x28x28xf32>, %w: memref<128x512xf32>, %z: memref<128x30x30xf32>)
      attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    %y = memref.alloc() : memref<128x28x28xf32>
    affine.for %o = 0 to 128 {
      affine.for %i = 0 to 28 {
        affine.for %j = 0 to 28 {
          affine.store %zero, %y[%o, %i, %j] : memref<128x28x28xf32>
        }
      }
    }
    affine.for %o = 0 to 128 {
      affine.for %i = 0 to 28 {
        affine.for %j = 0 to 28 {
          affine.for %c = 0 to 512 {
            %0 = affine.load %x[%c, %i, %j] : memref<512x28x28xf32>
            %1 = affine.load %w[%o, %c] : memref<128x512xf32>
            %2 = affine.load %y[%o, %i, %j] : memref<128x28x28xf32>
            %3 = arith.mulf %0, %1 : f32
            %4 = arith.addf %2, %3 : f32
            affine.store %4, %y[%o, %i, %j] : memref<128x28x28xf32>
          }
        }
      }
    }
    affine.for %o = 0 to 128 {
      affine.for %i = 0 to 28 {
        affine.for %j = 0 to 28 {
          %0 = affine.load %y[%o, %i, %j] : memref<128x28x28xf32>
          %1 = arith.maximumf %0, %zero : f32
          affine.store %1, %z[%o, %i + 1, %j + 1] : memref<128x30x30xf32>
        }
      }
    }
    return
  }
}
