// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright tw-opt %s -split-input-file -plan-scratchpad -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "accelerator:npu"} {
  // %a and %b live at the same time; %c comes when %b is not used any more and takes its place. The accumulators are a
  // memory of their own.
  // CHECK-DAG: llvm.mlir.global internal @tilewright_scratchpad({{.*}}) {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<12288 x i8>
  // CHECK-DAG: llvm.mlir.global internal @tilewright_accumulator({{.*}}) {{.*}} : !llvm.array<4096 x i8>
  // CHECK-LABEL: func.func private @launch
  // CHECK: %[[A:.*]] = llvm.mlir.addressof @tilewright_scratchpad
  // CHECK-NEXT: llvm.addrspacecast %[[A]]
  // CHECK: %[[B:.*]] = llvm.mlir.addressof @tilewright_scratchpad
  // CHECK-NEXT: llvm.getelementptr %[[B]][8192]
  // CHECK: %[[C:.*]] = llvm.mlir.addressof @tilewright_scratchpad
  // CHECK-NEXT: llvm.getelementptr %[[C]][8192]
  // CHECK: llvm.mlir.addressof @tilewright_accumulator
  func.func private @launch(%x: memref<64xf32>) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %zero = arith.constant 0.0 : f32
      %a = tile.alloc() : memref<2048xf32, "scratchpad">
      %b = tile.alloc() : memref<1024xf32, "scratchpad">
      tile.fill %b, %zero : memref<1024xf32, "scratchpad">, f32
      %c = tile.alloc() : memref<512xf32, "scratchpad">
      tile.fill %c, %zero : memref<512xf32, "scratchpad">, f32
      %d = tile.alloc() : memref<32x32xf32, "accumulator">
      tile.fill %d, %zero : memref<32x32xf32, "accumulator">, f32
      tile.fill %a, %zero : memref<2048xf32, "scratchpad">, f32
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // The map of what was asked for, in its order.
  // expected-error @below {{needs 1310720 bytes of the memory "scratchpad"; a core of accelerator:npu has 1048576}}
  func.func private @launch() attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %zero = arith.constant 0 : i8
      %a = tile.alloc() : memref<2x512x512xi8, "scratchpad">
      %b = tile.alloc() : memref<3x512x512xi8, "scratchpad">
      tile.fill %b, %zero : memref<3x512x512xi8, "scratchpad">, i8
      tile.fill %a, %zero : memref<2x512x512xi8, "scratchpad">, i8
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  func.func private @launch() attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      // expected-error @below {{must name a memory of the core: "scratchpad" or "accumulator"}}
      %a = tile.alloc() : memref<16xi8, "shared">
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // %a is free when its copy was waited for, also through a loop: %b takes its place. The copy to %c may be under way when
  // the inner block ends: %d needs a place of its own.
  // CHECK: llvm.mlir.global internal @tilewright_scratchpad({{.*}}) {{.*}} : !llvm.array<12288 x i8>
  // CHECK-LABEL: func.func private @launch
  // CHECK: llvm.mlir.addressof @tilewright_scratchpad
  // CHECK-NEXT: llvm.addrspacecast
  // CHECK: llvm.mlir.addressof @tilewright_scratchpad
  // CHECK-NEXT: llvm.addrspacecast
  func.func private @launch(%x: memref<64x64xf32>) attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %zero = arith.constant 0.0 : f32
      %done = tile.done
      affine.for %t = 0 to 2 {
        %a = tile.alloc() : memref<32x64xf32, "scratchpad">
        %last = affine.for %i = 0 to 4 iter_args(%before = %done) -> (!tile.token) {
          tile.wait %before
          %copy = tile.copy %x[0, 0] elements affine_map<(d0, d1) -> (d0, d1)> to %a[0, 0] elements affine_map<(d0, d1) -> (d0, d1)> shape [32, 64] : memref<64x64xf32>, memref<32x64xf32, "scratchpad">
          affine.yield %copy : !tile.token
        }
        tile.wait %last
        %b = tile.alloc() : memref<32x64xf32, "scratchpad">
        tile.fill %b, %zero : memref<32x64xf32, "scratchpad">, f32
      }
      affine.for %t = 0 to 2 {
        %c = tile.alloc() : memref<16x64xf32, "scratchpad">
        %copy = tile.copy %x[0, 0] elements affine_map<(d0, d1) -> (d0, d1)> to %c[0, 0] elements affine_map<(d0, d1) -> (d0, d1)> shape [16, 64] : memref<64x64xf32>, memref<16x64xf32, "scratchpad">
      }
      %d = tile.alloc() : memref<32x64xf32, "scratchpad">
      tile.fill %d, %zero : memref<32x64xf32, "scratchpad">, f32
    }
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // An element of i1 is a byte.
  // CHECK: llvm.mlir.global internal @tilewright_scratchpad({{.*}}) {{.*}} : !llvm.array<48 x i8>
  func.func private @launch() attributes {tilewright.launch = {shared = 0 : i64, threads = 1 : i64}} {
    tile.parallel (%core) to (4) level "core" {
      %false = arith.constant false
      %a = tile.alloc() : memref<48xi1, "scratchpad">
      tile.fill %a, %false : memref<48xi1, "scratchpad">, i1
    }
    return
  }
}
