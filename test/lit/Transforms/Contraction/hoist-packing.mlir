// RUN: tw-opt %s -hoist-packing | FileCheck %s

// What is packed of the array that all tiles read is packed once; what depends on the tile, or is written in it, stays.
// CHECK-LABEL: func.func @shared
// CHECK: affine.for %[[H:.*]] = 0 to 3
// CHECK-NEXT: %[[P:.*]] = memref.alloc() : memref<64xf32>
// CHECK-NEXT: affine.for %[[K:.*]] = 0 to 64 {
// CHECK-NEXT: affine.load %{{.*}}[%[[H]], %[[K]]]
// CHECK-NEXT: affine.store %{{.*}}, %[[P]][%[[K]]]
// CHECK: affine.for %[[T:.*]] = 0 to 5
// CHECK-NEXT: %[[Q:.*]] = memref.alloc() : memref<64xf32>
// CHECK-NEXT: affine.for
// CHECK-NEXT: affine.load %{{.*}}[%[[T]], %{{.*}}]
// CHECK: affine.load %[[P]]
// CHECK: affine.load %[[Q]]
func.func @shared(%b: memref<3x64xf32>, %a: memref<5x64xf32>, %c: memref<3x5x64xf32>) {
  affine.for %h = 0 to 3 {
    affine.for %t = 0 to 5 {
      %p = memref.alloc() : memref<64xf32>
      %q = memref.alloc() : memref<64xf32>
      affine.for %k = 0 to 64 {
        %0 = affine.load %b[%h, %k] : memref<3x64xf32>
        affine.store %0, %p[%k] : memref<64xf32>
      }
      affine.for %k = 0 to 64 {
        %0 = affine.load %a[%t, %k] : memref<5x64xf32>
        affine.store %0, %q[%k] : memref<64xf32>
      }
      affine.for %k = 0 to 64 {
        %0 = affine.load %p[%k] : memref<64xf32>
        %1 = affine.load %q[%k] : memref<64xf32>
        %2 = arith.mulf %0, %1 : f32
        affine.store %2, %c[%h, %t, %k] : memref<3x5x64xf32>
      }
    } {tile.at = 1 : i64}
  } {tile.at = 0 : i64}
  return
}

// A buffer that something else fills, too, holds another thing in each tile; so does one that is filled from an array that
// tiles write.
// CHECK-LABEL: func.func @changes
// CHECK: affine.for %{{.*}} = 0 to 5
// CHECK-NEXT: memref.alloc
// CHECK-NEXT: memref.alloc
func.func @changes(%b: memref<64xf32>, %c: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %t = 0 to 5 {
    %p = memref.alloc() : memref<64xf32>
    %q = memref.alloc() : memref<64xf32>
    affine.for %k = 0 to 64 {
      %0 = affine.load %b[%k] : memref<64xf32>
      affine.store %0, %p[%k] : memref<64xf32>
    }
    affine.for %k = 0 to 64 {
      %0 = affine.load %c[%k] : memref<64xf32>
      affine.store %0, %q[%k] : memref<64xf32>
    }
    affine.for %k = 0 to 64 {
      %0 = affine.load %p[%k] : memref<64xf32>
      %1 = affine.load %q[%k] : memref<64xf32>
      %2 = arith.addf %0, %1 : f32
      affine.store %2, %c[%k] : memref<64xf32>
      affine.store %zero, %p[%k] : memref<64xf32>
    }
  } {tile.at = 0 : i64}
  return
}

// What steps pack of what they read, the same in all tiles, is packed for all steps before the first tile, as far as any
// tile goes; loops over other steps of the same dimension share it.
// CHECK-LABEL: func.func @steps
// CHECK: %[[P:.*]] = memref.alloc() {alignment = 64 : i64} : memref<28x8xf32>
// CHECK-NEXT: affine.for %[[S:.*]] = 0 to 7 {
// CHECK: affine.load %{{.*}}[%[[S]] * 32 + %{{.*}}]
// CHECK: affine.store %{{.*}}, %[[P]][%{{.*}} + %[[S]] * 4, %{{.*}}]
// CHECK: affine.for %[[T:.*]] = 0 to 5
// CHECK-NOT: memref.alloc
// CHECK: affine.for %[[U:.*]] = 0 to min
// CHECK: affine.load %[[P]][%{{.*}} + %[[U]] * 4, %{{.*}}]
// CHECK: affine.for %[[V:.*]] = max
// CHECK-NOT: memref.alloc
// CHECK: affine.load %[[P]][%{{.*}} + %[[V]] * 4, %{{.*}}]
#reached = affine_map<(d0) -> (7, d0 + 1)>
#full = affine_map<(d0) -> (7, d0)>
#from = affine_map<(d0) -> (0, d0)>
func.func @steps(%b: memref<224xf32>, %c: memref<5x4x8xf32>) {
  affine.for %t = 0 to 5 {
    affine.for %s = 0 to min #full(%t) {
      %p = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
      affine.for %i = 0 to 4 {
        affine.for %k = 0 to 8 {
          %0 = affine.load %b[%s * 32 + %i * 8 + %k] : memref<224xf32>
          affine.store %0, %p[%i, %k] : memref<4x8xf32>
        }
      }
      affine.for %i = 0 to 4 {
        affine.for %k = 0 to 8 {
          %0 = affine.load %p[%i, %k] : memref<4x8xf32>
          affine.store %0, %c[%t, %i, %k] : memref<5x4x8xf32>
        }
      }
    } {tile.at = -2 : i64}
    affine.for %s = max #from(%t) to min #reached(%t) {
      %p = memref.alloc() {alignment = 64 : i64} : memref<4x8xf32>
      affine.for %i = 0 to 4 {
        affine.for %k = 0 to 8 {
          %0 = affine.load %b[%s * 32 + %i * 8 + %k] : memref<224xf32>
          affine.store %0, %p[%i, %k] : memref<4x8xf32>
        }
      }
      affine.for %i = 0 to 4 {
        affine.for %k = 0 to 8 {
          %0 = affine.load %p[%i, %k] : memref<4x8xf32>
          affine.store %0, %c[%t, %i, %k] : memref<5x4x8xf32>
        }
      }
    } {tile.at = -2 : i64}
  } {tile.at = 0 : i64}
  return
}

// Without a constant that bounds the steps, or where the tile's number is read, each step packs for itself.
// CHECK-LABEL: func.func @ownSteps
// CHECK: affine.for %{{.*}} = 0 to 5
// CHECK-NEXT: affine.for
// CHECK-NEXT: memref.alloc
func.func @ownSteps(%b: memref<5x224xf32>, %c: memref<5x32xf32>) {
  affine.for %t = 0 to 5 {
    affine.for %s = 0 to 7 {
      %p = memref.alloc() : memref<32xf32>
      affine.for %i = 0 to 32 {
        %0 = affine.load %b[%t, %s * 32 + %i] : memref<5x224xf32>
        affine.store %0, %p[%i] : memref<32xf32>
      }
      affine.for %i = 0 to 32 {
        %0 = affine.load %p[%i] : memref<32xf32>
        affine.store %0, %c[%t, %i] : memref<5x32xf32>
      }
    } {tile.at = -2 : i64}
  } {tile.at = 0 : i64}
  return
}

// Tiles after a change of what was packed, or other tiles, have a copy of their own.
// CHECK-LABEL: func.func @changesBetween
// CHECK: %[[P:.*]] = memref.alloc() {alignment = 64 : i64} : memref<28xf32>
// CHECK: affine.for %{{.*}} = 0 to 5
// CHECK: affine.load %[[P]]
// CHECK: affine.store %{{.*}}, %arg0[%{{.*}}]
// CHECK: %[[Q:.*]] = memref.alloc() {alignment = 64 : i64} : memref<28xf32>
// CHECK: affine.for %{{.*}} = 0 to 5
// CHECK: affine.load %[[Q]]
func.func @changesBetween(%b: memref<28xf32>, %c: memref<5x4xf32>, %d: memref<5x4xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %t = 0 to 5 {
    affine.for %s = 0 to 7 {
      %p = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
      affine.for %i = 0 to 4 {
        %0 = affine.load %b[%s * 4 + %i] : memref<28xf32>
        affine.store %0, %p[%i] : memref<4xf32>
      }
      affine.for %i = 0 to 4 {
        %0 = affine.load %p[%i] : memref<4xf32>
        affine.store %0, %c[%t, %i] : memref<5x4xf32>
      }
    } {tile.at = -2 : i64}
  } {tile.at = 0 : i64}
  affine.for %i = 0 to 1 {
    affine.store %zero, %b[%i] : memref<28xf32>
  }
  affine.for %t = 0 to 5 {
    affine.for %s = 0 to 7 {
      %p = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
      affine.for %i = 0 to 4 {
        %0 = affine.load %b[%s * 4 + %i] : memref<28xf32>
        affine.store %0, %p[%i] : memref<4xf32>
      }
      affine.for %i = 0 to 4 {
        %0 = affine.load %p[%i] : memref<4xf32>
        affine.store %0, %d[%t, %i] : memref<5x4xf32>
      }
    } {tile.at = -2 : i64}
  } {tile.at = 0 : i64}
  return
}
