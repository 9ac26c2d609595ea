// RUN: tw-opt %s -map-to-units -cse | FileCheck %s

// Two products of one operand whose rows move with the steps: their rows are copied once for both, ahead of their step. What the sum
// of squares reads is loaded one step ahead, in the layout of sums.
// CHECK-LABEL: func.func private @gate
// CHECK: %[[G:.*]] = tile.alloc() {{.*}} : memref<3x32x32xf16, "shared">
// CHECK: %[[X:.*]] = tile.alloc() {{.*}} : memref<3x64x32xf16, "shared">
// CHECK: %[[U:.*]] = tile.alloc() {{.*}} : memref<3x32x32xf16, "shared">
// CHECK-NOT: tile.alloc
// CHECK: tile.parallel (%[[W:.*]]) to (4) level "block"
// CHECK-COUNT-4: tile.load %arg3{{.*}} -> !tile.fragment<16x8xf16
// CHECK: affine.for %[[T:.*]] = 0 to 2 iter_args
// CHECK: tile.wait
// CHECK-DAG: tile.copy %arg1{{.*}} to %[[G]]
// CHECK-DAG: tile.copy %arg0{{.*}} to %[[X]]
// CHECK-DAG: tile.copy %arg2{{.*}} to %[[U]]
// CHECK: %[[NEXT:.*]] = affine.min
// CHECK-COUNT-4: tile.load %arg3[%[[W]] * 16 + symbol(%{{.*}}) * 64, %[[NEXT]] * 32{{.*}} -> !tile.fragment<16x8xf16
// CHECK-NOT: tile.load %arg3
// CHECK: %[[A:.*]] = tile.load %[[X]][%[[T]] mod 3, %[[W]] * 16, 0]
// CHECK: tile.load %[[G]]
// CHECK: tile.mma %[[A]]
// CHECK: tile.load %[[X]]
// CHECK: tile.load %[[U]]
// CHECK: affine.yield
// CHECK: tile.store
module attributes {tilewright.target = "nvidia:A100"} {
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
