// RUN: tw-opt %s -map-to-units -cse | FileCheck %s

// Soft-max between two products, 32 of 64 keys in a step: each of 4 subgroups has 16 rows, scores are fragments of sums.
// CHECK-LABEL: func.func private @rows
// CHECK: tile.parallel (%[[H:.*]], %{{.*}}) to (2, 1) level "grid"
// CHECK: %[[K:.*]] = tile.alloc() {{.*}} : memref<{{[23]}}x32x32xf16, "shared">
// CHECK: %[[V:.*]] = tile.alloc() {{.*}} : memref<{{[23]}}x32x32xf16, "shared">
// CHECK: tile.parallel (%[[W:.*]]) to (4) level "block"
// CHECK: tile.load %arg0[symbol(%[[H]]), %[[W]] * 16{{.*}} -> !tile.fragment<16x16xf16
// CHECK: tile.copy %arg1{{.*}} to %[[K]][0, 0, 0]
// CHECK: tile.copy %arg2{{.*}} to %[[V]][0, 0, 0]
// CHECK: affine.for %{{.*}} = 0 to 2 iter_args
// CHECK: tile.wait
// CHECK: tile.copy %arg1{{.*}} valid
// CHECK: %[[TWO:.*]] = tile.load %[[K]]{{.*}} -> !tile.fragment<16x16xf16
// CHECK: tile.split %[[TWO]]
// CHECK: tile.mma
// CHECK: tile.reduce %{{.*}} dimension 1 : <16x8xf32, #{{.*}}> -> <16x1xf32
// CHECK: tile.broadcast %{{.*}} : !tile.fragment<16x1xf32, #{{.*}}> -> <16x8xf32
// CHECK: math.exp
// CHECK: %[[P:.*]] = tile.join %{{.*}} -> <16x16xf16
// CHECK: tile.convert %[[P]]
// CHECK: tile.load %[[V]]
// CHECK: tile.mma
// CHECK: arith.divf
// CHECK: tile.store %{{.*}}, %arg3
// CHECK-NOT: memref.alloc
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @rows(%q: memref<2x64x32xf16>, %k: memref<2x64x32xf16>, %v: memref<2x64x32xf16>, %o: memref<2x64x32xf16>) attributes {tilewright.kernel} {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  tile.parallel (%h, %i) to (2, 1) level "grid" attributes {schedule = #tile.schedule<level = "grid", members = 2, loops = [<loop = 0, tile = 1, spread = true>]>} {
    %m = memref.alloc() : memref<64xf32>
    %l = memref.alloc() : memref<64xf32>
    %acc = memref.alloc() : memref<64x32xf32>
    affine.for %r = 0 to 64 { affine.store %ninf, %m[%r] : memref<64xf32> }
    affine.for %r = 0 to 64 { affine.store %zero, %l[%r] : memref<64xf32> }
    affine.for %r = 0 to 64 { affine.for %d = 0 to 32 { affine.store %zero, %acc[%r, %d] : memref<64x32xf32> } }
    affine.for %j = 0 to 2 {
      %s = memref.alloc() : memref<64x32xf32>
      %p = memref.alloc() : memref<64x32xf32>
      %ph = memref.alloc() : memref<64x32xf16>
      %mn = memref.alloc() : memref<64xf32>
      %c = memref.alloc() : memref<64xf32>
      affine.for %r = 0 to 64 { affine.for %x = 0 to 32 { affine.store %zero, %s[%r, %x] : memref<64x32xf32> } }
      affine.for %r = 0 to 64 { affine.for %x = 0 to 32 { affine.for %d = 0 to 32 {
        %a = affine.load %q[%h, %i * 64 + %r, %d] : memref<2x64x32xf16>
        %b = affine.load %k[%h, %j * 32 + %x, %d] : memref<2x64x32xf16>
        %cc = affine.load %s[%r, %x] : memref<64x32xf32>
        %ae = arith.extf %a : f16 to f32
        %be = arith.extf %b : f16 to f32
        %ab = arith.mulf %ae, %be : f32
        %n = arith.addf %cc, %ab : f32
        affine.store %n, %s[%r, %x] : memref<64x32xf32>
      } } }
      affine.for %r = 0 to 64 { affine.for %x = 0 to 32 {
        %a = affine.load %s[%r, %x] : memref<64x32xf32>
        %b = arith.mulf %a, %scale : f32
        affine.store %b, %s[%r, %x] : memref<64x32xf32>
      } }
      affine.for %r = 0 to 64 {
        %a = affine.load %m[%r] : memref<64xf32>
        affine.store %a, %mn[%r] : memref<64xf32>
      }
      affine.for %r = 0 to 64 { affine.for %x = 0 to 32 {
        %a = affine.load %s[%r, %x] : memref<64x32xf32>
        %b = affine.load %mn[%r] : memref<64xf32>
        %n = arith.maximumf %a, %b : f32
        affine.store %n, %mn[%r] : memref<64xf32>
      } }
      affine.for %r = 0 to 64 { affine.for %x = 0 to 32 {
        %a = affine.load %s[%r, %x] : memref<64x32xf32>
        %b = affine.load %mn[%r] : memref<64xf32>
        %n = arith.subf %a, %b : f32
        %e = math.exp %n : f32
        affine.store %e, %p[%r, %x] : memref<64x32xf32>
      } }
      affine.for %r = 0 to 64 {
        %a = affine.load %m[%r] : memref<64xf32>
        %b = affine.load %mn[%r] : memref<64xf32>
        %n = arith.subf %a, %b : f32
        %e = math.exp %n : f32
        affine.store %e, %c[%r] : memref<64xf32>
      }
      affine.for %r = 0 to 64 {
        %a = affine.load %l[%r] : memref<64xf32>
        %b = affine.load %c[%r] : memref<64xf32>
        %n = arith.mulf %a, %b : f32
        affine.store %n, %l[%r] : memref<64xf32>
      }
      affine.for %r = 0 to 64 { affine.for %x = 0 to 32 {
        %a = affine.load %p[%r, %x] : memref<64x32xf32>
        %b = affine.load %l[%r] : memref<64xf32>
        %n = arith.addf %a, %b : f32
        affine.store %n, %l[%r] : memref<64xf32>
      } }
      affine.for %r = 0 to 64 { affine.for %x = 0 to 32 {
        %a = affine.load %p[%r, %x] : memref<64x32xf32>
        %n = arith.truncf %a : f32 to f16
        affine.store %n, %ph[%r, %x] : memref<64x32xf16>
      } }
      affine.for %r = 0 to 64 { affine.for %d = 0 to 32 {
        %a = affine.load %acc[%r, %d] : memref<64x32xf32>
        %b = affine.load %c[%r] : memref<64xf32>
        %n = arith.mulf %a, %b : f32
        affine.store %n, %acc[%r, %d] : memref<64x32xf32>
      } }
      affine.for %r = 0 to 64 { affine.for %d = 0 to 32 { affine.for %x = 0 to 32 {
        %a = affine.load %ph[%r, %x] : memref<64x32xf16>
        %b = affine.load %v[%h, %j * 32 + %x, %d] : memref<2x64x32xf16>
        %cc = affine.load %acc[%r, %d] : memref<64x32xf32>
        %ae = arith.extf %a : f16 to f32
        %be = arith.extf %b : f16 to f32
        %ab = arith.mulf %ae, %be : f32
        %n = arith.addf %cc, %ab : f32
        affine.store %n, %acc[%r, %d] : memref<64x32xf32>
      } } }
      affine.for %r = 0 to 64 {
        %a = affine.load %mn[%r] : memref<64xf32>
        affine.store %a, %m[%r] : memref<64xf32>
      }
    }
    affine.for %r = 0 to 64 { affine.for %d = 0 to 32 {
      %a = affine.load %acc[%r, %d] : memref<64x32xf32>
      %b = affine.load %l[%r] : memref<64xf32>
      %n = arith.divf %a, %b : f32
      %x = arith.truncf %n : f32 to f16
      affine.store %x, %o[%h, %i * 64 + %r, %d] : memref<2x64x32xf16>
    } }
  }
  return
}
}
