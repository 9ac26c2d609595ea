// RUN: tw-opt %s -split-input-file --split-sums | FileCheck %s

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

// -----

// On a processor long sums have fewer additions in a row: 65536 terms, 64 parts of 1024.

module attributes {tilewright.target = "cpu:zen4"} {

// CHECK-LABEL: func.func private @two_sums
// CHECK:         %[[A:.*]] = memref.alloc() : memref<64x32xf32>
// CHECK:         %[[B:.*]] = memref.alloc() : memref<64x32xf32>
// CHECK:           affine.for %[[I:.*]] = 0 to 1024 {
// CHECK-NEXT:        affine.for %[[J:.*]] = 0 to 32 {
// CHECK-NEXT:          affine.load %arg0[%[[P:.*]] * 1024 + %[[I]], %[[J]]]
// CHECK:               affine.store %{{.*}}, %[[A]][%[[P]], %[[J]]]
// CHECK:               affine.store %{{.*}}, %[[B]][%[[P]], %[[J]]]
// CHECK:         affine.for %[[P:.*]] = 0 to 64 {
// CHECK-NEXT:      affine.for %[[J:.*]] = 0 to 32 {
// CHECK-NEXT:        affine.load %arg1[%[[J]]]
// CHECK-NEXT:        affine.load %[[A]][%[[P]], %[[J]]]
// CHECK:             affine.store %{{.*}}, %arg1[%[[J]]]
// CHECK:         affine.load %[[B]]
// CHECK:         affine.store %{{.*}}, %arg2
func.func private @two_sums(%x: memref<65536x32xf32>, %s: memref<32xf32>, %q: memref<32xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 65536 {
    affine.for %j = 0 to 32 {
      %0 = affine.load %x[%i, %j] : memref<65536x32xf32>
      %1 = affine.load %s[%j] : memref<32xf32>
      %2 = arith.addf %1, %0 : f32
      affine.store %2, %s[%j] : memref<32xf32>
      %3 = arith.mulf %0, %0 : f32
      %4 = affine.load %q[%j] : memref<32xf32>
      %5 = arith.addf %4, %3 : f32
      affine.store %5, %q[%j] : memref<32xf32>
    }
  }
  return
}

// The longest loop of a sum over several is cut.
// CHECK-LABEL: func.func private @channels
// CHECK:         memref.alloc() : memref<28x16xf32>
// CHECK:                 affine.load %arg0[%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} * 2 + %{{[a-z0-9]+}}, %{{[a-z0-9]+}}]
func.func private @channels(%x: memref<2x16x56x56xf32>, %s: memref<16xf32>) attributes {tilewright.kernel} {
  affine.for %n = 0 to 2 {
    affine.for %c = 0 to 16 {
      affine.for %i = 0 to 56 {
        affine.for %j = 0 to 56 {
          %0 = affine.load %x[%n, %c, %i, %j] : memref<2x16x56x56xf32>
          %1 = affine.load %s[%c] : memref<16xf32>
          %2 = arith.addf %1, %0 : f32
          affine.store %2, %s[%c] : memref<16xf32>
        }
      }
    }
  }
  return
}

// Few terms, a prime number of rows, sums of integers and maxima stay whole.
// CHECK-LABEL: func.func private @whole
// CHECK-NOT:     memref.alloc
func.func private @whole(%x: memref<256x32xf32>, %y: memref<4099x32xf32>, %z: memref<4096x32xi32>, %s: memref<32xf32>, %t: memref<32xi32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 256 { affine.for %j = 0 to 32 {
    %0 = affine.load %x[%i, %j] : memref<256x32xf32>
    %1 = affine.load %s[%j] : memref<32xf32>
    %2 = arith.addf %1, %0 : f32
    affine.store %2, %s[%j] : memref<32xf32>
  } }
  affine.for %i = 0 to 4099 { affine.for %j = 0 to 32 {
    %0 = affine.load %y[%i, %j] : memref<4099x32xf32>
    %1 = affine.load %s[%j] : memref<32xf32>
    %2 = arith.addf %1, %0 : f32
    affine.store %2, %s[%j] : memref<32xf32>
  } }
  affine.for %i = 0 to 4096 { affine.for %j = 0 to 32 {
    %0 = affine.load %z[%i, %j] : memref<4096x32xi32>
    %1 = affine.load %t[%j] : memref<32xi32>
    %2 = arith.addi %1, %0 : i32
    affine.store %2, %t[%j] : memref<32xi32>
  } }
  return
}
}

// -----

module attributes {tilewright.target = "cpu:zen4", tilewright.fp = "strict"} {
// CHECK-LABEL: func.func private @one_order
// CHECK-NOT:     memref.alloc
func.func private @one_order(%x: memref<65536x32xf32>, %s: memref<32xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 65536 { affine.for %j = 0 to 32 {
    %0 = affine.load %x[%i, %j] : memref<65536x32xf32>
    %1 = affine.load %s[%j] : memref<32xf32>
    %2 = arith.addf %1, %0 : f32
    affine.store %2, %s[%j] : memref<32xf32>
  } }
  return
}
}
