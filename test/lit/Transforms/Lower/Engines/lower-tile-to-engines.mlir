// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -plan-scratchpad -lower-affine -lower-tile-to-engines -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "accelerator:npu"} {
  // CHECK-LABEL: func.func private @launch
  // CHECK: call @tilewright.primitive.block_x() : () -> i32
  // A copy is a command where addresses and pitches are multiples of 16 bytes, else a loop of the core.
  // CHECK: %[[T:.*]] = scf.if %{{.*}} -> (i32) {
  // CHECK:   call @tilewright.primitive.copy_2d(
  // CHECK:   call @tilewright.primitive.commit_copy()
  // CHECK: } else {
  // CHECK-NOT: primitive
  // CHECK: scf.yield
  // The token is the number of the command; all issued after it may stay.
  // CHECK: %[[ALL:.*]] = llvm.load
  // CHECK: %[[LATER:.*]] = arith.subi %[[ALL]], %[[T]]
  // CHECK: call @tilewright.primitive.wait_copy(%[[LATER]])
  // One instruction of the unit after the other; B stays while m runs innermost.
  // CHECK: scf.for %[[K:.*]] = %{{.*}} to %c2
  // CHECK:   scf.for %{{.*}} = %{{.*}} to %c1
  // CHECK:     scf.for %{{.*}} = %{{.*}} to %c4
  // CHECK:       arith.ori
  // CHECK:       call @tilewright.unit.accelerator.systolic_i8(
  // CHECK: call @tilewright.primitive.commit_unit()
  // CHECK: call @tilewright.primitive.wait_unit(
  // CHECK: call @tilewright.primitive.store_2d(
  // CHECK: call @tilewright.primitive.commit_store()
  // CHECK: call @tilewright.primitive.wait_store(
  func.func private @launch(%A: memref<?x64xi8>, %C: memref<?x32xi32>) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %c0 = arith.constant 0 : index
      %false = arith.constant false
      %a = tile.alloc() : memref<128x64xi8, "scratchpad">
      %b = tile.alloc() : memref<64x32xi8, "scratchpad">
      %acc = tile.alloc() : memref<128x32xi32, "accumulator">
      %c = tile.alloc() : memref<128x32xi32, "scratchpad">
      %t = tile.copy %A[%core * 128, 0] elements affine_map<(r, c) -> (r, c)> to %a[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [128, 64] : memref<?x64xi8>, memref<128x64xi8, "scratchpad">
      tile.wait %t
      %u = tile.multiply %a[%c0, %c0], %b[%c0, %c0] to %acc[%c0, %c0] accumulate %false shape [128, 32, 64]
             {unit = "accelerator.systolic_i8"} : memref<128x64xi8, "scratchpad">, memref<64x32xi8, "scratchpad">, memref<128x32xi32, "accumulator">
      tile.wait %u
      %s = tile.copy %c[0, 0] elements affine_map<(r, c) -> (r, c)> to %C[%core * 128, 0] elements affine_map<(r, c) -> (r, c)>
             shape [128, 32] : memref<128x32xi32, "scratchpad">, memref<?x32xi32>
      tile.wait %s
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // Of a product the unit gets the blocks in which something exists, and zeros go as far as these do.
  // CHECK-LABEL: func.func private @edge
  // CHECK: %[[ROWS:.*]] = arith.maxsi %{{.*}}, %c0{{.*}}
  // CHECK: %[[SOME:.*]] = arith.maxsi %[[ROWS]], %c1{{.*}}
  // CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[SOME]], %c32{{.*}}
  // CHECK: %[[PADDED:.*]] = arith.muli %[[BLOCKS]], %c32{{.*}}
  // CHECK: %[[HEIGHT:.*]] = arith.minsi %[[PADDED]], %c128{{.*}}
  // CHECK: scf.for %{{.*}} = %[[ROWS]] to %[[HEIGHT]]
  // CHECK: %[[REST:.*]] = arith.addi %arg1, %c31{{.*}}
  // CHECK: %[[M:.*]] = arith.divsi %[[REST]], %c32{{.*}}
  // CHECK: %[[UM:.*]] = arith.minsi %[[M]], %c4{{.*}}
  // CHECK: scf.for
  // CHECK:   scf.for
  // CHECK:     scf.for %{{.*}} = %{{.*}} to %[[UM]]
  func.func private @edge(%A: memref<?x64xi8>, %rows: index) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %c64 = arith.constant 64 : index
      %false = arith.constant false
      %a = tile.alloc() : memref<128x64xi8, "scratchpad">
      %b = tile.alloc() : memref<64x32xi8, "scratchpad">
      %acc = tile.alloc() : memref<128x32xi32, "accumulator">
      %t = tile.copy %A[%core * 128, 0] elements affine_map<(r, c) -> (r, c)> to %a[0, 0] elements affine_map<(r, c) -> (r, c)>
             shape [128, 64] valid(symbol(%rows), 64) {padTo = array<i64: 32, 32>} : memref<?x64xi8>, memref<128x64xi8, "scratchpad">
      tile.wait %t
      %u = tile.multiply %a[%c0, %c0], %b[%c0, %c0] to %acc[%c0, %c0] accumulate %false shape [128, 32, 64] valid[%rows, %c32, %c64]
             {unit = "accelerator.systolic_i8"} : memref<128x64xi8, "scratchpad">, memref<64x32xi8, "scratchpad">, memref<128x32xi32, "accumulator">
      tile.wait %u
    }
    return
  }

  // Of one block it gets all or nothing.
  // CHECK-LABEL: func.func private @block
  // CHECK: %[[HAS:.*]] = arith.cmpi sgt, %arg0, %c0{{.*}}
  // CHECK: scf.if %[[HAS]] {
  // CHECK: call @tilewright.unit.accelerator.systolic_i8(
  func.func private @block(%terms: index) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %true = arith.constant true
      %a = tile.alloc() : memref<32x32xi8, "scratchpad">
      %b = tile.alloc() : memref<32x32xi8, "scratchpad">
      %acc = tile.alloc() : memref<32x32xi32, "accumulator">
      %u = tile.multiply %a[%c0, %c0], %b[%c0, %c0] to %acc[%c0, %c0] accumulate %true shape [32, 32, 32] valid[%c32, %c32, %terms]
             {unit = "accelerator.systolic_i8"} : memref<32x32xi8, "scratchpad">, memref<32x32xi8, "scratchpad">, memref<32x32xi32, "accumulator">
      tile.wait %u
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // Tokens in a loop are numbers. A row that is longer than a burst takes two commands. One that the core copies stands
  // for the commands of earlier rows.
  // CHECK-LABEL: func.func private @ring
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i32)
  // CHECK: scf.if %{{.*}} -> (i32) {
  // CHECK: call @tilewright.primitive.copy_2d(
  // CHECK: call @tilewright.primitive.copy_2d(
  // CHECK: call @tilewright.primitive.commit_copy()
  // CHECK: scf.yield %{{.*}} : i32
  // CHECK: } else {
  // CHECK: %[[LAST:.*]] = llvm.load %{{[0-9]+}} : !llvm.ptr -> i32
  // CHECK-NEXT: scf.yield %[[LAST]] : i32
  func.func private @ring(%A: memref<64x8192xi8>) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %a = tile.alloc() : memref<2x8192xi8, "scratchpad">
      %none = tile.done
      %last = affine.for %i = 0 to 16 iter_args(%before = %none) -> (!tile.token) {
        %t = tile.copy %A[%i, 0] elements affine_map<(c) -> (0, c)> to %a[%i mod 2, 0] elements affine_map<(c) -> (0, c)>
               shape [8192] : memref<64x8192xi8>, memref<2x8192xi8, "scratchpad">
        tile.wait %before
        affine.yield %t : !tile.token
      }
      tile.wait %last
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  func.func private @launch() attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %c0 = arith.constant 0 : index
      %false = arith.constant false
      %a = tile.alloc() : memref<48x32xi8, "scratchpad">
      %acc = tile.alloc() : memref<48x32xi32, "accumulator">
      // expected-error @below {{has the shape 48 x 32 x 32, which is no multiple of 32 x 32 x 32 of unit "accelerator.systolic_i8"}}
      %u = tile.multiply %a[%c0, %c0], %a[%c0, %c0] to %acc[%c0, %c0] accumulate %false shape [48, 32, 32]
             {unit = "accelerator.systolic_i8"} : memref<48x32xi8, "scratchpad">, memref<48x32xi8, "scratchpad">, memref<48x32xi32, "accumulator">
    }
    return
  }
}
