// Lanes outside of an array choose an offset that reads zeros. Steps whose places differ by a constant in a dimension that has no end
// have the same conditions, so the constant is in what the subgroup shares, and one choice for each row of the lane serves all steps.
// Where the constant is part of a condition, each step has a choice of its own, and nothing of it is held from one to the next.
//
// RUN: tw-opt %s -lower-affine -distribute-lanes -canonicalize -cse | FileCheck %s

module attributes {tilewright.target = "amd:MI300X"} {

// Rows have an end, columns none: 4 conditions and choices for 3 steps of 4 loads.
//
// CHECK-LABEL: func.func private @rows
// CHECK: arith.cmpi sgt, %[[LEFT:.*]], %c0_i32 : i32
// CHECK: %[[FIRST:.*]] = arith.select
// CHECK: %[[OFFSET:.*]] = llvm.add %[[FIRST]],
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[OFFSET]],
// CHECK: arith.cmpi sgt, %[[LEFT]], %c16_i32 : i32
// CHECK: arith.select
// CHECK: arith.cmpi sgt, %[[LEFT]], %c32_i32 : i32
// CHECK: arith.select
// CHECK: arith.cmpi sgt, %[[LEFT]], %c48_i32 : i32
// CHECK: arith.select
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.select
// CHECK: %[[SECOND:.*]] = arith.addi %{{.*}}, %c64_i32 : i32
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[OFFSET]], %[[SECOND]],
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.select
// CHECK: %[[THIRD:.*]] = arith.addi %{{.*}}, %c128_i32 : i32
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[OFFSET]], %[[THIRD]],
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.select
// CHECK: return
func.func private @rows(%A: memref<100x96xf16>)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 12288 : i64}} {
  tile.parallel (%g) to (4) level "grid" {
    %s = tile.alloc() : memref<3x64x32xf16, "shared">
    tile.parallel (%b) to (1) level "block" {
      %0 = tile.copy %A[%g * 64, 0] elements affine_map<(r, c) -> (r, c)> to %s[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)>
             shape [64, 32] valid(-%g * 64 + 100, 32) : memref<100x96xf16>, memref<3x64x32xf16, "shared">
      %1 = tile.copy %A[%g * 64, 32] elements affine_map<(r, c) -> (r, c)> to %s[1, 0, 0] elements affine_map<(r, c) -> (0, r, c)>
             shape [64, 32] valid(-%g * 64 + 100, 32) : memref<100x96xf16>, memref<3x64x32xf16, "shared">
      %2 = tile.copy %A[%g * 64, 64] elements affine_map<(r, c) -> (r, c)> to %s[2, 0, 0] elements affine_map<(r, c) -> (0, r, c)>
             shape [64, 32] valid(-%g * 64 + 100, 32) : memref<100x96xf16>, memref<3x64x32xf16, "shared">
      tile.wait %0, %1, %2
    }
  }
  return
}

// The last step ends in its columns, too: its conditions are others, and its constant stays with the lane.
//
// CHECK-LABEL: func.func private @last
// CHECK-COUNT-2: arith.select %{{.*}}, %c-2147483648_i32 : i32
// CHECK: %[[OWN:.*]] = arith.addi %{{.*}}, %c64_i32 : i32
// CHECK-NEXT: %[[CHOSEN:.*]] = arith.select %{{.*}}, %[[OWN]], %c-2147483648_i32 : i32
// CHECK-NEXT: %[[OFFSET:.*]] = llvm.add %[[CHOSEN]],
// CHECK-NEXT: rocdl.raw.ptr.buffer.load %{{.*}}, %[[OFFSET]],
// CHECK: return
func.func private @last(%A: memref<100x48xf16>)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 4096 : i64}} {
  tile.parallel (%g) to (4) level "grid" {
    %s = tile.alloc() : memref<2x32x32xf16, "shared">
    tile.parallel (%b) to (1) level "block" {
      %0 = tile.copy %A[%g * 32, 0] elements affine_map<(r, c) -> (r, c)> to %s[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)>
             shape [32, 32] valid(-%g * 32 + 100, 32) : memref<100x48xf16>, memref<2x32x32xf16, "shared">
      %1 = tile.copy %A[%g * 32, 32] elements affine_map<(r, c) -> (r, c)> to %s[1, 0, 0] elements affine_map<(r, c) -> (0, r, c)>
             shape [32, 32] valid(-%g * 32 + 100, 16) : memref<100x48xf16>, memref<2x32x32xf16, "shared">
      tile.wait %0, %1
    }
  }
  return
}

// Places in an image are compared in two dimensions, channels in none: steps along them share the choices of both.
//
// CHECK-LABEL: func.func private @channels
// CHECK: %[[CHOSEN:.*]] = arith.select %{{.*}}, %c-2147483648_i32 : i32
// CHECK: %[[OFFSET:.*]] = llvm.add %[[CHOSEN]],
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[OFFSET]],
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.select
// CHECK: rocdl.raw.ptr.buffer.load %{{.*}}, %[[OFFSET]],
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.select
// CHECK: return
func.func private @channels(%x: memref<30x30x16xf16>)
    attributes {tilewright.launch = {threads = 64 : i64, shared = 4096 : i64}} {
  tile.parallel (%g) to (4) level "grid" {
    %s = tile.alloc() : memref<2x64x8xf16, "shared">
    tile.parallel (%b) to (1) level "block" {
      %0 = tile.copy %x[%g, %g * 4, 0] elements affine_map<(p, c) -> (0, p, c)> to %s[0, 0, 0] elements affine_map<(p, c) -> (0, p, c)>
             shape [64, 8] {bounded = array<i64: 0, 1>} : memref<30x30x16xf16>, memref<2x64x8xf16, "shared">
      %1 = tile.copy %x[%g, %g * 4, 8] elements affine_map<(p, c) -> (0, p, c)> to %s[1, 0, 0] elements affine_map<(p, c) -> (0, p, c)>
             shape [64, 8] {bounded = array<i64: 0, 1>} : memref<30x30x16xf16>, memref<2x64x8xf16, "shared">
      tile.wait %0, %1
    }
  }
  return
}
}
