// Slices: subgroups that share out k of a stage. Those but the first leave their sums in the scratchpad, over the ring, and the
// first one adds them and finishes the result.
//
// RUN: tw-opt %s -split-input-file -map-contractions -verify-diagnostics | FileCheck %s

// Two slices of 16 of the 32 of a stage, on a chip whose ring is larger than the sums: all units at once. What C held is added once.
//
// CHECK-LABEL: @two
// CHECK: tile.parallel {{.*}} to (8, 8) level "grid"
// CHECK: %[[A:.*]] = tile.alloc() {arrangement = {{.*}}} : memref<4x32x32xf16, "shared">
// CHECK: %[[B:.*]] = tile.alloc() {arrangement = {{.*}}} : memref<4x32x32xf16, "shared">
// CHECK: %[[X:.*]] = tile.alloc() {overlays} : memref<8x1x1x128xf32, "shared">
// CHECK: tile.parallel (%[[S:.*]], %[[M:.*]], %[[N:.*]]) to (2, 1, 1) level "block"
// CHECK: %[[LOOP:.*]]:14 = affine.for
// CHECK: tile.load %[[A]]{{\[}}{{.*}}, %[[M]] * 32, %[[S]] * 16]
// CHECK: tile.load %[[A]]{{\[}}{{.*}}, %[[M]] * 32 + 16, %[[S]] * 16]
// CHECK: tile.load %[[B]]{{\[}}{{.*}}, %[[S]] * 16, %[[N]] * 32]
// CHECK-COUNT-8: tile.mma
// CHECK-NOT: tile.mma
// CHECK: affine.yield
// CHECK: tile.wait
// CHECK: %[[OWN:.*]] = affine.apply #{{.*}}(%[[S]])
// CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[OWN]], %{{.*}} : index
// CHECK-NEXT: scf.if %[[OTHER]] {
// CHECK-NEXT: tile.store %[[LOOP]]#0, %[[X]][0, %[[S]] - 1, %[[M]] + %[[N]], 0]
// CHECK-COUNT-6: tile.store {{.*}}, %[[X]]
// CHECK-NEXT: tile.store %[[LOOP]]#7, %[[X]][7, %[[S]] - 1, %[[M]] + %[[N]], 0]
// CHECK-NEXT: }
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[OWN]], %{{.*}} : index
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: %[[SUM:.*]] = tile.load %[[X]][0, 0, %[[M]] + %[[N]], 0]
// CHECK-NEXT: %[[TOTAL:.*]] = tile.map(%[[P:.*]] = %[[SUM]], %[[Q:.*]] = %[[LOOP]]#0)
// CHECK-NEXT: arith.addf %[[P]], %[[Q]]
// CHECK: %[[C:.*]] = tile.load %arg2
// CHECK-NEXT: %[[RESULT:.*]] = tile.map(%{{.*}} = %[[C]], %{{.*}} = %[[TOTAL]])
// CHECK: tile.store %[[RESULT]], %arg2
// CHECK: tile.load %[[X]][1, 0, %[[M]] + %[[N]], 0]
// CHECK: tile.load %[[X]][7, 0, %[[M]] + %[[N]], 0]
// CHECK: tile.store {{.*}}, %arg2
// CHECK-NOT: scf.if
// CHECK: return
module attributes {tilewright.target = "nvidia:A100", tilewright.force = "subgroups_k=2,block_m=32,block_n=32,subgroups_m=1,subgroups_n=1,block_k=32"} {
func.func private @two(%A: memref<256x256xf16>, %B: memref<256x256xf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf16>
    %b = affine.load %B[%l, %j] : memref<256x256xf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}

// -----

// Four slices of one subgroup row each: the sums of three of them, of which the ring of 32 KiB holds one unit of two at a time.
//
// CHECK-LABEL: @rounds
// CHECK: %[[X:.*]] = tile.alloc() {overlays} : memref<1x3x2x1024xf32, "shared">
// CHECK: tile.parallel (%[[S:.*]], %[[M:.*]], %[[N:.*]]) to (4, 2, 1) level "block"
// CHECK: tile.load {{.*}} %[[S]] * 16]
// CHECK: scf.if
// CHECK-NEXT: tile.store %{{.*}}, %[[X]][0, %[[S]] - 1, %[[M]] + %[[N]], 0]
// CHECK-NEXT: }
// CHECK: scf.if
// CHECK: tile.load %[[X]][0, 0, %[[M]] + %[[N]], 0]
// CHECK: tile.load %[[X]][0, 1, %[[M]] + %[[N]], 0]
// CHECK: tile.load %[[X]][0, 2, %[[M]] + %[[N]], 0]
// CHECK-NOT: tile.load %[[X]]
// CHECK: }
// CHECK: scf.if
// CHECK-NEXT: tile.store %{{.*}}, %[[X]][0, %[[S]] - 1, %[[M]] + %[[N]], 0]
// CHECK: scf.if
// CHECK-COUNT-3: tile.load %[[X]]
// CHECK-NOT: scf.if
// CHECK: return
module attributes {tilewright.target = "amd:MI300X", tilewright.force = "subgroups_k=4,block_m=64,block_n=64,subgroups_m=2,subgroups_n=1,block_k=64"} {
func.func private @rounds(%A: memref<256x256xf16>, %B: memref<256x256xf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf16>
    %b = affine.load %B[%l, %j] : memref<256x256xf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}

// -----

// Floats that keep their order have no slices, nor units that add several products at once,
//
// CHECK-LABEL: @strict_floats
// CHECK-NOT: tile.mma
// CHECK: affine.for
module attributes {tilewright.target = "amd:MI300X", tilewright.fp = "strict", tilewright.force = "subgroups_k=2"} {
func.func private @strict_floats(%A: memref<256x256xf16>, %B: memref<256x256xf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{unit "amd.mfma_cdna3_16x16_f16_f32" adds several products at once, which --fp=strict forbids}}
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf16>
    %b = affine.load %B[%l, %j] : memref<256x256xf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}

// -----

// integers may have them.
//
// CHECK-LABEL: @strict_integers
// CHECK: tile.alloc() {overlays} : memref<{{.*}}xi32, "shared">
// CHECK: tile.parallel {{.*}} to (2, {{.*}}) level "block"
// CHECK: tile.mma
// CHECK: arith.addi
module attributes {tilewright.target = "amd:MI300X", tilewright.fp = "strict", tilewright.force = "subgroups_k=2"} {
func.func private @strict_integers(%A: memref<256x256xi8>, %B: memref<256x256xi8>, %C: memref<256x256xi32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xi8>
    %b = affine.load %B[%j, %l] : memref<256x256xi8>
    %c = affine.load %C[%i, %j] : memref<256x256xi32>
    %x = arith.extsi %a : i8 to i32
    %y = arith.extsi %b : i8 to i32
    %p = arith.muli %x, %y : i32
    %s = arith.addi %c, %p : i32
    affine.store %s, %C[%i, %j] : memref<256x256xi32>
  } } }
  return
}
}

// -----

// Units of one step of k have nothing to share out.
//
// CHECK-LABEL: @one_step
// CHECK-NOT: tile.mma
// CHECK: affine.for
module attributes {tilewright.target = "nvidia:A100", tilewright.force = "subgroups_k=2"} {
func.func private @one_step(%A: memref<256x256xf32>, %B: memref<256x256xf32>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{the forced plan (subgroups_k = 2) is none that units of the chip can take}}
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf32>
    %b = affine.load %B[%l, %j] : memref<256x256xf32>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}

// -----

// Nor do units of a group of subgroups share it out.
//
// CHECK-LABEL: @group
// CHECK-NOT: tile.mma
// CHECK: affine.for
module attributes {tilewright.target = "nvidia:H100", tilewright.force = "subgroups_k=2,group=4"} {
func.func private @group(%A: memref<256x256xf16>, %B: memref<256x256xf16>, %C: memref<256x256xf32>) attributes {tilewright.kernel} {
  // expected-remark@+1 {{the forced plan (subgroups_k = 2, group = 4) is none that units of the chip can take}}
  affine.for %i = 0 to 256 { affine.for %j = 0 to 256 { affine.for %l = 0 to 256 {
    %a = affine.load %A[%i, %l] : memref<256x256xf16>
    %b = affine.load %B[%l, %j] : memref<256x256xf16>
    %c = affine.load %C[%i, %j] : memref<256x256xf32>
    %x = arith.extf %a : f16 to f32
    %y = arith.extf %b : f16 to f32
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %c, %p : f32
    affine.store %s, %C[%i, %j] : memref<256x256xf32>
  } } }
  return
}
}
