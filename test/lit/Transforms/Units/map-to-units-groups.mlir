// RUN: tw-opt %s -split-input-file -map-to-units -cse | FileCheck %s
// RUN: sed -e s/chain_engine=0,chain_stages=3/chain_engine=1/ %s | tw-opt -split-input-file -map-to-units -cse \
// RUN:   | FileCheck %s --check-prefix=ENGINE

// Units of a group of subgroups: one member has 64 rows, queries and weights are operands in registers, keys and values lie in lines
// that the unit reads itself. The sums of one unit are two operands of the next.
// With an engine of boxes a step copies what it reads; what copies runs ahead by itself.
// ENGINE-LABEL: func.func private @rows
// ENGINE: %[[K:.*]] = tile.alloc() {{.*}} : memref<4x32x32xf16, "shared">
// ENGINE: affine.for %[[J:.*]] = 0 to 2
// ENGINE: %[[A:.*]] = tile.copy %arg1[{{.*}}] {{.*}} to %[[K]][%[[J]] mod 4, 0, 0] {{.*}} {engine = "TmaLoad"}
// ENGINE: %[[B:.*]] = tile.copy %arg2[{{.*}}] {{.*}} {engine = "TmaLoad"}
// ENGINE: tile.wait %[[A]], %[[B]]
// ENGINE: tile.load %[[K]][%[[J]] mod 4, 0, 0]
// CHECK-LABEL: func.func private @rows
// CHECK: %[[K:.*]] = tile.alloc() {{{.*}}arrangement = #tile.arrangement<swizzleBits = 2, swizzleBase = 4, swizzleShift = 3>} : memref<3x32x32xf16, "shared">
// CHECK: %[[V:.*]] = tile.alloc() {{.*}} : memref<3x1x32x32xf16, "shared">
// CHECK: tile.parallel (%{{.*}}) to (1) level "block"
// CHECK: %[[Q:.*]] = tile.load %arg0{{.*}} -> !tile.fragment<64x16xf16
// CHECK: affine.for
// CHECK: tile.wait
// CHECK: %[[B:.*]] = tile.load %[[K]]{{.*}} -> !tile.fragment<16x32xf16
// CHECK: tile.mma %[[Q]], %[[B]], %{{.*}} {unit = "nvidia.wgmma_m64n32k16_f16_f32_a"}
// CHECK: tile.reduce %{{.*}} dimension 1 : <64x32xf32, #{{.*}}> -> <64x1xf32
// CHECK: %[[P:.*]] = tile.convert %{{.*}} : <64x32xf16
// CHECK: %[[PARTS:.*]]:2 = tile.split %[[P]]
// CHECK: tile.load %[[V]]
// CHECK: tile.mma %[[PARTS]]#0, %{{.*}} {unit = "nvidia.wgmma_m64n32k16_f16_f32_a"}
// CHECK: tile.mma %[[PARTS]]#1
module attributes {tilewright.target = "nvidia:H200", tilewright.force = "chain_engine=0,chain_stages=3"} {
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

// -----

// Rows that move with the steps are read in the scratchpad, too.
// CHECK-LABEL: func.func private @gate
// CHECK: %[[G:.*]] = tile.alloc() {{.*}} : memref<3x1x32x32xf16, "shared">
// CHECK: %[[X:.*]] = tile.alloc() {{.*}} : memref<3x64x32xf16, "shared">
// CHECK: affine.for %[[T:.*]] = 0 to 2 iter_args
// CHECK: %[[A:.*]] = tile.load %[[X]][%[[T]] mod 3, %{{.*}} * 64, 0]
// CHECK: %[[B:.*]] = tile.load %[[G]]
// CHECK: tile.mma %[[A]], %[[B]], %{{.*}} {unit = "nvidia.wgmma_m64n32k16_f16_f32"}
module attributes {tilewright.target = "nvidia:H200"} {
func.func private @gate(%x: memref<64x64xf16>, %g: memref<64x128xf16>, %u: memref<64x128xf16>, %b: memref<64x64xf16>, %o: memref<64x128xf16>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%i, %n) to (1, 4) level "grid" attributes {schedule = #tile.schedule<level = "grid", members = 4, loops = [<loop = 0, tile = 64, spread = true>, <loop = 1, tile = 32, spread = true>]>} {
    %sg = memref.alloc() : memref<64x32xf32>
    %su = memref.alloc() : memref<64x32xf32>
    %l = memref.alloc() : memref<64xf32>
    affine.for %r = 0 to 64 { affine.store %zero, %l[%r] : memref<64xf32> }
    affine.for %r = 0 to 64 { affine.for %d = 0 to 32 { affine.store %zero, %sg[%r, %d] : memref<64x32xf32> } }
    affine.for %r = 0 to 64 { affine.for %d = 0 to 32 { affine.store %zero, %su[%r, %d] : memref<64x32xf32> } }
    affine.for %t = 0 to 2 {
      affine.for %r = 0 to 64 { affine.for %k = 0 to 32 {
        %a = affine.load %b[%i * 64 + %r, %t * 32 + %k] : memref<64x64xf16>
        %s = affine.load %l[%r] : memref<64xf32>
        %e = arith.extf %a : f16 to f32
        %m = arith.mulf %e, %e : f32
        %c = arith.addf %s, %m : f32
        affine.store %c, %l[%r] : memref<64xf32>
      } }
      affine.for %r = 0 to 64 { affine.for %c = 0 to 32 { affine.for %k = 0 to 32 {
        %a = affine.load %x[%i * 64 + %r, %t * 32 + %k] : memref<64x64xf16>
        %w = affine.load %g[%t * 32 + %k, %n * 32 + %c] : memref<64x128xf16>
        %s = affine.load %sg[%r, %c] : memref<64x32xf32>
        %ae = arith.extf %a : f16 to f32
        %we = arith.extf %w : f16 to f32
        %m = arith.mulf %ae, %we : f32
        %p = arith.addf %s, %m : f32
        affine.store %p, %sg[%r, %c] : memref<64x32xf32>
      } } }
      affine.for %r = 0 to 64 { affine.for %c = 0 to 32 { affine.for %k = 0 to 32 {
        %a = affine.load %x[%i * 64 + %r, %t * 32 + %k] : memref<64x64xf16>
        %w = affine.load %u[%t * 32 + %k, %n * 32 + %c] : memref<64x128xf16>
        %s = affine.load %su[%r, %c] : memref<64x32xf32>
        %ae = arith.extf %a : f16 to f32
        %we = arith.extf %w : f16 to f32
        %m = arith.mulf %ae, %we : f32
        %p = arith.addf %s, %m : f32
        affine.store %p, %su[%r, %c] : memref<64x32xf32>
      } } }
    } {tile.at = -2 : i64}
    affine.for %r = 0 to 64 { affine.for %c = 0 to 32 {
      %a = affine.load %sg[%r, %c] : memref<64x32xf32>
      %b2 = affine.load %su[%r, %c] : memref<64x32xf32>
      %s = affine.load %l[%r] : memref<64xf32>
      %m = arith.mulf %a, %b2 : f32
      %d = arith.divf %m, %s : f32
      %h = arith.truncf %d : f32 to f16
      affine.store %h, %o[%i * 64 + %r, %n * 32 + %c] : memref<64x128xf16>
    } }
  }
  return
}
}

// -----

// Of 16 rows a unit of one subgroup computes no others.
// CHECK-LABEL: func.func private @few_rows
// CHECK: tile.mma {{.*}} {unit = "nvidia.mma_m16n8k16_f16_f32"}
// CHECK-NOT: wgmma
module attributes {tilewright.target = "nvidia:H200"} {
func.func private @few_rows(%q: memref<2x16x32xf16>, %k: memref<2x64x32xf16>, %v: memref<2x64x32xf16>, %o: memref<2x16x32xf16>) attributes {tilewright.kernel} {
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  tile.parallel (%h, %i) to (2, 1) level "grid" attributes {schedule = #tile.schedule<level = "grid", members = 2, loops = [<loop = 0, tile = 1, spread = true>]>} {
    %m = memref.alloc() : memref<16xf32>
    %l = memref.alloc() : memref<16xf32>
    %acc = memref.alloc() : memref<16x32xf32>
    affine.for %r = 0 to 16 { affine.store %ninf, %m[%r] : memref<16xf32> }
    affine.for %r = 0 to 16 { affine.store %zero, %l[%r] : memref<16xf32> }
    affine.for %r = 0 to 16 { affine.for %d = 0 to 32 { affine.store %zero, %acc[%r, %d] : memref<16x32xf32> } }
    affine.for %j = 0 to 2 {
      %s = memref.alloc() : memref<16x32xf32>
      %p = memref.alloc() : memref<16x32xf32>
      %ph = memref.alloc() : memref<16x32xf16>
      %mn = memref.alloc() : memref<16xf32>
      %c = memref.alloc() : memref<16xf32>
      affine.for %r = 0 to 16 { affine.for %x = 0 to 32 { affine.store %zero, %s[%r, %x] : memref<16x32xf32> } }
      affine.for %r = 0 to 16 { affine.for %x = 0 to 32 { affine.for %d = 0 to 32 {
        %a = affine.load %q[%h, %i * 16 + %r, %d] : memref<2x16x32xf16>
        %b = affine.load %k[%h, %j * 32 + %x, %d] : memref<2x64x32xf16>
        %cc = affine.load %s[%r, %x] : memref<16x32xf32>
        %ae = arith.extf %a : f16 to f32
        %be = arith.extf %b : f16 to f32
        %ab = arith.mulf %ae, %be : f32
        %n = arith.addf %cc, %ab : f32
        affine.store %n, %s[%r, %x] : memref<16x32xf32>
      } } }
      affine.for %r = 0 to 16 { affine.for %x = 0 to 32 {
        %a = affine.load %s[%r, %x] : memref<16x32xf32>
        %b = arith.mulf %a, %scale : f32
        affine.store %b, %s[%r, %x] : memref<16x32xf32>
      } }
      affine.for %r = 0 to 16 {
        %a = affine.load %m[%r] : memref<16xf32>
        affine.store %a, %mn[%r] : memref<16xf32>
      }
      affine.for %r = 0 to 16 { affine.for %x = 0 to 32 {
        %a = affine.load %s[%r, %x] : memref<16x32xf32>
        %b = affine.load %mn[%r] : memref<16xf32>
        %n = arith.maximumf %a, %b : f32
        affine.store %n, %mn[%r] : memref<16xf32>
      } }
      affine.for %r = 0 to 16 { affine.for %x = 0 to 32 {
        %a = affine.load %s[%r, %x] : memref<16x32xf32>
        %b = affine.load %mn[%r] : memref<16xf32>
        %n = arith.subf %a, %b : f32
        %e = math.exp %n : f32
        affine.store %e, %p[%r, %x] : memref<16x32xf32>
      } }
      affine.for %r = 0 to 16 {
        %a = affine.load %m[%r] : memref<16xf32>
        %b = affine.load %mn[%r] : memref<16xf32>
        %n = arith.subf %a, %b : f32
        %e = math.exp %n : f32
        affine.store %e, %c[%r] : memref<16xf32>
      }
      affine.for %r = 0 to 16 {
        %a = affine.load %l[%r] : memref<16xf32>
        %b = affine.load %c[%r] : memref<16xf32>
        %n = arith.mulf %a, %b : f32
        affine.store %n, %l[%r] : memref<16xf32>
      }
      affine.for %r = 0 to 16 { affine.for %x = 0 to 32 {
        %a = affine.load %p[%r, %x] : memref<16x32xf32>
        %b = affine.load %l[%r] : memref<16xf32>
        %n = arith.addf %a, %b : f32
        affine.store %n, %l[%r] : memref<16xf32>
      } }
      affine.for %r = 0 to 16 { affine.for %x = 0 to 32 {
        %a = affine.load %p[%r, %x] : memref<16x32xf32>
        %n = arith.truncf %a : f32 to f16
        affine.store %n, %ph[%r, %x] : memref<16x32xf16>
      } }
      affine.for %r = 0 to 16 { affine.for %d = 0 to 32 {
        %a = affine.load %acc[%r, %d] : memref<16x32xf32>
        %b = affine.load %c[%r] : memref<16xf32>
        %n = arith.mulf %a, %b : f32
        affine.store %n, %acc[%r, %d] : memref<16x32xf32>
      } }
      affine.for %r = 0 to 16 { affine.for %d = 0 to 32 { affine.for %x = 0 to 32 {
        %a = affine.load %ph[%r, %x] : memref<16x32xf16>
        %b = affine.load %v[%h, %j * 32 + %x, %d] : memref<2x64x32xf16>
        %cc = affine.load %acc[%r, %d] : memref<16x32xf32>
        %ae = arith.extf %a : f16 to f32
        %be = arith.extf %b : f16 to f32
        %ab = arith.mulf %ae, %be : f32
        %n = arith.addf %cc, %ab : f32
        affine.store %n, %acc[%r, %d] : memref<16x32xf32>
      } } }
      affine.for %r = 0 to 16 {
        %a = affine.load %mn[%r] : memref<16xf32>
        affine.store %a, %m[%r] : memref<16xf32>
      }
    }
    affine.for %r = 0 to 16 { affine.for %d = 0 to 32 {
      %a = affine.load %acc[%r, %d] : memref<16x32xf32>
      %b = affine.load %l[%r] : memref<16xf32>
      %n = arith.divf %a, %b : f32
      %x = arith.truncf %n : f32 to f16
      affine.store %x, %o[%h, %i * 16 + %r, %d] : memref<2x16x32xf16>
    } }
  }
  return
}
}
