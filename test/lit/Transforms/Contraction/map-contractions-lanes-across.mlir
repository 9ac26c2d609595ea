// Rings that lanes fill, of a known size of k: the loop carries the fragments of a step's last k over the meeting, and multiplies
// them behind the loads of the next step's first ones. Lanes write what they copied beside the last products of a step, with one
// wait for it and for fragments. Of an unknown size each step begins with its own fragments.
//
// RUN: tw-opt %s -split-input-file -map-contractions | FileCheck %s

// CHECK-LABEL: @known
// CHECK: %[[LOOP:.*]]:24 = affine.for {{.*}} = 0 to 15 iter_args(%[[SUM:[a-z0-9]+]] =
// CHECK: %[[COPY:.*]] = tile.copy %arg0
// CHECK: tile.load
// CHECK: tile.mma {{.*}}, %[[SUM]] {behind_loads
// CHECK: tile.wait %[[COPY]], %{{.*}} {arrived}
// CHECK-NOT: arrived
// CHECK: tile.load {{.*}}, 24]
// CHECK-NOT: behind_loads
// CHECK: tile.mma
// CHECK: tile.copy %arg0
// CHECK: affine.yield
// CHECK: tile.mma %[[LOOP]]#16, %[[LOOP]]#20, %[[LOOP]]#0 {behind_loads
module attributes {tilewright.target = "amd:MI300X", tilewright.force = "block_m=256,block_n=256"} {
func.func private @known(%A: memref<1024x1024xf16>, %B: memref<1024x1024xf16>, %C: memref<1024x1024xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 1024 { affine.for %j = 0 to 1024 { affine.for %l = 0 to 1024 {
    %a = affine.load %A[%i, %l] : memref<1024x1024xf16>
    %b = affine.load %B[%l, %j] : memref<1024x1024xf16>
    %c = affine.load %C[%i, %j] : memref<1024x1024xf32>
    %d = arith.extf %a : f16 to f32
    %e = arith.extf %b : f16 to f32
    %p = arith.mulf %d, %e : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<1024x1024xf32>
  } } }
  return
}
}

// -----

// CHECK-LABEL: @unknown
// CHECK: affine.for {{.*}} iter_args(%[[SUM:[a-z0-9]+]] =
// CHECK: tile.copy
// CHECK: tile.load
// CHECK: tile.mma {{.*}}, %[[SUM]] {
// CHECK: tile.mma {{.*}} {arrived
// CHECK: tile.wait %{{.*}}, %{{[a-z0-9]+$}}
// CHECK-NEXT: affine.yield
module attributes {tilewright.target = "amd:MI300X", tilewright.force = "block_m=128,block_n=128"} {
func.func private @unknown(%A: memref<1024x?xf16>, %B: memref<?x1024xf16>, %C: memref<1024x1024xf32>, %k: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to 1024 { affine.for %j = 0 to 1024 { affine.for %l = 0 to %k {
    %a = affine.load %A[%i, %l] : memref<1024x?xf16>
    %b = affine.load %B[%l, %j] : memref<?x1024xf16>
    %c = affine.load %C[%i, %j] : memref<1024x1024xf32>
    %d = arith.extf %a : f16 to f32
    %e = arith.extf %b : f16 to f32
    %p = arith.mulf %d, %e : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<1024x1024xf32>
  } } }
  return
}
}

// -----

// An engine of subgroups copies past the registers: all stages but one are under way, tokens travel through the loop, and each
// step waits for the oldest ones. So long a ring is taken where a step is shorter than the latency of memory.
//
// CHECK-LABEL: @ahead
// CHECK-COUNT-2: tile.alloc() {{.*}} : memref<4x16x64xf16, "shared">
// CHECK-COUNT-6: tile.copy {{.*}} {direct}
// CHECK: tile.wait
// CHECK: tile.copy
// CHECK: tile.wait
// CHECK: affine.for {{.*}} iter_args({{.*}}, %[[TA:[a-z0-9]+]] = {{[^,]*}}, %[[TB:[a-z0-9]+]] = {{[^,]*}}, %[[UA:[a-z0-9]+]] = {{[^,]*}}, %[[UB:[a-z0-9]+]] = {{[^,]*}}) -> {{.*}}!tile.token, !tile.token, !tile.token, !tile.token)
// CHECK: %[[NA:.*]] = tile.copy
// CHECK: tile.mma
// CHECK: tile.wait %[[TA]], %[[TB]]
// CHECK: tile.copy
// CHECK: tile.wait %[[UA]], %[[UB]]
// CHECK: tile.wait %[[NA]]
// CHECK: affine.yield
// CHECK-NOT: tile.copy
module attributes {tilewright.target = "amd:MI350", tilewright.force = "block_m=16,block_n=16,block_k=64"} {
func.func private @ahead(%A: memref<256x1024xf16>, %B: memref<256x1024xf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 1024 {
    %a = affine.load %A[%i, %l] : memref<256x1024xf16>
    %b = affine.load %B[%j, %l] : memref<256x1024xf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %d = arith.extf %a : f16 to f32
    %e = arith.extf %b : f16 to f32
    %p = arith.mulf %d, %e : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}
