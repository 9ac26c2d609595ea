// RUN: tw-opt %s -split-input-file -lower-affine -lower-tile-to-vector -canonicalize -cse | FileCheck %s

#one = #tile.layout<>
#row2 = #tile.layout<elements = [0, 1]>
#row4 = #tile.layout<elements = [0, 1, 0, 2]>
#row16 = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8]>
#row3 = #tile.layout<repeats = [3, 0, 1]>
#col4 = #tile.layout<elements = [1, 0, 2, 0]>
#pairs = #tile.layout<elements = [1, 0, 0, 1, 0, 2, 0, 4]>
#quads = #tile.layout<elements = [1, 0, 2, 0, 0, 1, 0, 2]>
!one = !tile.fragment<1x1xf32, #one>
!row = !tile.fragment<1x16xf32, #row16>

// One element is a scalar load; several with one address are its broadcast.
// CHECK-LABEL: @scalar_and_broadcast
// CHECK: %[[X:.*]] = memref.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<8x8xf32>
// CHECK: %[[B:.*]] = vector.broadcast %[[X]] : f32 to vector<16xf32>
// CHECK: vector.store %[[B]]
func.func @scalar_and_broadcast(%m: memref<8x8xf32>, %o: memref<16xf32>, %i: index) {
  %x = tile.load %m[%i, %i + 1] elements affine_map<(r, c) -> (0, 0)> : memref<8x8xf32> -> !row
  tile.store %x, %o[0] elements affine_map<(r, c) -> (c)> : !row, memref<16xf32>
  return
}

// Taps that read again what others have read: LLVM must not see that their addresses are equal.
// CHECK-LABEL: @reread
// CHECK: scf.for %[[Q:.*]] = %{{.*}} to
// CHECK-NEXT: %[[Q64:.*]] = arith.index_cast %[[Q]] : index to i64
// CHECK-NEXT: %[[SAME:.*]] = llvm.inline_asm "", "=r,0" %[[Q64]] : (i64) -> i64
// CHECK-NEXT: %[[HIDDEN:.*]] = arith.index_cast %[[SAME]] : i64 to index
// CHECK-NEXT: memref.load %{{.*}}[%[[HIDDEN]]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %[[HIDDEN]]
// CHECK-NEXT: memref.load %{{.*}}[%[[NEXT]]]
// CHECK-NOT: inline_asm
func.func @reread(%m: memref<8xf32>, %o: memref<3x2xf32>) {
  affine.for %q = 0 to 3 {
    %x = tile.load %m[%q] elements affine_map<(r, c) -> (0)> {reread} : memref<8xf32> -> !one
    %y = tile.load %m[%q + 1] elements affine_map<(r, c) -> (0)> {reread} : memref<8xf32> -> !one
    tile.store %x, %o[%q, 0] elements affine_map<(r, c) -> (0, c)> : !one, memref<3x2xf32>
    tile.store %y, %o[%q, 1] elements affine_map<(r, c) -> (0, c)> : !one, memref<3x2xf32>
  }
  return
}

// CHECK-LABEL: @contiguous
// CHECK: %[[V:.*]] = vector.load %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x?xf32>, vector<16xf32>
// CHECK: vector.store %[[V]], %{{.*}} {alignment = 64 : i64, nontemporal = true} : memref<?x?xf32>, vector<16xf32>
func.func @contiguous(%m: memref<?x?xf32>, %i: index, %j: index) {
  %x = tile.load %m[%i, %j * 16] elements affine_map<(r, c) -> (r, c)> : memref<?x?xf32> -> !row
  tile.store %x, %m[%i + 1, %j * 16] elements affine_map<(r, c) -> (r, c)> nontemporal : !row, memref<?x?xf32>
  return
}

// A constant `valid` is a constant mask; one that covers the fragment is none.
// CHECK-LABEL: @constant_valid
// CHECK-DAG: %[[MASK:.*]] = arith.constant dense<[true, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false]> : vector<16xi1>
// CHECK: %[[V:.*]] = vector.maskedload %{{.*}}, %[[MASK]], %{{.*}} : memref<?x?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
// CHECK: vector.store %[[V]]
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]], %[[V]]
func.func @constant_valid(%m: memref<?x?xf32>, %i: index, %j: index) {
  %x = tile.load %m[%i, %j] elements affine_map<(r, c) -> (r, c)> valid(1, 13) : memref<?x?xf32> -> !row
  tile.store %x, %m[%i, %j + 16] elements affine_map<(r, c) -> (r, c)> valid(2, 16) : !row, memref<?x?xf32>
  tile.store %x, %m[%i, %j + 32] elements affine_map<(r, c) -> (r, c)> valid(1, 13) : !row, memref<?x?xf32>
  return
}

// CHECK-LABEL: @dynamic_valid
// CHECK-SAME: %[[M:.*]]: memref<?x?xf32>, %[[N:.*]]: index
// CHECK: %[[MIN:.*]] = arith.minsi %[[N]], %c16
// CHECK: %[[MAX:.*]] = arith.maxsi %[[MIN]], %c0
// CHECK: %[[I32:.*]] = arith.index_cast %[[MAX]] : index to i32
// CHECK: %[[LIMIT:.*]] = vector.broadcast %[[I32]] : i32 to vector<16xi32>
// CHECK: %[[MASK:.*]] = arith.cmpi {{slt|sgt}}, {{.*}}%[[LIMIT]]
// CHECK: vector.maskedload %[[M]]{{.*}}, %[[MASK]]
func.func @dynamic_valid(%m: memref<?x?xf32>, %n: index) {
  %x = tile.load %m[0, 0] elements affine_map<(r, c) -> (r, c)> valid(1, %n) : memref<?x?xf32> -> !row
  tile.store %x, %m[1, 0] elements affine_map<(r, c) -> (r, c)> : !row, memref<?x?xf32>
  return
}

// Groups of two rows, read from rows: two loads and one interleave; from a packed buffer: one load.
// CHECK-LABEL: @groups
// CHECK: %[[R0:.*]] = vector.load %{{.*}} : memref<?x?xbf16>, vector<8xbf16>
// CHECK: %[[R1:.*]] = vector.load %{{.*}} : memref<?x?xbf16>, vector<8xbf16>
// CHECK: %[[I:.*]] = vector.interleave %[[R0]], %[[R1]]
// CHECK: vector.store %[[I]], %{{.*}} : memref<4x8x2xbf16>, vector<16xbf16>
// CHECK: vector.load %{{.*}} : memref<4x8x2xbf16>, vector<16xbf16>
func.func @groups(%m: memref<?x?xbf16>, %p: memref<4x8x2xbf16>, %k: index, %j: index) -> () {
  %x = tile.load %m[%k, %j] elements affine_map<(r, c) -> (r, c)> : memref<?x?xbf16> -> !tile.fragment<2x8xbf16, #pairs>
  tile.store %x, %p[0, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : !tile.fragment<2x8xbf16, #pairs>, memref<4x8x2xbf16>
  %y = tile.load %p[1, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : memref<4x8x2xbf16> -> !tile.fragment<2x8xbf16, #pairs>
  tile.store %y, %p[2, 0, 0] elements affine_map<(r, c) -> (0, c, r)> : !tile.fragment<2x8xbf16, #pairs>, memref<4x8x2xbf16>
  return
}

// CHECK-LABEL: @groups_of_four
// CHECK-COUNT-4: vector.load %{{.*}} : memref<?x?xi8>, vector<4xi8>
// CHECK-COUNT-3: vector.interleave
// CHECK: vector.store %{{.*}} : memref<4x4xi8>, vector<16xi8>
func.func @groups_of_four(%m: memref<?x?xi8>, %p: memref<4x4xi8>, %k: index, %j: index) {
  %x = tile.load %m[%k, %j] elements affine_map<(r, c) -> (r, c)> : memref<?x?xi8> -> !tile.fragment<4x4xi8, #quads>
  tile.store %x, %p[0, 0] elements affine_map<(r, c) -> (c, r)> : !tile.fragment<4x4xi8, #quads>, memref<4x4xi8>
  return
}

// A column: scalar loads; under a mask each is guarded.
// CHECK-LABEL: @column
// CHECK-COUNT-4: memref.load
// CHECK-NOT: vector.load
// CHECK-COUNT-4: scf.if
// CHECK-NOT: scf.if
// CHECK: return
func.func @column(%m: memref<?x?xf32>, %n: index) {
  %x = tile.load %m[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<?x?xf32> -> !tile.fragment<4x1xf32, #col4>
  tile.store %x, %m[0, 1] elements affine_map<(r, c) -> (r, c)> valid(%n, 1) : !tile.fragment<4x1xf32, #col4>, memref<?x?xf32>
  return
}

// A bias along rows, rows invalid from %n on: the address is read if its first row is valid, the rest selected to zero.
// CHECK-LABEL: @shared_address
// CHECK: arith.select
func.func @shared_address(%b: memref<4xf32>, %o: memref<4xf32>, %n: index) {
  %x = tile.load %b[0] elements affine_map<(r, c) -> (0)> valid(%n, 1) : memref<4xf32> -> !tile.fragment<4x1xf32, #col4>
  tile.store %x, %o[0] elements affine_map<(r, c) -> (r)> : !tile.fragment<4x1xf32, #col4>, memref<4xf32>
  return
}

// CHECK-LABEL: @map
// CHECK-SAME: %[[S:.*]]: f32
// CHECK-DAG: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : vector<16xf32>
// CHECK-DAG: %[[SV:.*]] = vector.broadcast %[[S]] : f32 to vector<16xf32>
// CHECK-DAG: %[[A:.*]] = arith.mulf %{{.*}}, %[[HALF]] fastmath<contract> : vector<16xf32>
// CHECK: %[[C:.*]] = arith.cmpf olt, %[[A]], %[[SV]] : vector<16xf32>
// CHECK: %[[D:.*]] = arith.select %[[C]], %[[A]], %[[SV]] : vector<16xi1>, vector<16xf32>
// CHECK: arith.truncf %[[D]] : vector<16xf32> to vector<16xbf16>
func.func @map(%s: f32, %m: memref<16xf32>, %o: memref<16xbf16>) {
  %x = tile.load %m[0] elements affine_map<(r, c) -> (c)> : memref<16xf32> -> !row
  %y = tile.map(%e = %x) : (!row) -> !tile.fragment<1x16xbf16, #row16> {
    %half = arith.constant 0.5 : f32
    %a = arith.mulf %e, %half fastmath<contract> : f32
    %c = arith.cmpf olt, %a, %s : f32
    %d = arith.select %c, %a, %s : f32
    %t = arith.truncf %d : f32 to bf16
    tile.yield %t : bf16
  }
  tile.store %y, %o[0] elements affine_map<(r, c) -> (c)> : !tile.fragment<1x16xbf16, #row16>, memref<16xbf16>
  return
}

// CHECK-LABEL: @reduce
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: arith.addf {{.*}} : {{f32|vector<1xf32>}}
// CHECK: arith.maximumf {{.*}} : {{f32|vector<1xf32>}}
// CHECK: arith.maximumf {{.*}} : {{f32|vector<1xf32>}}
func.func @reduce(%m: memref<16xf32>, %o: memref<2xf32>) {
  %x = tile.load %m[0] elements affine_map<(r, c) -> (c)> : memref<16xf32> -> !row
  %s = tile.reduce %x dimension 1 : !row -> !one {
  ^bb0(%l: f32, %r: f32):
    %t = arith.addf %l, %r : f32
    tile.yield %t : f32
  }
  tile.store %s, %o[0] elements affine_map<(r, c) -> (c)> : !one, memref<2xf32>
  %y = tile.load %m[0] elements affine_map<(r, c) -> (c)> : memref<16xf32> -> !tile.fragment<1x3xf32, #row3>
  %z = tile.reduce %y dimension 1 : !tile.fragment<1x3xf32, #row3> -> !one {
  ^bb0(%l: f32, %r: f32):
    %t = arith.maximumf %l, %r : f32
    tile.yield %t : f32
  }
  tile.store %z, %o[1] elements affine_map<(r, c) -> (c)> : !one, memref<2xf32>
  return
}

// -----

#one = #tile.layout<>
#row4 = #tile.layout<elements = [0, 1, 0, 2]>
#row16 = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8]>
#quads = #tile.layout<elements = [1, 0, 2, 0, 0, 1, 0, 2, 0, 4, 0, 8]>
!a = !tile.fragment<1x4xi8, #row4>
!b = !tile.fragment<4x16xi8, #quads>
!c = !tile.fragment<1x16xi32, #row16>

// A group of A is repeated as one integer; fragments in loops become vectors.
module attributes {tilewright.target = "cpu:zen4"} {
// CHECK: func.func private @tilewright.unit.cpu.avx512_dpbusd(vector<64xi8>, vector<64xi8>, vector<16xi32>) -> vector<16xi32>
// CHECK-LABEL: @unit
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<16xi32>)
// CHECK: %[[A:.*]] = vector.load %{{.*}} : memref<512xi8>, vector<4xi8>
// CHECK: %[[CAST:.*]] = vector.bitcast %[[A]] : vector<4xi8> to vector<1xi32>
// CHECK: %[[X:.*]] = vector.extract %[[CAST]][0]
// CHECK: %[[BROADCAST:.*]] = vector.broadcast %[[X]] : i32 to vector<16xi32>
// CHECK: %[[BYTES:.*]] = vector.bitcast %[[BROADCAST]] : vector<16xi32> to vector<64xi8>
// CHECK: func.call @tilewright.unit.cpu.avx512_dpbusd(%[[BYTES]], %{{.*}}, %[[ACC]])
func.func @unit(%A: memref<512xi8>, %B: memref<128x64xi8>, %C: memref<16xi32>) {
  %zero = tile.zero : !c
  %r = affine.for %k = 0 to 128 iter_args(%acc = %zero) -> (!c) {
    %a = tile.load %A[%k * 4] elements affine_map<(r, c) -> (c)> : memref<512xi8> -> !a
    %b = tile.load %B[%k, 0] elements affine_map<(r, c) -> (0, c * 4 + r)> : memref<128x64xi8> -> !b
    %d = tile.mma %a, %b, %acc {unit = "cpu.avx512_dpbusd"} : !a, !b, !c
    affine.yield %d : !c
  }
  tile.store %r, %C[0] elements affine_map<(r, c) -> (c)> : !c, memref<16xi32>
  return
}
}
