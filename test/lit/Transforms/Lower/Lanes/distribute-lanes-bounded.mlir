// Lane code of copies whose points may lie outside of the array: each checks its indices and takes zeros there.
//
// RUN: tw-opt %s -split-input-file -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {

// Vectors of channels: asynchronous copies of as many bytes as lie inside, none or 16, from an address of the array. The
// row is one for all lanes, the column one for each; both ends are one comparison without sign.
//
// CHECK-LABEL: func.func private @vectors
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1>
// CHECK-DAG: %[[ROW:.*]] = arith.cmpi ult, %{{.*}}, %c13 : index
// CHECK-DAG: %[[COL:.*]] = arith.cmpi ult, %{{.*}}, %c11 : index
// CHECK: %[[IN:.*]] = arith.andi %[[ROW]], %[[COL]]
// CHECK: %[[BYTES:.*]] = arith.select %[[IN]], %c16_i32, %c0_i32
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %[[BYTES]], %c0_i32
// CHECK: %[[FROM:.*]] = arith.select %[[ANY]], %{{.*}}, %[[X]] : !llvm.ptr<1>
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %[[FROM]], 16, cache = cg, %[[BYTES]]
func.func private @vectors(%x: memref<13x11x32xf16>, %h: index, %w: index)
    attributes {tilewright.launch = {threads = 32 : i64, shared = 1024 : i64}} {
  tile.parallel (%g) to (13) level "grid" {
    %s = tile.alloc() : memref<8x32xf16, "shared">
    tile.parallel (%b) to (1) level "block" {
      %t = tile.copy %x[%g - 1, %g - 2, 0] elements affine_map<(p, c) -> (0, p, c)> to %s[0, 0] elements affine_map<(p, c) -> (p, c)>
             shape [8, 32] {bounded = array<i64: 0, 1>} : memref<13x11x32xf16>, memref<8x32xf16, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {

// Points of a row that begin anywhere: single elements behind a branch. Beyond `valid` nothing is read either, and of an
// array of unknown size the end is the argument of the launch.
//
// CHECK-LABEL: func.func private @elements
// CHECK-SAME: %arg1: index
// CHECK-NOT: cp.async
// CHECK-DAG: %[[VALID:.*]] = arith.cmpi slt
// CHECK-DAG: %[[HERE:.*]] = arith.cmpi ult, %{{.*}}, %arg1 : index
// CHECK: %[[IN:.*]] = arith.andi %[[VALID]], %[[HERE]]
// CHECK: scf.if %[[IN]] -> (f16,
// CHECK-NEXT: llvm.load %{{.*}} : !llvm.ptr<1> -> f16
// CHECK: else
// CHECK-NEXT: scf.yield %cst
func.func private @elements(%x: memref<16x?xf16>, %n: index)
    attributes {tilewright.launch = {threads = 32 : i64, shared = 1024 : i64}} {
  tile.parallel (%g) to (13) level "grid" {
    %s = tile.alloc() : memref<16x32xf16, "shared">
    tile.parallel (%b) to (1) level "block" {
      %t = tile.copy %x[0, %g * 32 - 1] elements affine_map<(c, p) -> (c, p)> to %s[0, 0] elements affine_map<(c, p) -> (c, p)>
             shape [16, 32] valid(16, %n - %g * 32) {bounded = array<i64: 1>} : memref<16x?xf16>, memref<16x32xf16, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {

// Offsets of buffers have no sign: the buffer begins where the first lane's place is, 34 elements before the array. Lanes outside of it
// read zeros behind the range of 2 GiB, without a branch around the load.
//
// CHECK-LABEL: func.func private @before
// CHECK: %[[BASE:.*]] = llvm.getelementptr %arg0[-34] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
// CHECK: rocdl.make.buffer.rsrc %[[BASE]]
// CHECK: %[[OWN:.*]] = arith.select {{.*}}, %c-2147483648_i32 : i32
// CHECK-NEXT: %[[OFFSET:.*]] = llvm.add %[[OWN]]
// CHECK-NEXT: rocdl.raw.ptr.buffer.load {{.*}}, %[[OFFSET]],
func.func private @before(%x: memref<16x32xf16>)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 1024 : i64}} {
  tile.parallel (%g) to (4) level "grid" {
    %s = tile.alloc() : memref<8x8xf16, "shared">
    tile.parallel (%b) to (1) level "block" {
      %t = tile.copy %x[%g - 1, %g * 8 - 2] elements affine_map<(q, p) -> (q, p)> to %s[0, 0] elements affine_map<(q, p) -> (q, p)>
             shape [8, 8] {bounded = array<i64: 0, 1>} : memref<16x32xf16>, memref<8x8xf16, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {

// A window that is turned round begins at a place that may lie before the array without its constant: that is part of the
// pointer, since offsets of buffers have no sign.
//
// CHECK-LABEL: func.func private @turned_round
// CHECK: %[[AT:.*]] = arith.muli %{{.*}}, %c-8
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[AT]] : index to i64
// CHECK: %[[BASE:.*]] = llvm.getelementptr %arg0[%[[FIRST]]]
// CHECK: rocdl.make.buffer.rsrc %[[BASE]]
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %{{.*}}, %[[NONE:.*]], %[[NONE]] : i32
func.func private @turned_round(%x: memref<32xf16>)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 1024 : i64}} {
  tile.parallel (%g) to (4) level "grid" {
    %s = tile.alloc() : memref<64x2xf16, "shared">
    tile.parallel (%b) to (1) level "block" {
      %t = tile.copy %x[%g * -8 + 24] elements affine_map<(q, p) -> (p)> to %s[0, 0] elements affine_map<(q, p) -> (q, p)>
             shape [64, 2] : memref<32xf16>, memref<64x2xf16, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {

// Vectors of buffers begin at any word, where the copy says so: rows of 68 bytes are read 16 bytes at a time.
//
// CHECK-LABEL: func.func private @loose(
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
// CHECK-NOT: rocdl.raw.ptr.buffer.load
// CHECK-LABEL: func.func private @tight
// CHECK-COUNT-8: rocdl.raw.ptr.buffer.load {{.*}} : i32
// CHECK-NOT: rocdl.raw.ptr.buffer.load
// CHECK: return
func.func private @loose(%A: memref<64x34xf16>)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 4096 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [64, 32] {loose = 4 : i64} : memref<64x34xf16>, memref<64x32xf16, "shared">
      tile.wait %t
    }
  }
  return
}
func.func private @tight(%A: memref<64x34xf16>)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 4096 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [64, 32] : memref<64x34xf16>, memref<64x32xf16, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {

// Where vectors begin anywhere and the row ends inside of one (15 of 16 columns), it is loaded earlier by what lies
// beyond, from a base that lies before the array by a vector, and shifted. Lanes beyond load from the end of the range.
//
// CHECK-LABEL: func.func private @ends
// CHECK: %[[BASE:.*]] = llvm.getelementptr %{{.*}}[-8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
// CHECK: %[[RANGE:.*]] = rocdl.make.buffer.rsrc %[[BASE]]
// CHECK: %[[MOST:.*]] = arith.maxsi %{{.*}}, %c0_i32 : i32
// CHECK: %[[BEYOND:.*]] = arith.minsi %[[MOST]], %c7_i32 : i32
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c15 : index
// CHECK: %[[BYTES:.*]] = arith.muli %[[BEYOND]], %c2_i32 : i32
// CHECK: %[[EARLIER:.*]] = arith.subi %{{.*}}, %[[BYTES]] : i32
// CHECK: %[[PLACE:.*]] = arith.addi %[[EARLIER]], %c48_i32 : i32
// CHECK: %[[CHOSEN:.*]] = arith.select %[[INSIDE]], %[[PLACE]], %c-2147483648_i32 : i32
// CHECK: %[[OFFSET:.*]] = llvm.add %[[CHOSEN]]
// CHECK: %[[WORDS:.*]] = rocdl.raw.ptr.buffer.load %[[RANGE]], %[[OFFSET]], {{.*}} : vector<4xi32>
// CHECK: %[[ALL:.*]] = llvm.bitcast %[[WORDS]] : vector<4xi32> to i128
// CHECK: %[[BITS:.*]] = arith.muli %[[BEYOND]], %c16_i32 : i32
// CHECK: %[[SHIFT:.*]] = arith.extui %[[BITS]] : i32 to i128
// CHECK: arith.shrui %[[ALL]], %[[SHIFT]] : i128
// CHECK-NOT: rocdl.raw.ptr.buffer.load
// CHECK: return
func.func private @ends(%A: memref<64x31xf16>)
    attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x16xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      %t = tile.copy %A[0, 16] elements affine_map<(r, c) -> (r, c)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [64, 16] valid(64, 15) {loose = 1 : i64} : memref<64x31xf16>, memref<64x16xf16, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

#h = #tile.layout<lanes = [0, 1, 0, 2, 0, 4, 0, 8, 0, 16]>
module attributes {tilewright.target = "nvidia:A100"} {

// A load of fragments: the lane's own index is compared, and what is outside is zero.
//
// CHECK-LABEL: func.func private @load
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1>
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %c40 : index
// CHECK: scf.if %[[IN]]
// CHECK-NEXT: llvm.load
// CHECK: else
// CHECK-NEXT: scf.yield %cst
func.func private @load(%x: memref<40xf32>, %y: memref<13x32xf32>)
    attributes {tilewright.launch = {threads = 32 : i64, shared = 0 : i64}} {
  tile.parallel (%g) to (13) level "grid" {
    tile.parallel (%b) to (1) level "block" {
      %f = tile.load %x[%g * 4 - 3] elements affine_map<(r, c) -> (c)> {bounded = array<i64: 0>} : memref<40xf32> -> !tile.fragment<1x32xf32, #h>
      tile.store %f, %y[%g, 0] elements affine_map<(r, c) -> (0, c)> : !tile.fragment<1x32xf32, #h>, memref<13x32xf32>
    }
  }
  return
}
}
