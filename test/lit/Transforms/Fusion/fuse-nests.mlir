// RUN: tw-opt %s --fuse-nests --split-input-file | FileCheck %s

// Six nests of a softmax become one loop over rows; what a row hands on is a scalar or a row.
// CHECK-LABEL: func.func private @softmax
// CHECK-NOT:     memref.alloc
// CHECK:         affine.for %[[I:.*]] = 0 to 64 {
// CHECK-DAG:       %[[MAX:.*]] = memref.alloc() : memref<f32>
// CHECK-DAG:       %[[ROW:.*]] = memref.alloc() : memref<100xf32>
// CHECK-DAG:       %[[SUM:.*]] = memref.alloc() : memref<f32>
// CHECK:           affine.for
// CHECK:             arith.maximumf
// CHECK:           affine.for %[[J:.*]] = 0 to 100 {
// CHECK:             %[[E:.*]] = math.exp
// CHECK:             affine.store %[[E]], %[[ROW]][%[[J]]]
// CHECK-NOT:         affine.load %[[ROW]]
// CHECK:             arith.addf %[[E]]
// CHECK:           affine.for
// CHECK:             arith.divf
// CHECK-NOT:     affine.for
func.func private @softmax(%x: memref<64x100xf32>, %y: memref<64x100xf32>) attributes {tilewright.kernel} {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<64xf32>
  %e = memref.alloc() : memref<64x100xf32>
  %s = memref.alloc() : memref<64xf32>
  affine.for %i = 0 to 64 {
    affine.store %ninf, %m[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %x[%i, %j] : memref<64x100xf32>
      %b = affine.load %m[%i] : memref<64xf32>
      %c = arith.maximumf %a, %b : f32
      affine.store %c, %m[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %x[%i, %j] : memref<64x100xf32>
      %b = affine.load %m[%i] : memref<64xf32>
      %c = arith.subf %a, %b : f32
      %d = math.exp %c : f32
      affine.store %d, %e[%i, %j] : memref<64x100xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.store %zero, %s[%i] : memref<64xf32>
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %e[%i, %j] : memref<64x100xf32>
      %b = affine.load %s[%i] : memref<64xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %s[%i] : memref<64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 100 {
      %a = affine.load %e[%i, %j] : memref<64x100xf32>
      %b = affine.load %s[%i] : memref<64xf32>
      %c = arith.divf %a, %b : f32
      affine.store %c, %y[%i, %j] : memref<64x100xf32>
    }
  }
  return
}

// -----

// A chain over dynamic sizes needs no memory in between.
// CHECK-LABEL: func.func private @chain
// CHECK-NOT:     memref.alloc
// CHECK:         affine.for
// CHECK-NEXT:      affine.load
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      affine.store
// CHECK-NOT:     affine.for
func.func private @chain(%n: index, %x: memref<?xf32>, %y: memref<?xf32>) attributes {tilewright.kernel} {
  %t = memref.alloc(%n) : memref<?xf32>
  affine.for %i = 0 to %n {
    %a = affine.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    affine.store %b, %t[%i] : memref<?xf32>
  }
  affine.for %i = 0 to %n {
    %a = affine.load %t[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    affine.store %b, %y[%i] : memref<?xf32>
  }
  return
}

// -----

// The second nest reads a neighbour that a later iteration of the first writes: apart they stay.
// CHECK-LABEL: func.func private @stencil
// CHECK:         memref.alloc() : memref<65xf32>
// CHECK:         affine.for
// CHECK:         }
// CHECK:         affine.for
func.func private @stencil(%x: memref<65xf32>, %y: memref<64xf32>) attributes {tilewright.kernel} {
  %t = memref.alloc() : memref<65xf32>
  affine.for %i = 0 to 64 {
    %a = affine.load %x[%i] : memref<65xf32>
    affine.store %a, %t[%i] : memref<65xf32>
  }
  affine.for %i = 0 to 64 {
    %a = affine.load %t[%i + 1] : memref<65xf32>
    affine.store %a, %y[%i] : memref<64xf32>
  }
  return
}

// -----

// A transposed reader meets the writer in other iterations.
// CHECK-LABEL: func.func private @transposed
// CHECK-COUNT-2: affine.for %{{.*}} = 0 to 8
// CHECK-COUNT-2: affine.for %{{.*}} = 0 to 8
func.func private @transposed(%x: memref<8x8xf32>, %y: memref<8x8xf32>) attributes {tilewright.kernel} {
  %t = memref.alloc() : memref<8x8xf32>
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %a = affine.load %x[%i, %j] : memref<8x8xf32>
      affine.store %a, %t[%i, %j] : memref<8x8xf32>
    }
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 8 {
      %a = affine.load %t[%j, %i] : memref<8x8xf32>
      affine.store %a, %y[%i, %j] : memref<8x8xf32>
    }
  }
  return
}

// -----

// A column sum carries its row of sums from one iteration to the next: the buffer keeps its dimension.
// CHECK-LABEL: func.func private @columns
// CHECK:         memref.alloc() : memref<16xf32>
// CHECK:         affine.for
func.func private @columns(%x: memref<8x16xf32>, %y: memref<16xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<16xf32>
  affine.for %j = 0 to 16 {
    affine.store %zero, %t[%j] : memref<16xf32>
  }
  affine.for %i = 0 to 8 {
    affine.for %j = 0 to 16 {
      %a = affine.load %x[%i, %j] : memref<8x16xf32>
      %b = affine.load %t[%j] : memref<16xf32>
      %c = arith.addf %a, %b : f32
      affine.store %c, %t[%j] : memref<16xf32>
    }
  }
  affine.for %j = 0 to 16 {
    %a = affine.load %t[%j] : memref<16xf32>
    %b = arith.mulf %a, %a : f32
    affine.store %b, %y[%j] : memref<16xf32>
  }
  return
}

// -----

// The one iteration of the outer loops is the same element in both nests: the initialisation is forwarded.
// CHECK-LABEL: func.func @one_picture
// CHECK:      affine.for %[[J:.*]] = 0 to 16
// CHECK-NOT:  affine.store
// CHECK:      %[[A:.*]] = affine.load %arg0[%{{.*}}, %[[J]]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %{{.*}}
// CHECK-NEXT: affine.store %[[S]], %arg1
// CHECK-NOT:  affine.store
func.func @one_picture(%x: memref<1x16xf32>, %y: memref<1x16xf32>) {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 1 {
    affine.for %j = 0 to 16 {
      affine.store %one, %y[%i, %j] : memref<1x16xf32>
    }
  }
  affine.for %i = 0 to 1 {
    affine.for %j = 0 to 16 {
      %a = affine.load %x[%i, %j] : memref<1x16xf32>
      %b = affine.load %y[%i, %j] : memref<1x16xf32>
      %s = arith.addf %a, %b : f32
      affine.store %s, %y[%i, %j] : memref<1x16xf32>
    }
  }
  return
}
