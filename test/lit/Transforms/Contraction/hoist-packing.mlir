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
