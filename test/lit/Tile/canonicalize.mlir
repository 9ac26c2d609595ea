// RUN: tw-opt %s -canonicalize | FileCheck %s

#one = #tile.layout<>
#row4 = #tile.layout<elements = [0, 1, 0, 2]>
#rows = #tile.layout<elements = [0, 1, 1, 0]>
#cols = #tile.layout<elements = [1, 0, 0, 1]>
!one = !tile.fragment<1x1xf32, #one>
!row = !tile.fragment<1x4xf32, #row4>
!a = !tile.fragment<2x2xf32, #rows>
!b = !tile.fragment<2x2xf32, #cols>

// affine.apply and constants go into the maps; a `valid` that covers the fragment is dropped.
// CHECK-LABEL: @maps
// CHECK-SAME: %[[M:.*]]: memref<8x8xf32>, %[[I:.*]]: index
// CHECK-NEXT: tile.load %[[M]][symbol(%[[I]]) + 5, 3] elements #{{.*}} : memref<8x8xf32>
// CHECK-NEXT: tile.load %[[M]][symbol(%[[I]]) + 5, 3] elements #{{.*}} valid(1, 3) : memref<8x8xf32>
func.func @maps(%m: memref<8x8xf32>, %i: index) -> (!row, !row) {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %j = affine.apply affine_map<(d0) -> (d0 + 4)>(%i)
  %x = tile.load %m[%j + 1, %c3] elements affine_map<(r, c) -> (r, c)> valid(1, %c4) : memref<8x8xf32> -> !row
  %y = tile.load %m[%j + 1, %c3] elements affine_map<(r, c) -> (r, c)> valid(1, %c3) : memref<8x8xf32> -> !row
  return %x, %y : !row, !row
}

// A load of what was just stored is the stored fragment; another store in between could have changed it.
// CHECK-LABEL: @forward
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tile.fragment
// CHECK: tile.store
// CHECK-NEXT: tile.store
// CHECK-NEXT: %[[Y:.*]] = tile.load
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @forward(%x: !row, %m: memref<8x8xf32>, %o: memref<8x8xf32>) -> (!row, !row) {
  tile.store %x, %m[0, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<8x8xf32>
  %f = tile.load %m[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<8x8xf32> -> !row
  tile.store %x, %o[0, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<8x8xf32>
  %g = tile.load %m[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<8x8xf32> -> !row
  return %f, %g : !row, !row
}

// CHECK-LABEL: @convert
// CHECK-SAME: %[[X:.*]]: !tile.fragment
// CHECK-NEXT: %[[Z:.*]] = tile.zero : <2x2xf32, #[[COLS:.*]]>
// CHECK-NEXT: return %[[X]], %[[Z]]
func.func @convert(%x: !a) -> (!a, !b) {
  %y = tile.convert %x : !a -> !b
  %z = tile.convert %y : !b -> !a
  %zero = tile.zero : !a
  %w = tile.convert %zero : !a -> !b
  return %z, %w : !a, !b
}

// A product of two zeros is nothing; one float zero may meet an infinity.
// CHECK-LABEL: @mma
// CHECK-SAME: %[[B:[a-z0-9]+]]: !tile.fragment{{.*}}, %[[C:[a-z0-9]+]]: !tile.fragment
// CHECK: %[[D:.*]] = tile.mma
// CHECK-NEXT: return %[[C]], %[[D]]
func.func @mma(%b: !row, %c: !row) -> (!row, !row) {
  %z = tile.zero : !one
  %zb = tile.zero : !row
  %x = tile.mma %z, %zb, %c {unit = "acme.fma"} : !one, !row, !row
  %y = tile.mma %z, %b, %c {unit = "acme.fma"} : !one, !row, !row
  return %x, %y : !row, !row
}

// A scale may be NaN.
// CHECK-LABEL: @scaled_mma
// CHECK: %[[D:.*]] = tile.mma
// CHECK-NEXT: return %[[D]]
func.func @scaled_mma(%c: !one, %s: !one) -> !one {
  %z = tile.zero : !one
  %d = tile.mma %z, %z, %c scales(%s, %s) {unit = "acme.mx"} : !one, !one, !one scales(!one, !one)
  return %d : !one
}

// CHECK-LABEL: @map
// CHECK-SAME: %[[A:[a-z0-9]+]]: !tile.fragment{{.*}}, %[[B:[a-z0-9]+]]: !tile.fragment
// CHECK-NEXT: %[[R:.*]] = tile.map(%[[X:.*]] = %[[A]])
// CHECK-NEXT: arith.mulf %[[X]], %[[X]]
// CHECK: return %[[R]], %[[B]]
func.func @map(%a: !row, %b: !row) -> (!row, !row) {
  %r:2 = tile.map(%x = %a, %y = %a, %z = %b) : (!row, !row, !row) -> (!row, !row) {
    %m = arith.mulf %x, %y : f32
    tile.yield %m, %z : f32, f32
  }
  return %r#0, %r#1 : !row, !row
}

// CHECK-LABEL: @broadcast
// CHECK-NEXT: tile.zero
// CHECK-NEXT: return
func.func @broadcast() -> !row {
  %z = arith.constant 0.0 : f32
  %r = tile.broadcast %z : f32 -> !row
  return %r : !row
}

// CHECK-LABEL: @wait
// CHECK-NEXT: return
func.func @wait() {
  tile.wait
  return
}

// Sizes that are always equal are not compared; the others stay, even those that never are.
// CHECK-LABEL: @sizes
// CHECK: tile.require_size %{{.*}} output 1 dimension 0
// CHECK-NEXT: tile.require_size %{{.*}} output 1 dimension 1
// CHECK-NEXT: return
func.func @sizes(%n: index, %m: index) {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %again = arith.constant 3 : index
  tile.require_size %n, %n output 0 dimension 0
  tile.require_size %c3, %again output 0 dimension 1
  tile.require_size %n, %m output 1 dimension 0
  tile.require_size %c3, %c4 output 1 dimension 1
  return
}
