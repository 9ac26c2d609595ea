// RUN: tw-opt %s | tw-opt | FileCheck %s
// RUN: tw-opt %s -mlir-print-op-generic | tw-opt | FileCheck %s

#one = #tile.layout<>
#row16 = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8]>
#col4 = #tile.layout<elements = [1, 0, 2, 0]>
#lanes = #tile.layout<lanes = [0, 2, 1, 0], elements = [0, 1], repeats = [3, 0, 4]>
!a = !tile.fragment<1x1xf32, #one>
!c = !tile.fragment<1x16xf32, #row16>

// CHECK-DAG: #[[ONE:.*]] = #tile.layout<>
// CHECK-DAG: #[[ROW:.*]] = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8]>
// CHECK-DAG: #[[LANES:.*]] = #tile.layout<lanes = [0, 2, 1, 0], elements = [0, 1], repeats = [3, 0, 4]>

// CHECK-LABEL: @micro
func.func @micro(%A: memref<64x64xf32>, %B: memref<64x?xf32>, %C: memref<64x?xf32>, %bias: memref<?xf32>, %i: index, %n: index) {
  // CHECK: tile.zero : <1x16xf32, #[[ROW]]>
  %zero = tile.zero : !c
  %r = affine.for %k = 0 to 64 iter_args(%acc = %zero) -> (!c) {
    // CHECK: tile.load %{{.*}}[%{{.*}} + 3, %{{.*}}] elements #{{.*}} : memref<64x64xf32> -> !tile.fragment<1x1xf32, #[[ONE]]>
    %a = tile.load %A[%i + 3, %k] elements affine_map<(r, c) -> (r, c)> : memref<64x64xf32> -> !a
    // CHECK: tile.load %{{.*}}[%{{.*}}, 0] elements #{{.*}} valid(1, %{{.*}} - 16) : memref<64x?xf32> -> !tile.fragment<1x16xf32, #[[ROW]]>
    %b = tile.load %B[%k, 0] elements affine_map<(r, c) -> (r, c)> valid(1, %n - 16) : memref<64x?xf32> -> !c
    // CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} {unit = "acme.fma_f32"} : <1x1xf32, #[[ONE]]>, <1x16xf32, #[[ROW]]>, <1x16xf32, #[[ROW]]>
    %d = tile.mma %a, %b, %acc {unit = "acme.fma_f32"} : !a, !c, !c
    affine.yield %d : !c
  }
  %v = tile.load %bias[0] elements affine_map<(r, c) -> (c)> : memref<?xf32> -> !c
  // CHECK: %[[MAP:.*]] = tile.map(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}) : (!tile.fragment<1x16xf32, #[[ROW]]>, !tile.fragment<1x16xf32, #[[ROW]]>) -> !tile.fragment<1x16xf32, #[[ROW]]> {
  // CHECK-NEXT: arith.addf %[[X]], %[[Y]] : f32
  // CHECK-NEXT: tile.yield
  %s = tile.map(%x = %r, %y = %v) : (!c, !c) -> !c {
    %t = arith.addf %x, %y : f32
    tile.yield %t : f32
  }
  // CHECK: tile.store %[[MAP]], %{{.*}}[%{{.*}}, 0] elements #{{.*}} valid(1, %{{.*}}) nontemporal : !tile.fragment<1x16xf32, #[[ROW]]>, memref<64x?xf32>
  tile.store %s, %C[%i, 0] elements affine_map<(r, c) -> (r, c)> valid(1, %n) nontemporal : !c, memref<64x?xf32>
  // CHECK: tile.reduce %[[MAP]] dimension 1 : <1x16xf32, #[[ROW]]> -> <1x1xf32, #[[ONE]]> {
  %m = tile.reduce %s dimension 1 : !c -> !a {
  ^bb0(%x: f32, %y: f32):
    %t = arith.maximumf %x, %y : f32
    tile.yield %t : f32
  }
  return
}

// CHECK-LABEL: @values
func.func @values(%s: f32, %x: !a) -> !c {
  // CHECK: tile.index 1 : <1x16xi32, #[[ROW]]>
  %i = tile.index 1 : !tile.fragment<1x16xi32, #row16>
  // CHECK: tile.broadcast %{{.*}} : f32 -> <1x16xf32, #[[ROW]]>
  %b = tile.broadcast %s : f32 -> !c
  // CHECK: tile.broadcast %{{.*}} : !tile.fragment<1x1xf32, #[[ONE]]> -> <1x16xf32, #[[ROW]]>
  %d = tile.broadcast %x : !a -> !c
  // CHECK: tile.join %{{.*}}, %{{.*}} : !tile.fragment<1x16xf32, #[[ROW]]>, !tile.fragment<1x16xf32, #[[ROW]]> -> <1x32xf32, #{{.*}}>
  %joined = tile.join %d, %d : !c, !c -> !tile.fragment<1x32xf32, #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16]>>
  // CHECK: tile.transpose %{{.*}}, %{{.*}} : !tile.fragment<1x1xf32, #[[ONE]]>, !tile.fragment<1x1xf32, #[[ONE]]> -> !tile.fragment<2x1xf32, #{{.*}}>
  %column = tile.transpose %x, %x : !a, !a -> !tile.fragment<2x1xf32, #tile.layout<elements = [1, 0]>>
  // CHECK: tile.convert %{{.*}} : <1x16xf32, #[[ROW]]> -> <1x16xf32, #{{.*}}>
  %e = tile.convert %d : !c -> !tile.fragment<1x16xf32, #tile.layout<repeats = [16, 0, 1]>>
  return %b : !c
}

// CHECK-LABEL: @buffers
func.func @buffers(%B: memref<?x?xbf16>, %n: index, %zero: bf16) {
  // CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) to (symbol(%{{.*}}) ceildiv 64, 4) level "core" {
  // CHECK-NOT: tile.yield
  tile.parallel (%i, %j) to (symbol(%n) ceildiv 64, 4) level "core" {
    // CHECK: tile.alloc() {arrangement = #tile.arrangement<padding = 8, groups = 2>} : memref<32x16x2xbf16>
    %p = tile.alloc() {arrangement = #tile.arrangement<padding = 8, groups = 2>} : memref<32x16x2xbf16>
    // CHECK: tile.alloc() {overlays} : memref<4x8xf32, "shared">
    %over = tile.alloc() {overlays} : memref<4x8xf32, "shared">
    // CHECK: tile.alloc() {arrangement = #tile.arrangement<padding = 4>, overlays} : memref<4x8xf32, "shared">
    %both = tile.alloc() {overlays, arrangement = #tile.arrangement<padding = 4>} : memref<4x8xf32, "shared">
    // CHECK: tile.alloc(%{{.*}}) {overlays} : memref<?x8xf32>
    %sized = tile.alloc(%n) {overlays} : memref<?x8xf32>
    // CHECK: tile.fill %{{.*}}, %{{.*}} : memref<32x16x2xbf16>, bf16
    tile.fill %p, %zero : memref<32x16x2xbf16>, bf16
    // CHECK: %[[T:.*]] = tile.copy %{{.*}}[%[[I]] * 64, %[[J]] * 16] elements #{{.*}} to %{{.*}}[0, 0, 0] elements #{{.*}} shape [64, 16] valid(%{{.*}} - %{{.*}} * 64, 16) : memref<?x?xbf16>, memref<32x16x2xbf16>
    %t = tile.copy %B[%i * 64, %j * 16] elements affine_map<(p, q) -> (p, q)>
           to %p[0, 0, 0] elements affine_map<(p, q) -> (p floordiv 2, q, p mod 2)>
           shape [64, 16] valid(%n - %i * 64, 16) : memref<?x?xbf16>, memref<32x16x2xbf16>
    // CHECK: tile.wait %[[T]]
    tile.wait %t
  }
  return
}

// CHECK-LABEL: @lanes
// CHECK-SAME: !tile.fragment<2x12xf16, #[[LANES]]>
func.func private @lanes(!tile.fragment<2x12xf16, #lanes>)

// CHECK-LABEL: @engines
func.func @engines(%a: memref<2x64x32xi8, "scratchpad">, %b: memref<2x32x64xi8, "scratchpad">,
                   %c: memref<64x64xi32, "accumulator">, %out: memref<?x64xi32>, %s: index, %n: index, %more: i1) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[NONE:.*]] = tile.done
  %none = tile.done
  // CHECK: %[[U:.*]] = tile.multiply %{{.*}}[%[[S:.*]], %[[C0:.*]], %[[C0]]], %{{.*}}[%[[S]], %[[C0]], %[[C0]]] to %{{.*}}[%[[C0]], %[[C0]]] accumulate %{{.*}} shape [64, 64, 32] {unit = "acme.array"} : memref<2x64x32xi8, "scratchpad">, memref<2x32x64xi8, "scratchpad">, memref<64x64xi32, "accumulator">
  %u = tile.multiply %a[%s, %c0, %c0], %b[%s, %c0, %c0] to %c[%c0, %c0] accumulate %more shape [64, 64, 32]
         {unit = "acme.array"} : memref<2x64x32xi8, "scratchpad">, memref<2x32x64xi8, "scratchpad">, memref<64x64xi32, "accumulator">
  // CHECK: %[[V:.*]] = tile.multiply {{.*}} shape [64, 64, 32] valid[%{{.*}}, %{{.*}}, %[[C0]]] {unit = "acme.array"}
  %w = tile.multiply %a[%s, %c0, %c0], %b[%s, %c0, %c0] to %c[%c0, %c0] accumulate %more shape [64, 64, 32] valid[%n, %s, %c0]
         {unit = "acme.array"} : memref<2x64x32xi8, "scratchpad">, memref<2x32x64xi8, "scratchpad">, memref<64x64xi32, "accumulator">
  // CHECK: tile.wait %[[NONE]], %[[U]], %[[V]]
  tile.wait %none, %u, %w
  // CHECK: tile.copy {{.*}} shape [64, 64] valid(%{{.*}}, 64) {clipped} : memref<64x64xi32, "accumulator">, memref<?x64xi32>
  %t = tile.copy %c[0, 0] elements affine_map<(p, q) -> (p, q)> to %out[%s, 0] elements affine_map<(p, q) -> (p, q)>
         shape [64, 64] valid(%n, 64) {clipped} : memref<64x64xi32, "accumulator">, memref<?x64xi32>
  // CHECK: tile.copy {{.*}} shape [32] {bounded = array<i64: 0, 1>} : memref<64x64xi32, "accumulator">, memref<?x64xi32>
  %v = tile.copy %c[%n - 1, %n - 1] elements affine_map<(p) -> (0, p)> to %out[%s, 0] elements affine_map<(p) -> (0, p)>
         shape [32] {bounded = array<i64: 0, 1>} : memref<64x64xi32, "accumulator">, memref<?x64xi32>
  // CHECK: tile.copy {{.*}} shape [64, 64] valid(%{{.*}}, 64) {padTo = array<i64: 32, 1>} : memref<?x64xi32>, memref<64x64xi32, "accumulator">
  %x = tile.copy %out[%s, 0] elements affine_map<(p, q) -> (p, q)> to %c[0, 0] elements affine_map<(p, q) -> (p, q)>
         shape [64, 64] valid(%n, 64) {padTo = array<i64: 32, 1>} : memref<?x64xi32>, memref<64x64xi32, "accumulator">
  tile.wait %t, %v, %x
  return
}

// CHECK-LABEL: @sizes
func.func @sizes(%n: index, %given: index) {
  // CHECK: tile.require_size %{{.*}}, %{{.*}} output 1 dimension 2
  tile.require_size %n, %given output 1 dimension 2
  return
}

// A unit that takes one scale for two elements along k.
// CHECK-LABEL: @scaled
// CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} scales(%{{.*}}, %{{.*}}) {unit = "acme.mx"} : <1x4xf8E4M3FN, #{{.*}}>, <4x1xf8E4M3FN, #{{.*}}>, <1x1xf32, #{{.*}}> scales(!tile.fragment<1x2xf8E8M0FNU, #{{.*}}>, !tile.fragment<2x1xf8E8M0FNU, #{{.*}}>)
func.func @scaled(%a: !tile.fragment<1x4xf8E4M3FN, #tile.layout<elements = [0, 1, 0, 2]>>, %b: !tile.fragment<4x1xf8E4M3FN, #col4>,
                  %c: !a, %s: !tile.fragment<1x2xf8E8M0FNU, #tile.layout<elements = [0, 1]>>,
                  %t: !tile.fragment<2x1xf8E8M0FNU, #tile.layout<elements = [1, 0]>>) -> !a {
  %d = tile.mma %a, %b, %c scales(%s, %t) {unit = "acme.mx"}
    : !tile.fragment<1x4xf8E4M3FN, #tile.layout<elements = [0, 1, 0, 2]>>, !tile.fragment<4x1xf8E4M3FN, #col4>, !a
      scales(!tile.fragment<1x2xf8E8M0FNU, #tile.layout<elements = [0, 1]>>,
             !tile.fragment<2x1xf8E8M0FNU, #tile.layout<elements = [1, 0]>>)
  return %d : !a
}

// A unit whose a keeps two of four elements along k.
// CHECK-LABEL: @sparse
// CHECK: tile.mma %{{.*}}, %{{.*}}, %{{.*}} index(%{{.*}}) {unit = "acme.sparse"} : <1x2xf16, #{{.*}}>, <4x1xf16, #{{.*}}>, <1x1xf32, #{{.*}}> index(!tile.fragment<1x2xi8, #{{.*}}>)
func.func @sparse(%a: !tile.fragment<1x2xf16, #tile.layout<elements = [0, 1]>>, %b: !tile.fragment<4x1xf16, #col4>, %c: !a,
                  %p: !tile.fragment<1x2xi8, #tile.layout<elements = [0, 1]>>) -> !a {
  %d = tile.mma %a, %b, %c index(%p) {unit = "acme.sparse"}
    : !tile.fragment<1x2xf16, #tile.layout<elements = [0, 1]>>, !tile.fragment<4x1xf16, #col4>, !a
      index(!tile.fragment<1x2xi8, #tile.layout<elements = [0, 1]>>)
  return %d : !a
}
