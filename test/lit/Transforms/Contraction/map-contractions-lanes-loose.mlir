// Copies whose vectors begin anywhere, and end in the array's next row where C has no more rows.
//
// RUN: tw-opt %s -split-input-file -map-contractions | FileCheck %s

// Rows of k follow those of all steps but the last one: 32 to 95 are read as whole vectors of 8, 96 to 99 as far as the array goes.
//
// CHECK-LABEL: @over
// CHECK-COUNT-3: tile.copy %arg0{{.*}} shape [32, 64] valid(32, ((%arg3 * -64 + 101) ceildiv 8) * 8) {loose = 1 : i64}
// CHECK: tile.copy %arg0[96, %arg3 * 64]{{.*}} shape [32, 64] valid(4, %arg3 * -64 + 101) {loose = 1 : i64}
// CHECK-NOT: tile.copy %arg0
// CHECK: return
module attributes {tilewright.target = "amd:MI350", tilewright.force = "block_m=64,block_n=64,block_k=32,subgroups_m=1,subgroups_n=1,subgroups_k=1"} {
func.func private @over(%A: memref<100x101xf16>, %B: memref<100x128xf16>, %C: memref<101x128xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 101 { affine.for %j = 0 to 128 { affine.for %l = 0 to 100 {
    %a = affine.load %A[%l, %i] : memref<100x101xf16>
    %b = affine.load %B[%l, %j] : memref<100x128xf16>
    %c = affine.load %C[%i, %j] : memref<101x128xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<101x128xf32>
  } } }
  return
}
}

// -----

// Steps divide k: the last one stands behind the loop all the same.
//
// CHECK-LABEL: @whole
// CHECK-COUNT-2: tile.copy %arg0{{.*}} valid(32, ((%arg3 * -64 + 101) ceildiv 8) * 8) {loose = 1 : i64}
// CHECK: tile.copy %arg0[64, %arg3 * 64]{{.*}} valid(32, %arg3 * -64 + 101) {loose = 1 : i64}
// CHECK-NOT: tile.copy %arg0
// CHECK: return
module attributes {tilewright.target = "amd:MI350", tilewright.force = "block_m=64,block_n=64,block_k=32,subgroups_m=1,subgroups_n=1,subgroups_k=1"} {
func.func private @whole(%A: memref<96x101xf16>, %B: memref<96x128xf16>, %C: memref<101x128xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 101 { affine.for %j = 0 to 128 { affine.for %l = 0 to 96 {
    %a = affine.load %A[%l, %i] : memref<96x101xf16>
    %b = affine.load %B[%l, %j] : memref<96x128xf16>
    %c = affine.load %C[%i, %j] : memref<101x128xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<101x128xf32>
  } } }
  return
}
}

// -----

// A single step is the last one.
//
// CHECK-LABEL: @single
// CHECK: tile.copy %arg0[0, %arg3 * 64]{{.*}} shape [32, 64] valid({{[^)]*}}, %arg3 * -64 + 101)
// CHECK-NOT: loose
// CHECK: return
module attributes {tilewright.target = "amd:MI350", tilewright.force = "block_m=64,block_n=64,block_k=32,subgroups_m=1,subgroups_n=1,subgroups_k=1"} {
func.func private @single(%A: memref<32x101xf16>, %B: memref<32x128xf16>, %C: memref<101x128xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 101 { affine.for %j = 0 to 128 { affine.for %l = 0 to 32 {
    %a = affine.load %A[%l, %i] : memref<32x101xf16>
    %b = affine.load %B[%l, %j] : memref<32x128xf16>
    %c = affine.load %C[%i, %j] : memref<101x128xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<101x128xf32>
  } } }
  return
}
}

// -----

// Loads of this chip begin at multiples of what they load.
//
// CHECK-LABEL: @tight
// CHECK-NOT: loose
// CHECK-NOT: ceildiv
// CHECK: return
module attributes {tilewright.target = "nvidia:A100", tilewright.force = "block_m=64,block_n=64,block_k=32,subgroups_m=1,subgroups_n=1,subgroups_k=1"} {
func.func private @tight(%A: memref<100x101xf16>, %B: memref<100x128xf16>, %C: memref<101x128xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 101 { affine.for %j = 0 to 128 { affine.for %l = 0 to 100 {
    %a = affine.load %A[%l, %i] : memref<100x101xf16>
    %b = affine.load %B[%l, %j] : memref<100x128xf16>
    %c = affine.load %C[%i, %j] : memref<101x128xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<101x128xf32>
  } } }
  return
}
}
