// RUN: env TILEWRIGHT_TARGET_PATH=%build/test/plugins/adder tw-opt %s -split-input-file -plan-scratchpad -lower-affine -lower-tile-to-engines | FileCheck %s

// A tile that the array holds by columns: one command of an engine that transposes, where it can address both sides.
// CHECK-LABEL: func.func private @turns
// CHECK: scf.if %{{.*}} -> (i32) {
// CHECK:   call @tilewright.primitive.copy_2d_transposed(
// CHECK:   call @tilewright.primitive.commit_copy()
// CHECK: } else {
// CHECK:   vector.shuffle
// CHECK: }
module attributes {tilewright.target = "adder:turns"} {
  func.func private @turns(%A: memref<64x128xi8>) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (2) level "core" {
      %a = tile.alloc() : memref<32x64xi8, "scratchpad">
      %t = tile.copy %A[0, %core * 32] elements affine_map<(r, c) -> (c, r)> to %a[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [32, 64] : memref<64x128xi8>, memref<32x64xi8, "scratchpad">
      tile.wait %t
    }
    return
  }
}

// -----

// An engine that can address single elements: a command for each row, and nothing to test.
// CHECK-LABEL: func.func private @single
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK:   call @tilewright.primitive.copy_2d(
// CHECK-NEXT: }
// CHECK-NEXT: call @tilewright.primitive.commit_copy()
module attributes {tilewright.target = "adder:single"} {
  func.func private @single(%A: memref<64x128xi8>) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (2) level "core" {
      %a = tile.alloc() : memref<32x64xi8, "scratchpad">
      %t = tile.copy %A[0, %core * 32] elements affine_map<(r, c) -> (c, r)> to %a[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [32, 64] : memref<64x128xi8>, memref<32x64xi8, "scratchpad">
      tile.wait %t
    }
    return
  }
}

// -----

// Of a tile at the edge the engine brings what exists; the core writes zeros around it first.
// CHECK-LABEL: func.func private @edge
// CHECK: scf.if
// CHECK:   llvm.store %{{.*}} : vector<32xi8>
// CHECK: scf.if %{{.*}} -> (i32) {
// CHECK:   call @tilewright.primitive.copy_2d(
module attributes {tilewright.target = "adder:one"} {
  func.func private @edge(%A: memref<50x72xi8>) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (2) level "core" {
      %a = tile.alloc() : memref<32x64xi8, "scratchpad">
      %t = tile.copy %A[%core * 32, 64] elements affine_map<(r, c) -> (r, c)> to %a[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [32, 64] valid(%core * -32 + 50, 8) : memref<50x72xi8>, memref<32x64xi8, "scratchpad">
      tile.wait %t
    }
    return
  }
}
