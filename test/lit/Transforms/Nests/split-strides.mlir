// RUN: tw-opt %s --split-strides --canonicalize --split-input-file | FileCheck %s

// An image with a border of two, read at a distance of two by three taps: even columns are one plane, odd ones another. Each iteration
// that fills it writes one element of both.
// CHECK-LABEL: func.func @window
// CHECK-SAME: (%[[IN:.*]]: memref<8x56xf32>, %[[OUT:.*]]: memref<8x28xf32>)
// CHECK:      %[[PLANES:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8x2x30xf32>
// CHECK:      affine.for %[[Y:.*]] = 0 to 8
// CHECK-NOT:    affine.for
// CHECK:        affine.store %{{.*}}, %[[PLANES]][%[[Y]], 0, 0]
// CHECK:        affine.store %{{.*}}, %[[PLANES]][%[[Y]], 0, 29]
// CHECK:        affine.store %{{.*}}, %[[PLANES]][%[[Y]], 1, 0]
// CHECK:        affine.store %{{.*}}, %[[PLANES]][%[[Y]], 1, 29]
// CHECK:      affine.for %[[Y:.*]] = 0 to 8
// CHECK-NEXT:   affine.for %[[Q:.*]] = 0 to 28
// CHECK-NEXT:     %[[EVEN:.*]] = affine.load %[[IN]][%[[Y]], %[[Q]] * 2]
// CHECK-NEXT:     affine.store %[[EVEN]], %[[PLANES]][%[[Y]], 0, %[[Q]] + 1]
// CHECK-NEXT:     %[[ODD:.*]] = affine.load %[[IN]][%[[Y]], %[[Q]] * 2 + 1]
// CHECK-NEXT:     affine.store %[[ODD]], %[[PLANES]][%[[Y]], 1, %[[Q]] + 1]
// CHECK:      affine.for %[[Y:.*]] = 0 to 8
// CHECK-NEXT:   affine.for %[[X:.*]] = 0 to 28
// CHECK-NEXT:     affine.load %[[PLANES]][%[[Y]], 0, %[[X]]]
// CHECK-NEXT:     affine.load %[[PLANES]][%[[Y]], 1, %[[X]]]
// CHECK-NEXT:     affine.load %[[PLANES]][%[[Y]], 1, %[[X]] + 1]
// CHECK:      memref.dealloc %[[PLANES]] : memref<8x2x30xf32>
module attributes {tilewright.target = "cpu:x86-64-v3"} {
func.func @window(%in: memref<8x56xf32>, %out: memref<8x28xf32>) {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() {alignment = 64 : i64} : memref<8x60xf32>
  affine.for %y = 0 to 8 {
    affine.for %x = 0 to 2 {
      affine.store %zero, %padded[%y, %x] : memref<8x60xf32>
      affine.store %zero, %padded[%y, %x + 58] : memref<8x60xf32>
    }
  }
  affine.for %y = 0 to 8 {
    affine.for %x = 0 to 56 {
      %a = affine.load %in[%y, %x] : memref<8x56xf32>
      affine.store %a, %padded[%y, %x + 2] : memref<8x60xf32>
    }
  }
  affine.for %y = 0 to 8 {
    affine.for %x = 0 to 28 {
      %a = affine.load %padded[%y, 2 * %x] : memref<8x60xf32>
      %b = affine.load %padded[%y, 2 * %x + 1] : memref<8x60xf32>
      %c = affine.load %padded[%y, 2 * %x + 3] : memref<8x60xf32>
      %s = arith.addf %a, %b : f32
      %t = arith.addf %s, %c : f32
      affine.store %t, %out[%y, %x] : memref<8x28xf32>
    }
  }
  memref.dealloc %padded : memref<8x60xf32>
  return
}
}

// -----

// A border of one and an odd number of columns: the first column and the last have no group of their own.
// CHECK-LABEL: func.func @odd
// CHECK-SAME: (%[[IN:.*]]: memref<7xf32>, %{{.*}}: memref<4xf32>)
// CHECK:      %[[PLANES:.*]] = memref.alloc() : memref<2x5xf32>
// CHECK:      %[[FIRST:.*]] = affine.load %[[IN]][0]
// CHECK-NEXT: affine.store %[[FIRST]], %[[PLANES]][1, 0]
// CHECK-NEXT: affine.for %[[Q:.*]] = 0 to 3
// CHECK-NEXT:   affine.load %[[IN]][%[[Q]] * 2 + 1]
// CHECK-NEXT:   affine.store %{{.*}}, %[[PLANES]][0, %[[Q]] + 1]
// CHECK-NEXT:   affine.load %[[IN]][%[[Q]] * 2 + 2]
// CHECK-NEXT:   affine.store %{{.*}}, %[[PLANES]][1, %[[Q]] + 1]
module attributes {tilewright.target = "cpu:x86-64-v3"} {
func.func @odd(%in: memref<7xf32>, %out: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<9xf32>
  affine.store %zero, %padded[0] : memref<9xf32>
  affine.store %zero, %padded[8] : memref<9xf32>
  affine.for %x = 0 to 7 {
    %a = affine.load %in[%x] : memref<7xf32>
    affine.store %a, %padded[%x + 1] : memref<9xf32>
  }
  affine.for %x = 0 to 4 {
    %a = affine.load %padded[2 * %x] : memref<9xf32>
    %b = affine.load %padded[2 * %x + 1] : memref<9xf32>
    %c = affine.load %padded[2 * %x + 2] : memref<9xf32>
    %s = arith.addf %a, %b : f32
    %t = arith.addf %s, %c : f32
    affine.store %t, %out[%x] : memref<4xf32>
  }
  memref.dealloc %padded : memref<9xf32>
  return
}
}

// -----

// As many elements are stored as read, someone reads neighbours, or vectors lie along another loop: the array stays.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-2: memref.alloc() : memref<64xf32>
// CHECK:         memref.alloc() : memref<64x64xf32>
module attributes {tilewright.target = "cpu:x86-64-v3"} {
func.func @stays(%in: memref<64xf32>, %half: memref<32xf32>, %out: memref<64xf32>, %column: memref<8x32xf32>) {
  %once = memref.alloc() : memref<64xf32>
  %twice = memref.alloc() : memref<64xf32>
  %rows = memref.alloc() : memref<64x64xf32>
  affine.for %x = 0 to 64 {
    %a = affine.load %in[%x] : memref<64xf32>
    affine.store %a, %once[%x] : memref<64xf32>
    affine.store %a, %twice[%x] : memref<64xf32>
    affine.store %a, %rows[0, %x] : memref<64x64xf32>
  }
  affine.for %x = 0 to 32 {
    %a = affine.load %once[2 * %x] : memref<64xf32>
    %b = affine.load %twice[2 * %x] : memref<64xf32>
    %c = affine.load %twice[2 * %x + 1] : memref<64xf32>
    %s = arith.addf %a, %b : f32
    %t = arith.addf %s, %c : f32
    affine.store %t, %half[%x] : memref<32xf32>
  }
  affine.for %x = 0 to 64 {
    %a = affine.load %twice[%x] : memref<64xf32>
    affine.store %a, %out[%x] : memref<64xf32>
  }
  affine.for %x = 0 to 32 {
    affine.for %y = 0 to 8 {
      %a = affine.load %rows[%y, 2 * %x] : memref<64x64xf32>
      affine.store %a, %column[%y, %x] : memref<8x32xf32>
    }
  }
  memref.dealloc %once : memref<64xf32>
  memref.dealloc %twice : memref<64xf32>
  memref.dealloc %rows : memref<64x64xf32>
  return
}
}
