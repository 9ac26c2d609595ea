// RUN: tw-opt %s -map-contractions -canonicalize -split-input-file | FileCheck %s

// A product with its zero initialisation: one nest, accumulators start at zero, C is written once.
// CHECK-LABEL: func.func private @matmul
// CHECK-NOT:   affine.store
// CHECK:       tile.zero
// CHECK:       affine.for {{.*}} iter_args
// CHECK:         tile.load
// CHECK:         tile.mma {{.*}} {unit = "cpu.avx512_fma_f32"}
// CHECK:       tile.store
// CHECK-NOT:   affine.load
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @matmul(%A: memref<64x32xf32>, %B: memref<32x64xf32>, %C: memref<64x64xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.store %z, %C[%i, %j] : memref<64x64xf32> } }
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.for %k = 0 to 32 {
    %a = affine.load %A[%i, %k] : memref<64x32xf32>
    %b = affine.load %B[%k, %j] : memref<32x64xf32>
    %c = affine.load %C[%i, %j] : memref<64x64xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<64x64xf32>
  } } }
  return
}
}

// -----

// The loops may stand in any order, and a bias and a clamp run on the finished fragments; the private result
// never reaches memory.
// CHECK-LABEL: func.func private @epilogue
// CHECK-NOT:   memref.alloc
// CHECK:       tile.mma
// CHECK:       tile.load %arg2[{{.*}}] elements #{{.*}} : memref<64xf32>
// CHECK:       tile.map
// CHECK:         arith.addf
// CHECK:         arith.maximumf
// CHECK:       tile.store {{.*}} %arg3
// CHECK-NOT:   affine.load
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @epilogue(%A: memref<64x32xf32>, %B: memref<32x64xf32>, %bias: memref<64xf32>, %D: memref<64x64xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  %C = memref.alloc() : memref<64x64xf32>
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.store %z, %C[%i, %j] : memref<64x64xf32> } }
  affine.for %k = 0 to 32 { affine.for %j = 0 to 64 { affine.for %i = 0 to 64 {
    %a = affine.load %A[%i, %k] : memref<64x32xf32>
    %b = affine.load %B[%k, %j] : memref<32x64xf32>
    %c = affine.load %C[%i, %j] : memref<64x64xf32>
    %p = arith.mulf %b, %a : f32
    %s = arith.addf %p, %c : f32
    affine.store %s, %C[%i, %j] : memref<64x64xf32>
  } } }
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 {
    %c = affine.load %C[%i, %j] : memref<64x64xf32>
    %b = affine.load %bias[%j] : memref<64xf32>
    %s = arith.addf %c, %b : f32
    %r = arith.maximumf %s, %z : f32
    affine.store %r, %D[%i, %j] : memref<64x64xf32>
  } }
  return
}
}

// -----

// What lies beyond the end of a divisor may be 0: the division stays a nest of its own.
// CHECK-LABEL: func.func private @divided
// CHECK:       tile.mma
// CHECK-NOT:   tile.map
// CHECK:       affine.load %arg2
// CHECK-NEXT:  arith.divsi
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @divided(%A: memref<64x32xf32>, %B: memref<32x64xf32>, %divisor: memref<64xi32>, %D: memref<64x64xi32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6 : i32
  %C = memref.alloc() : memref<64x64xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.store %zero, %C[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 32 {
        %a = affine.load %A[%i, %k] : memref<64x32xf32>
        %b = affine.load %B[%k, %j] : memref<32x64xf32>
        %c = affine.load %C[%i, %j] : memref<64x64xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<64x64xf32>
      }
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %c = affine.load %C[%i, %j] : memref<64x64xf32>
      %n = arith.fptosi %c : f32 to i32
      %d = affine.load %divisor[%j] : memref<64xi32>
      %q = arith.divsi %n, %d : i32
      affine.store %q, %D[%i, %j] : memref<64x64xi32>
    }
  }
  return
}
}

// -----

// CHECK-LABEL: func.func private @divided_by_six
// CHECK:       tile.mma
// CHECK:       tile.map
// CHECK:         arith.divsi
// CHECK-NOT:   affine.load
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @divided_by_six(%A: memref<64x32xf32>, %B: memref<32x64xf32>, %D: memref<64x64xi32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6 : i32
  %C = memref.alloc() : memref<64x64xf32>
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.store %zero, %C[%i, %j] : memref<64x64xf32>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      affine.for %k = 0 to 32 {
        %a = affine.load %A[%i, %k] : memref<64x32xf32>
        %b = affine.load %B[%k, %j] : memref<32x64xf32>
        %c = affine.load %C[%i, %j] : memref<64x64xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        affine.store %s, %C[%i, %j] : memref<64x64xf32>
      }
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 64 {
      %c = affine.load %C[%i, %j] : memref<64x64xf32>
      %n = arith.fptosi %c : f32 to i32
      %q = arith.divsi %n, %six : i32
      affine.store %q, %D[%i, %j] : memref<64x64xi32>
    }
  }
  return
}
}

// -----

// Min-plus is no sum of products.
// CHECK-LABEL: func.func private @min_plus
// CHECK-NOT:   tile.mma
// CHECK:       arith.minimumf
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @min_plus(%A: memref<64x32xf32>, %B: memref<32x64xf32>, %C: memref<64x64xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.for %k = 0 to 32 {
    %a = affine.load %A[%i, %k] : memref<64x32xf32>
    %b = affine.load %B[%k, %j] : memref<32x64xf32>
    %c = affine.load %C[%i, %j] : memref<64x64xf32>
    %p = arith.addf %a, %b : f32
    %s = arith.minimumf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<64x64xf32>
  } } }
  return
}
}

// -----

// A masked product is none either.
// CHECK-LABEL: func.func private @masked
// CHECK-NOT:   tile.mma
// CHECK:       arith.select
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @masked(%A: memref<64x32xf32>, %B: memref<32x64xf32>, %M: memref<64x32xi1>, %C: memref<64x64xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.for %k = 0 to 32 {
    %a = affine.load %A[%i, %k] : memref<64x32xf32>
    %b = affine.load %B[%k, %j] : memref<32x64xf32>
    %m = affine.load %M[%i, %k] : memref<64x32xi1>
    %c = affine.load %C[%i, %j] : memref<64x64xf32>
    %p = arith.mulf %a, %b : f32
    %q = arith.select %m, %p, %z : f32
    %s = arith.addf %c, %q : f32
    affine.store %s, %C[%i, %j] : memref<64x64xf32>
  } } }
  return
}
}

// -----

// Sizes that are not known: a main part and single rows and vectors; the last vector carries `valid`.
// CHECK-LABEL: func.func private @dynamic
// CHECK:       tile.mma
// CHECK:       valid(
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @dynamic(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>, %m: index, %n: index, %k: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to %m { affine.for %j = 0 to %n { affine.for %l = 0 to %k {
    %a = affine.load %A[%i, %l] : memref<?x?xf32>
    %b = affine.load %B[%l, %j] : memref<?x?xf32>
    %c = affine.load %C[%i, %j] : memref<?x?xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<?x?xf32>
  } } }
  return
}
}

// -----

// One vector times a matrix whose rows lie along k: rows of reductions, which no unit helps.
// CHECK-LABEL: func.func private @matrix_vector
// CHECK-NOT:   tile.mma
// CHECK:       affine.store
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @matrix_vector(%A: memref<64x32xf32>, %x: memref<32x1xf32>, %y: memref<64x1xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 64 { affine.for %j = 0 to 1 { affine.for %k = 0 to 32 {
    %a = affine.load %A[%i, %k] : memref<64x32xf32>
    %b = affine.load %x[%k, %j] : memref<32x1xf32>
    %c = affine.load %y[%i, %j] : memref<64x1xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %y[%i, %j] : memref<64x1xf32>
  } } }
  return
}
}

// -----

// Signed bytes in a slot for unsigned ones: half the range is added in the copy, the accumulators start from what that
// adds, negated.
// CHECK-LABEL: func.func private @signed_bytes
// CHECK:       arith.xori
// CHECK:       tile.mma {{.*}}dpbusd
// CHECK:       tile.map
// CHECK:         arith.subi
// CHECK:       tile.mma {{.*}}dpbusd
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @signed_bytes(%A: memref<64x32xi8>, %B: memref<32x64xi8>, %C: memref<64x64xi32>) attributes {tilewright.kernel} {
  %z = arith.constant 0 : i32
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.store %z, %C[%i, %j] : memref<64x64xi32> } }
  affine.for %i = 0 to 64 { affine.for %j = 0 to 64 { affine.for %k = 0 to 32 {
    %a = affine.load %A[%i, %k] : memref<64x32xi8>
    %b = affine.load %B[%k, %j] : memref<32x64xi8>
    %x = arith.extsi %a : i8 to i32
    %y = arith.extsi %b : i8 to i32
    %c = affine.load %C[%i, %j] : memref<64x64xi32>
    %p = arith.muli %x, %y : i32
    %s = arith.addi %c, %p : i32
    affine.store %s, %C[%i, %j] : memref<64x64xi32>
  } } }
  return
}
}

// -----

// Channels are contiguous in all three arrays and stand in no sum: vectors of them need no unit, the nest stays as it is.
// CHECK-LABEL: func.func private @depthwise
// CHECK-NOT:   tile.
// CHECK:       affine.store
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @depthwise(%A: memref<18x18x64xf32>, %B: memref<3x3x64xf32>, %C: memref<16x16x64xf32>) attributes {tilewright.kernel} {
  affine.for %y = 0 to 16 { affine.for %x = 0 to 16 { affine.for %c = 0 to 64 {
    affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
      %a = affine.load %A[%y + %p, %x + %q, %c] : memref<18x18x64xf32>
      %b = affine.load %B[%p, %q, %c] : memref<3x3x64xf32>
      %s = affine.load %C[%y, %x, %c] : memref<16x16x64xf32>
      %m = arith.mulf %a, %b : f32
      %t = arith.addf %s, %m : f32
      affine.store %t, %C[%y, %x, %c] : memref<16x16x64xf32>
    } }
  } } }
  return
}
}

// -----

// The same with channels apart: neighbours in a row share the nine taps of a filter.
// CHECK-LABEL: func.func private @depthwise_planes
// CHECK-NOT:   tile.
// CHECK:       affine.store
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @depthwise_planes(%A: memref<64x18x18xf32>, %B: memref<64x3x3xf32>, %C: memref<64x16x16xf32>) attributes {tilewright.kernel} {
  affine.for %c = 0 to 64 { affine.for %y = 0 to 16 { affine.for %x = 0 to 16 {
    affine.for %p = 0 to 3 { affine.for %q = 0 to 3 {
      %a = affine.load %A[%c, %y + %p, %x + %q] : memref<64x18x18xf32>
      %b = affine.load %B[%c, %p, %q] : memref<64x3x3xf32>
      %s = affine.load %C[%c, %y, %x] : memref<64x16x16xf32>
      %m = arith.mulf %a, %b : f32
      %t = arith.addf %s, %m : f32
      affine.store %t, %C[%c, %y, %x] : memref<64x16x16xf32>
    } }
  } } }
  return
}
}

// -----

// 49 taps are more than registers: a plan with lanes along the image's rows.
// CHECK-LABEL: func.func private @large_filters
// CHECK:       tile.mma
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @large_filters(%A: memref<64x22x22xf32>, %B: memref<64x7x7xf32>, %C: memref<64x16x16xf32>) attributes {tilewright.kernel} {
  affine.for %c = 0 to 64 { affine.for %y = 0 to 16 { affine.for %x = 0 to 16 {
    affine.for %p = 0 to 7 { affine.for %q = 0 to 7 {
      %a = affine.load %A[%c, %y + %p, %x + %q] : memref<64x22x22xf32>
      %b = affine.load %B[%c, %p, %q] : memref<64x7x7xf32>
      %s = affine.load %C[%c, %y, %x] : memref<64x16x16xf32>
      %m = arith.mulf %a, %b : f32
      %t = arith.addf %s, %m : f32
      affine.store %t, %C[%c, %y, %x] : memref<64x16x16xf32>
    } }
  } } }
  return
}
}
