// RUN: tw-opt %s --split-sums | FileCheck %s

module attributes {tilewright.target = "nvidia:H200"} {

// Fewer columns than lanes: parts of the rows are summed up apart.

// CHECK-LABEL: func.func private @few
// CHECK:         %[[PART:.*]] = memref.alloc() : memref<[[P:.*]]x64xf32>
// CHECK:         affine.for %{{.*}} = 0 to [[P]] {
// CHECK:           affine.store %{{.*}}, %[[PART]]
// CHECK:         affine.for %[[N:.*]] = 0 to [[P]] {
// CHECK:           affine.for %[[I:.*]] = 0 to
// CHECK:             affine.for %[[J:.*]] = 0 to 64 {
// CHECK:               affine.load %arg0[%[[N]] * {{.*}} + %[[I]], %[[J]]]
// CHECK:         affine.for %[[N:.*]] = 0 to [[P]] {
// CHECK:           affine.for %[[J:.*]] = 0 to 64 {
// CHECK:             affine.load %arg1[%[[J]]]
// CHECK:             affine.load %[[PART]][%[[N]], %[[J]]]
func.func private @few(%x: memref<65536x64xf32>, %s: memref<64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 65536 {
    affine.for %j = 0 to 64 {
      %0 = affine.load %x[%i, %j] : memref<65536x64xf32>
      %1 = affine.load %s[%j] : memref<64xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %s[%j] : memref<64xf32>
    }
  }
  return
}

// CHECK-LABEL: func.func private @short
// CHECK-NOT:     memref.alloc
func.func private @short(%x: memref<8x512xf32>, %s: memref<512xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 512 {
      %0 = affine.load %x[%i, %j] : memref<8x512xf32>
      %1 = affine.load %s[%j] : memref<512xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %s[%j] : memref<512xf32>
    }
  }
  return
}
}
