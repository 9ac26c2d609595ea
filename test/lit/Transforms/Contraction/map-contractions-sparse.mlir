// A factor that keeps two of four elements along k, with an array of their places: the unit takes both.
//
// RUN: tw-opt %s -split-input-file -map-contractions -canonicalize | FileCheck %s

module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: func.func @product
// CHECK-DAG: %[[A:.*]] = memref.collapse_shape %arg0 {{\[\[}}0], [1, 2]] : memref<64x64x2xf16> into memref<64x128xf16>
// CHECK-DAG: %[[P:.*]] = memref.collapse_shape %arg1 {{\[\[}}0], [1, 2]] : memref<64x64x2xi8> into memref<64x128xi8>
// CHECK: tile.copy %[[A]]
// CHECK: %[[INDEX:.*]] = tile.load %[[P]][{{.*}}] {{.*}} : memref<64x128xi8> -> !tile.fragment<{{.*}}xi8
// CHECK: tile.mma {{.*}} index({{.*}}) {{{.*}}unit = "amd.smfmac_cdna3_{{.*}}_f16_f32"}
// CHECK-NOT: arith.cmpi eq
func.func @product(%a: memref<64x64x2xf16>, %p: memref<64x64x2xi8> {tilewright.ascending}, %b: memref<256x96xf16>, %c: memref<64x96xf32>) {
  %mask = arith.constant 3 : i8
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 96 {
      affine.for %k = 0 to 256 {
        affine.for %s = 0 to 2 {
          %x = affine.load %a[%i, %k floordiv 4, %s] : memref<64x64x2xf16>
          %place = affine.load %p[%i, %k floordiv 4, %s] : memref<64x64x2xi8>
          %y = affine.load %b[%k, %j] : memref<256x96xf16>
          %z = affine.load %c[%i, %j] : memref<64x96xf32>
          %low = arith.index_cast %k : index to i8
          %have = arith.andi %place, %mask : i8
          %want = arith.andi %low, %mask : i8
          %here = arith.cmpi eq, %have, %want : i8
          %xe = arith.extf %x : f16 to f32
          %ye = arith.extf %y : f16 to f32
          %m = arith.mulf %xe, %ye : f32
          %chosen = arith.select %here, %m, %zero : f32
          %sum = arith.addf %z, %chosen : f32
          affine.store %sum, %c[%i, %j] : memref<64x96xf32>
        }
      }
    }
  }
  return
}
}

// -----

// A k that is no multiple of the group: the nest stays.
module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: func.func @cut_off
// CHECK-NOT: tile.mma
func.func @cut_off(%a: memref<64x64x2xf16>, %p: memref<64x64x2xi8> {tilewright.ascending}, %b: memref<254x96xf16>, %c: memref<64x96xf32>) {
  %mask = arith.constant 3 : i8
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 96 {
      affine.for %k = 0 to 254 {
        affine.for %s = 0 to 2 {
          %x = affine.load %a[%i, %k floordiv 4, %s] : memref<64x64x2xf16>
          %place = affine.load %p[%i, %k floordiv 4, %s] : memref<64x64x2xi8>
          %y = affine.load %b[%k, %j] : memref<254x96xf16>
          %z = affine.load %c[%i, %j] : memref<64x96xf32>
          %low = arith.index_cast %k : index to i8
          %have = arith.andi %place, %mask : i8
          %want = arith.andi %low, %mask : i8
          %here = arith.cmpi eq, %have, %want : i8
          %xe = arith.extf %x : f16 to f32
          %ye = arith.extf %y : f16 to f32
          %m = arith.mulf %xe, %ye : f32
          %chosen = arith.select %here, %m, %zero : f32
          %sum = arith.addf %z, %chosen : f32
          affine.store %sum, %c[%i, %j] : memref<64x96xf32>
        }
      }
    }
  }
  return
}
}
