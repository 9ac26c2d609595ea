// Scalars whose k is strided, here the channels of a row, and that the second cache does not hold: the lines that the
// next row tile reads are prefetched in the same step of k. A row tile meets all panels, also those of another width,
// before the next one begins.
//
// RUN: tw-opt %s -map-contractions=force=rows=8,vectors=3,rows_outside=1,k_block=0 --mlir-print-local-scope | FileCheck %s
// RUN: tw-opt %s -map-contractions=force=rows=8,vectors=3,rows_outside=1,k_block=0,prefetch_rows=0 | FileCheck %s --check-prefix=OFF
// RUN: tw-opt %s -map-contractions=force=rows=12,vectors=2,lanes_on=n --mlir-print-local-scope | FileCheck %s --check-prefix=FULL

// 12 rows share 8 scalars from one tap to the next: with 24 sums and two vectors these are more than 32 registers, so
// that each tap loads its own. 8 rows share 4, which is room enough.
// FULL-LABEL: func.func private @window
// FULL: affine.for %[[Q:.*]] = 0 to 3 iter_args
// FULL: tile.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}} * 12 + %[[Q]] * 4] {{.*}} {reread} : memref<8x64x4008xf32>
// FULL-COUNT-11: {reread}

// CHECK-LABEL: func.func private @window
// CHECK: %[[WIDE:.*]] = memref.alloc() {{.*}}: memref<2x192x48xf32>
// CHECK: %[[NARROW:.*]] = memref.alloc() {{.*}}: memref<1x192x32xf32>
// CHECK: affine.for %[[ROW:.*]] = 0 to 500
// CHECK-NEXT: affine.for %[[PANEL:.*]] = 0 to 2
// CHECK: affine.for %[[C:.*]] = 0 to 64 iter_args
// CHECK-COUNT-3: tile.load %[[WIDE]][%[[PANEL]], %[[C]] * 3
// The last element of the next row tile in its last tap, 8 + 7 + 2 x 4 columns further, then no other line of it.
// CHECK: affine.prefetch %{{.*}}[%{{.*}}, %[[C]], %[[ROW]] * 8 + 23], read, locality<3>, data : memref<8x64x4008xf32>
// CHECK-NEXT: affine.yield
// Two vectors that are left in 128 filters, of the same rows.
// CHECK: affine.for %[[C:.*]] = 0 to 64 iter_args
// CHECK: tile.load %[[NARROW]][0, %[[C]] * 3
// CHECK: affine.prefetch %{{.*}}[%{{.*}}, %[[C]], %[[ROW]] * 8 + 23]
// CHECK-NOT: affine.for %{{.*}} = 0 to 500
// CHECK-NOT: reread
// OFF-LABEL: func.func private @window
// OFF-NOT: affine.prefetch {{.*}} memref<8x64x4008xf32>
module attributes {tilewright.target = "cpu:sapphire-rapids"} {
  func.func private @window(%x: memref<8x64x4008xf32>, %w: memref<128x64x3xf32>, %y: memref<8x128x4000xf32>)
      attributes {tilewright.kernel} {
    affine.for %b = 0 to 8 {
      affine.for %o = 0 to 128 {
        affine.for %i = 0 to 4000 {
          affine.for %c = 0 to 64 {
            affine.for %q = 0 to 3 {
              %s = affine.load %y[%b, %o, %i] : memref<8x128x4000xf32>
              %u = affine.load %x[%b, %c, %i + %q * 4] : memref<8x64x4008xf32>
              %v = affine.load %w[%o, %c, %q] : memref<128x64x3xf32>
              %p = arith.mulf %u, %v : f32
              %t = arith.addf %s, %p : f32
              affine.store %t, %y[%b, %o, %i] : memref<8x128x4000xf32>
            }
          }
        }
      }
    }
    return
  }
}
