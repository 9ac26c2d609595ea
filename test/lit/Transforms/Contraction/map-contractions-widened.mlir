// Operands of 8-bit floats on a chip without units for them: widened into buffers of f16, which units multiply.
//
// RUN: tw-opt %s -split-input-file -map-contractions -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {
// A dynamic size, and an operand that is f16 already.
// CHECK-LABEL: func.func @mixed
// CHECK: memref.dim %arg0
// CHECK: %[[N:.*]] = memref.dim %arg0
// CHECK: %[[W:.*]] = memref.alloc(%[[N]]) : memref<?x64xf16>
// CHECK: affine.for
// CHECK: %[[X:.*]] = affine.load %arg0[{{.*}}] : memref<?x64xf8E4M3FN>
// CHECK: %[[E:.*]] = arith.extf %[[X]] : f8E4M3FN to f16
// CHECK: affine.store %[[E]], %[[W]]
// CHECK: tile.copy %[[W]]
// CHECK: tile.mma {{.*}}mma_m16n8k16_f16_f32
func.func @mixed(%a: memref<?x64xf8E4M3FN>, %b: memref<64x96xf16>, %c: memref<?x96xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %a, %c0 : memref<?x64xf8E4M3FN>
  // expected-remark@+1 {{operand A of a contraction is widened to 'f16' in a buffer: no unit of the chip computes 'f8E4M3FN'}}
  affine.for %i = 0 to %m {
    affine.for %j = 0 to 96 {
      affine.for %k = 0 to 64 {
        %x = affine.load %a[%i, %k] : memref<?x64xf8E4M3FN>
        %y = affine.load %b[%k, %j] : memref<64x96xf16>
        %z = affine.load %c[%i, %j] : memref<?x96xf32>
        %xe = arith.extf %x : f8E4M3FN to f32
        %ye = arith.extf %y : f16 to f32
        %p = arith.mulf %xe, %ye : f32
        %s = arith.addf %z, %p : f32
        affine.store %s, %c[%i, %j] : memref<?x96xf32>
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
// One row: no element of B is used twice.
// CHECK-LABEL: func.func @row
// CHECK-NOT: memref.alloc
func.func @row(%a: memref<1x64xf8E4M3FN>, %b: memref<64x96xf8E4M3FN>, %c: memref<1x96xf32>) {
  // expected-remark@+1 {{contraction is not mapped to a matrix unit}}
  affine.for %i = 0 to 1 {
    affine.for %j = 0 to 96 {
      affine.for %k = 0 to 64 {
        %x = affine.load %a[%i, %k] : memref<1x64xf8E4M3FN>
        %y = affine.load %b[%k, %j] : memref<64x96xf8E4M3FN>
        %z = affine.load %c[%i, %j] : memref<1x96xf32>
        %xe = arith.extf %x : f8E4M3FN to f32
        %ye = arith.extf %y : f8E4M3FN to f32
        %p = arith.mulf %xe, %ye : f32
        %s = arith.addf %z, %p : f32
        affine.store %s, %c[%i, %j] : memref<1x96xf32>
      }
    }
  }
  return
}
}
