// A unit that always adds to C: no flag is passed, and a product that shall not read C is refused.
//
// RUN: env TILEWRIGHT_TARGET_PATH=%build/test/plugins/adder tw-opt %s -split-input-file -plan-scratchpad -lower-affine -lower-tile-to-engines -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "adder:one"} {
  // CHECK-LABEL: func.func private @adds
  // CHECK: call @tilewright.unit.adder.adds_i8(%{{.*}}) : (!llvm.ptr, i64, !llvm.ptr, i64, !llvm.ptr, i64) -> ()
  func.func private @adds() attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (2) level "core" {
      %c0 = arith.constant 0 : index
      %true = arith.constant true
      %a = tile.alloc() : memref<16x16xi8, "scratchpad">
      %acc = tile.alloc() : memref<16x16xi32, "accumulator">
      %u = tile.multiply %a[%c0, %c0], %a[%c0, %c0] to %acc[%c0, %c0] accumulate %true shape [16, 16, 16]
             {unit = "adder.adds_i8"} : memref<16x16xi8, "scratchpad">, memref<16x16xi8, "scratchpad">, memref<16x16xi32, "accumulator">
      tile.wait %u
    }
    return
  }
}

// -----

module attributes {tilewright.target = "adder:one"} {
  func.func private @begins() attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (2) level "core" {
      %c0 = arith.constant 0 : index
      %false = arith.constant false
      %a = tile.alloc() : memref<16x16xi8, "scratchpad">
      %acc = tile.alloc() : memref<16x16xi32, "accumulator">
      // expected-error @below {{asks unit "adder.adds_i8" not to read C, which it cannot without a zero flag; clear C and accumulate}}
      %u = tile.multiply %a[%c0, %c0], %a[%c0, %c0] to %acc[%c0, %c0] accumulate %false shape [16, 16, 16]
             {unit = "adder.adds_i8"} : memref<16x16xi8, "scratchpad">, memref<16x16xi8, "scratchpad">, memref<16x16xi32, "accumulator">
    }
    return
  }
}
