// The forms of tile.copy on a processor with vectors of 64 bytes.
//
// RUN: tw-opt %s -lower-tile-to-vector -canonicalize -cse | FileCheck %s

module attributes {tilewright.target = "cpu:zen4"} {

// Rows of full vectors and a masked tail.
// CHECK-LABEL: @rows
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.load %{{.*}} : memref<1024x1024xf32>, vector<16xf32>
// CHECK: vector.store %{{.*}} : memref<256x53xf32>, vector<16xf32>
// CHECK: vector.maskedload %{{.*}} : memref<1024x1024xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
// CHECK: vector.maskedstore %{{.*}} : memref<256x53xf32>, vector<16xi1>, vector<16xf32>
// CHECK-NOT: tile.
func.func @rows(%B: memref<1024x1024xf32>, %p: memref<256x53xf32>, %k: index, %j: index) {
  %t = tile.copy %B[%k, %j] elements affine_map<(p, q) -> (p, q)> to %p[0, 0] elements affine_map<(p, q) -> (p, q)>
       shape [256, 53] : memref<1024x1024xf32>, memref<256x53xf32>
  tile.wait %t
  return
}

// A load per row of the group, one interleaved store.
// CHECK-LABEL: @pairs
// CHECK-COUNT-2: vector.load %{{.*}} : memref<1024x1024xbf16>, vector<16xbf16>
// CHECK: vector.interleave %{{.*}} : vector<16xbf16> -> vector<32xbf16>
// CHECK: vector.store %{{.*}} : memref<128x48x2xbf16>, vector<32xbf16>
func.func @pairs(%B: memref<1024x1024xbf16>, %p: memref<128x48x2xbf16>, %k: index, %j: index) {
  %t = tile.copy %B[%k, %j] elements affine_map<(p, q) -> (p, q)> to %p[0, 0, 0] elements affine_map<(p, q) -> (p floordiv 2, q, p mod 2)>
       shape [256, 48] : memref<1024x1024xbf16>, memref<128x48x2xbf16>
  tile.wait %t
  return
}

// CHECK-LABEL: @quads
// CHECK-COUNT-4: vector.load %{{.*}} : memref<1024x1024xi8>, vector<16xi8>
// CHECK-COUNT-3: vector.interleave
// CHECK: vector.store %{{.*}} : memref<64x48x4xi8>, vector<64xi8>
func.func @quads(%B: memref<1024x1024xi8>, %p: memref<64x48x4xi8>, %k: index, %j: index) {
  %t = tile.copy %B[%k, %j] elements affine_map<(p, q) -> (p, q)> to %p[0, 0, 0] elements affine_map<(p, q) -> (p floordiv 4, q, p mod 4)>
       shape [256, 48] : memref<1024x1024xi8>, memref<64x48x4xi8>
  tile.wait %t
  return
}

// 16 x 16 blocks: 16 loads, 64 shuffles, 16 stores.
// CHECK-LABEL: @transposed
// CHECK-COUNT-16: vector.load %{{.*}} : memref<1024x1024xf32>, vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}} : memref<256x48xf32>, vector<16xf32>
// CHECK: return
func.func @transposed(%B: memref<1024x1024xf32>, %p: memref<256x48xf32>, %k: index, %j: index) {
  %t = tile.copy %B[%k, %j] elements affine_map<(p, q) -> (q, p)> to %p[0, 0] elements affine_map<(p, q) -> (p, q)>
       shape [256, 48] : memref<1024x1024xf32>, memref<256x48xf32>
  tile.wait %t
  return
}

// No side is contiguous: scalars.
// CHECK-LABEL: @strided
// CHECK: memref.load
// CHECK: memref.store
func.func @strided(%B: memref<1024x1024xf32>, %p: memref<16x48xf32>, %k: index, %j: index) {
  %t = tile.copy %B[%k, %j] elements affine_map<(p, q) -> (p, q * 2)> to %p[0, 0] elements affine_map<(p, q) -> (p, q)>
       shape [16, 48] : memref<1024x1024xf32>, memref<16x48xf32>
  tile.wait %t
  return
}

// A token may be carried by a loop: it is nothing here.
// CHECK-LABEL: @ring
// CHECK-NOT: tile.
// CHECK: return
func.func @ring(%B: memref<64x64xf32>, %p: memref<2x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %first = tile.copy %B[0, 0] elements affine_map<(q) -> (0, q)> to %p[0, 0] elements affine_map<(q) -> (0, q)> shape [64] : memref<64x64xf32>, memref<2x64xf32>
  %last = scf.for %k = %c1 to %c64 step %c1 iter_args(%t = %first) -> (!tile.token) {
    %next = tile.copy %B[%k, 0] elements affine_map<(q) -> (0, q)> to %p[%k mod 2, 0] elements affine_map<(q) -> (0, q)> shape [64] : memref<64x64xf32>, memref<2x64xf32>
    tile.wait %t
    scf.yield %next : !tile.token
  }
  tile.wait %last
  return
}
}
