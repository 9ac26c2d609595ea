// Operands that nests before a product scale in blocks along k: the unit takes the scales, and neither nest is left.
//
// RUN: tw-opt %s -split-input-file -map-contractions -canonicalize -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "amd:MI350"} {
// CHECK-LABEL: func.func @product
// CHECK-NOT: memref.alloc
// CHECK: tile.copy %arg0
// CHECK: tile.load %arg1[{{.*}}] {{.*}} : memref<64x8xf8E8M0FNU> -> !tile.fragment<{{.*}}xf8E8M0FNU
// CHECK: tile.load %arg3[{{.*}}] {{.*}} : memref<96x8xf8E8M0FNU> -> !tile.fragment<{{.*}}xf8E8M0FNU
// CHECK: tile.mma {{.*}} scales({{.*}}) {{{.*}}unit = "amd.mfma_cdna4_{{.*}}_mxfp8_mxbf8_f32"}
// CHECK-NOT: arith.truncf
func.func @product(%a: memref<64x256xf8E4M3FN>, %sa: memref<64x8xf8E8M0FNU>, %b: memref<96x256xf8E5M2>,
                   %sb: memref<96x8xf8E8M0FNU>, %c: memref<64x96xf32>) {
  %w = memref.alloc() : memref<64x256xbf16>
  %v = memref.alloc() : memref<96x256xbf16>
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 256 {
      %0 = affine.load %a[%i, %k] : memref<64x256xf8E4M3FN>
      %1 = affine.load %sa[%i, %k floordiv 32] : memref<64x8xf8E8M0FNU>
      %2 = arith.extf %0 : f8E4M3FN to f32
      %3 = arith.extf %1 : f8E8M0FNU to f32
      %4 = arith.mulf %2, %3 : f32
      %5 = arith.truncf %4 : f32 to bf16
      affine.store %5, %w[%i, %k] : memref<64x256xbf16>
    }
  }
  affine.for %i = 0 to 96 {
    affine.for %k = 0 to 256 {
      %0 = affine.load %sb[%i, %k floordiv 32] : memref<96x8xf8E8M0FNU>
      %1 = affine.load %b[%i, %k] : memref<96x256xf8E5M2>
      %2 = arith.extf %0 : f8E8M0FNU to f32
      %3 = arith.extf %1 : f8E5M2 to f32
      %4 = arith.mulf %2, %3 : f32
      %5 = arith.truncf %4 : f32 to bf16
      affine.store %5, %v[%i, %k] : memref<96x256xbf16>
    }
  }
  // expected-remark@+1 {{operands of a contraction are scaled by unit amd.mfma_cdna4_}}
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 96 {
      affine.for %k = 0 to 256 {
        %x = affine.load %w[%i, %k] : memref<64x256xbf16>
        %y = affine.load %v[%j, %k] : memref<96x256xbf16>
        %z = affine.load %c[%i, %j] : memref<64x96xf32>
        %xe = arith.extf %x : bf16 to f32
        %ye = arith.extf %y : bf16 to f32
        %p = arith.mulf %xe, %ye : f32
        %s = arith.addf %z, %p : f32
        affine.store %s, %c[%i, %j] : memref<64x96xf32>
      }
    }
  }
  memref.dealloc %w : memref<64x256xbf16>
  memref.dealloc %v : memref<96x256xbf16>
  return
}
}

// -----

// Blocks of 16, which no unit takes: the nests stay, and units of bf16 multiply what they compute.
module attributes {tilewright.target = "amd:MI350"} {
// CHECK-LABEL: func.func @short_blocks
// CHECK: arith.truncf
// CHECK: tile.mma
// CHECK-SAME: bf16_f32
func.func @short_blocks(%a: memref<64x256xf8E4M3FN>, %sa: memref<64x16xf8E8M0FNU>, %b: memref<96x256xbf16>, %c: memref<64x96xf32>) {
  %w = memref.alloc() : memref<64x256xbf16>
  affine.for %i = 0 to 64 {
    affine.for %k = 0 to 256 {
      %0 = affine.load %a[%i, %k] : memref<64x256xf8E4M3FN>
      %1 = affine.load %sa[%i, %k floordiv 16] : memref<64x16xf8E8M0FNU>
      %2 = arith.extf %0 : f8E4M3FN to f32
      %3 = arith.extf %1 : f8E8M0FNU to f32
      %4 = arith.mulf %2, %3 : f32
      %5 = arith.truncf %4 : f32 to bf16
      affine.store %5, %w[%i, %k] : memref<64x256xbf16>
    }
  }
  affine.for %i = 0 to 64 {
    affine.for %j = 0 to 96 {
      affine.for %k = 0 to 256 {
        %x = affine.load %w[%i, %k] : memref<64x256xbf16>
        %y = affine.load %b[%j, %k] : memref<96x256xbf16>
        %z = affine.load %c[%i, %j] : memref<64x96xf32>
        %xe = arith.extf %x : bf16 to f32
        %ye = arith.extf %y : bf16 to f32
        %p = arith.mulf %xe, %ye : f32
        %s = arith.addf %z, %p : f32
        affine.store %s, %c[%i, %j] : memref<64x96xf32>
      }
    }
  }
  memref.dealloc %w : memref<64x256xbf16>
  return
}
}
