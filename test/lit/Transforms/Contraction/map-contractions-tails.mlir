// RUN: tw-opt %s -map-contractions=force=k_block=64,rows=8,vectors=3 -canonicalize -split-input-file | FileCheck %s

// Steps with an elementary function need more constants than the waiting sums leave registers: the sums go to a buffer,
// and one loop over its rows takes them through the steps. Partial sums lie in the result, so C has no memory.
// CHECK-LABEL: func.func private @function
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<192x192xf32>) attributes
// CHECK-NOT:     memref.alloc() {{.*}}memref<192x192xf32>
// CHECK:         %[[BUFFER:.*]] = memref.alloc() {{.*}}memref<8x48xf32>
// CHECK:         tile.store {{.*}}, %[[OUT]][
// CHECK:         tile.load %[[OUT]][
// CHECK:         tile.store {{.*}}, %[[BUFFER]][0, 0]
// CHECK:         tile.store {{.*}}, %[[BUFFER]][7, 32]
// CHECK-NEXT:    affine.for %[[ROW:.*]] = 0 to 8 {
// CHECK:           tile.load %[[BUFFER]][%[[ROW]], 0]
// CHECK:           math.erf
// CHECK:           tile.store {{.*}}, %[[OUT]][
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @function(%A: memref<192x256xf32>, %B: memref<256x192xf32>, %out: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 256 {
        %a = affine.load %A[%i, %k] : memref<192x256xf32>
        %b = affine.load %B[%k, %j] : memref<256x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %r = math.erf %c : f32
      affine.store %r, %out[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}

// -----

// A step whose constants fit beside the sums takes them from their registers. What it reads lies in the result: the
// sums need memory of their own.
// CHECK-LABEL: func.func private @inPlace
// CHECK-SAME:    %[[OUT:[a-z0-9]+]]: memref<192x192xf32>) attributes
// CHECK:         %[[SUMS:.*]] = memref.alloc() {{.*}}memref<192x192xf32>
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     tile.store {{.*}}, %[[OUT]][
// CHECK:         tile.store {{.*}}, %[[SUMS]][
// CHECK:         tile.load %[[SUMS]][
// CHECK:         tile.load %[[OUT]][
// CHECK:         tile.store {{.*}}, %[[OUT]][
module attributes {tilewright.target = "cpu:sapphire-rapids-noamx"} {
func.func private @inPlace(%A: memref<192x256xf32>, %B: memref<256x192xf32>, %out: memref<192x192xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<192x192xf32>
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.for %k = 0 to 256 {
        %a = affine.load %A[%i, %k] : memref<192x256xf32>
        %b = affine.load %B[%k, %j] : memref<256x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      %c = affine.load %C[%i, %j] : memref<192x192xf32>
      %o = affine.load %out[%i, %j] : memref<192x192xf32>
      %r = arith.addf %c, %o : f32
      affine.store %r, %out[%i, %j] : memref<192x192xf32>
    }
  }
  return
}
}
