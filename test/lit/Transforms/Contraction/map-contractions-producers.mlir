// RUN: tw-opt %s -map-contractions=force=fuse_producers=1 -canonicalize -split-input-file | FileCheck %s
// RUN: tw-opt %s -map-contractions=force=fuse_producers=1 -split-input-file -verify-diagnostics -o /dev/null

// A dequantisation runs in the copy into panels: vectors of bytes, one scale for each column. The buffer is gone.
// CHECK-LABEL: func.func private @dequantised
// CHECK-NOT:   memref.alloc() : memref<64x96xf32>
// CHECK:       affine.vector_load %arg1[{{.*}}] : memref<64x96xi8>, vector<16xi8>
// CHECK:       affine.vector_load %arg2[{{.*}}] : memref<96xf32>, vector<16xf32>
// CHECK:       arith.sitofp {{.*}} : vector<16xi8> to vector<16xf32>
// CHECK:       arith.mulf {{.*}} : vector<16xf32>
// CHECK:       affine.vector_store
// CHECK:       tile.mma
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @dequantised(%A: memref<48x64xf32>, %Q: memref<64x96xi8>, %S: memref<96xf32>, %C: memref<48x96xf32>) attributes {tilewright.kernel} {
  %X = memref.alloc() : memref<64x96xf32>
  affine.for %k = 0 to 64 { affine.for %j = 0 to 96 {
    %q = affine.load %Q[%k, %j] : memref<64x96xi8>
    %s = affine.load %S[%j] : memref<96xf32>
    %f = arith.sitofp %q : i8 to f32
    %x = arith.mulf %f, %s : f32
    affine.store %x, %X[%k, %j] : memref<64x96xf32>
  } }
  affine.for %i = 0 to 48 { affine.for %j = 0 to 96 { affine.for %k = 0 to 64 {
    %a = affine.load %A[%i, %k] : memref<48x64xf32>
    %b = affine.load %X[%k, %j] : memref<64x96xf32>
    %c = affine.load %C[%i, %j] : memref<48x96xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<48x96xf32>
  } } }
  return
}
}

// -----

// A scale along k is one element for all lanes; where 8 of 16 lanes exist, the others are zero although 0 + 1 is not.
// CHECK-LABEL: func.func private @masked
// CHECK-NOT:   memref.alloc() : memref<64x24xf32>
// CHECK:       %[[MASK:.*]] = vector.constant_mask [8]
// CHECK:       %[[V:.*]] = vector.maskedload %arg1
// CHECK:       %[[S:.*]] = affine.load %arg2
// CHECK:       vector.broadcast %[[S]] : f32 to vector<16xf32>
// CHECK:       %[[SUM:.*]] = arith.addf
// CHECK:       arith.select %[[MASK]], %[[SUM]]
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @masked(%A: memref<48x64xf32>, %Q: memref<64x24xf32>, %S: memref<64xf32>, %C: memref<48x24xf32>) attributes {tilewright.kernel} {
  %one = arith.constant 1.0 : f32
  %X = memref.alloc() : memref<64x24xf32>
  affine.for %k = 0 to 64 { affine.for %j = 0 to 24 {
    %q = affine.load %Q[%k, %j] : memref<64x24xf32>
    %s = affine.load %S[%k] : memref<64xf32>
    %f = arith.mulf %q, %s : f32
    %x = arith.addf %f, %one : f32
    affine.store %x, %X[%k, %j] : memref<64x24xf32>
  } }
  affine.for %i = 0 to 48 { affine.for %j = 0 to 24 { affine.for %k = 0 to 64 {
    %a = affine.load %A[%i, %k] : memref<48x64xf32>
    %b = affine.load %X[%k, %j] : memref<64x24xf32>
    %c = affine.load %C[%i, %j] : memref<48x24xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<48x24xf32>
  } } }
  return
}
}

// -----

// Not where the source lies across, ...
// CHECK-LABEL: func.func private @across
// CHECK:       affine.load %arg1
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @across(%A: memref<48x64xf32>, %Q: memref<96x64xi8>, %C: memref<48x96xf32>) attributes {tilewright.kernel} {
  %X = memref.alloc() : memref<64x96xf32>
  // expected-remark@+1 {{operand B of a contraction is computed into a buffer, not while it is packed: it reads a source across the order in which its result lies}}
  affine.for %k = 0 to 64 { affine.for %j = 0 to 96 {
    %q = affine.load %Q[%j, %k] : memref<96x64xi8>
    %f = arith.sitofp %q : i8 to f32
    affine.store %f, %X[%k, %j] : memref<64x96xf32>
  } }
  affine.for %i = 0 to 48 { affine.for %j = 0 to 96 { affine.for %k = 0 to 64 {
    %a = affine.load %A[%i, %k] : memref<48x64xf32>
    %b = affine.load %X[%k, %j] : memref<64x96xf32>
    %c = affine.load %C[%i, %j] : memref<48x96xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<48x96xf32>
  } } }
  return
}
}

// -----

// ... where a lane beyond the end could divide by zero, ...
// CHECK-LABEL: func.func private @divided
// CHECK:       affine.load %arg1
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @divided(%A: memref<48x64xi32>, %Q: memref<64x96xi32>, %R: memref<96xi32>, %C: memref<48x96xi32>) attributes {tilewright.kernel} {
  %X = memref.alloc() : memref<64x96xf32>
  %Af = memref.alloc() : memref<48x64xf32>
  %Cf = memref.alloc() : memref<48x96xf32>
  // expected-remark@+1 {{its body is not element-wise}}
  affine.for %k = 0 to 64 { affine.for %j = 0 to 96 {
    %q = affine.load %Q[%k, %j] : memref<64x96xi32>
    %r = affine.load %R[%j] : memref<96xi32>
    %d = arith.divsi %q, %r : i32
    %f = arith.sitofp %d : i32 to f32
    affine.store %f, %X[%k, %j] : memref<64x96xf32>
  } }
  affine.for %i = 0 to 48 { affine.for %j = 0 to 96 { affine.for %k = 0 to 64 {
    %a = affine.load %Af[%i, %k] : memref<48x64xf32>
    %b = affine.load %X[%k, %j] : memref<64x96xf32>
    %c = affine.load %Cf[%i, %j] : memref<48x96xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %Cf[%i, %j] : memref<48x96xf32>
  } } }
  return
}
}

// -----

// ... where somebody else reads the result, ...
// CHECK-LABEL: func.func private @read_twice
// CHECK:       affine.load %arg1
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @read_twice(%A: memref<48x64xf32>, %Q: memref<64x96xi8>, %C: memref<48x96xf32>, %D: memref<64x96xf32>) attributes {tilewright.kernel} {
  %X = memref.alloc() : memref<64x96xf32>
  // expected-remark@+1 {{its result has another user}}
  affine.for %k = 0 to 64 { affine.for %j = 0 to 96 {
    %q = affine.load %Q[%k, %j] : memref<64x96xi8>
    %f = arith.sitofp %q : i8 to f32
    affine.store %f, %X[%k, %j] : memref<64x96xf32>
  } }
  affine.for %i = 0 to 48 { affine.for %j = 0 to 96 { affine.for %k = 0 to 64 {
    %a = affine.load %A[%i, %k] : memref<48x64xf32>
    %b = affine.load %X[%k, %j] : memref<64x96xf32>
    %c = affine.load %C[%i, %j] : memref<48x96xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<48x96xf32>
  } } }
  affine.for %k = 0 to 64 { affine.for %j = 0 to 96 {
    %x = affine.load %X[%k, %j] : memref<64x96xf32>
    affine.store %x, %D[%k, %j] : memref<64x96xf32>
  } }
  return
}
}

// -----

// ... and where the source changes before the product has read it.
// CHECK-LABEL: func.func private @changed
// CHECK:       affine.load %arg1
module attributes {tilewright.target = "cpu:zen4"} {
func.func private @changed(%A: memref<48x64xf32>, %Q: memref<64x96xf32>, %C: memref<48x96xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  %X = memref.alloc() : memref<64x96xf32>
  // expected-remark@+1 {{a source is written before the product is finished}}
  affine.for %k = 0 to 64 { affine.for %j = 0 to 96 {
    %q = affine.load %Q[%k, %j] : memref<64x96xf32>
    %f = arith.addf %q, %q : f32
    affine.store %f, %X[%k, %j] : memref<64x96xf32>
  } }
  affine.for %k = 0 to 64 { affine.for %j = 0 to 96 { affine.store %zero, %Q[%k, %j] : memref<64x96xf32> } }
  affine.for %i = 0 to 48 { affine.for %j = 0 to 96 { affine.for %k = 0 to 64 {
    %a = affine.load %A[%i, %k] : memref<48x64xf32>
    %b = affine.load %X[%k, %j] : memref<64x96xf32>
    %c = affine.load %C[%i, %j] : memref<48x96xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<48x96xf32>
  } } }
  return
}
}
