// RUN: tw-opt %s --prove --split-input-file --verify-diagnostics

// Three stages of a circular buffer: the copy of iteration i is awaited in iteration i + 2, or behind the loop.
module {
  func.func @pipelined(%a: memref<64x32xf32>) {
    %buffer = tile.alloc() : memref<3x32xf32, "scratchpad">
    %t0 = tile.copy %a[0, 0] elements affine_map<(p) -> (0, p)> to %buffer[0, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<64x32xf32>, memref<3x32xf32, "scratchpad">
    %t1 = tile.copy %a[1, 0] elements affine_map<(p) -> (0, p)> to %buffer[1, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<64x32xf32>, memref<3x32xf32, "scratchpad">
    %l:2 = affine.for %i = 0 to 62 iter_args(%x = %t0, %y = %t1) -> (!tile.token, !tile.token) {
      tile.wait %x
      %v = affine.load %buffer[%i mod 3, 5] : memref<3x32xf32, "scratchpad">
      %t = tile.copy %a[%i + 2, 0] elements affine_map<(p) -> (0, p)> to %buffer[(%i + 2) mod 3, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<64x32xf32>, memref<3x32xf32, "scratchpad">
      affine.yield %y, %t : !tile.token, !tile.token
    }
    tile.wait %l#0, %l#1
    %v = affine.load %buffer[0, 5] : memref<3x32xf32, "scratchpad">
    return
  }
}

// -----

// The wait in the loop is gone.
module {
  func.func @nowait(%a: memref<64x32xf32>) {
    %buffer = tile.alloc() : memref<2x32xf32, "scratchpad">
    %t0 = tile.copy %a[0, 0] elements affine_map<(p) -> (0, p)> to %buffer[0, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<64x32xf32>, memref<2x32xf32, "scratchpad">
    %l = affine.for %i = 0 to 63 iter_args(%x = %t0) -> (!tile.token) {
      // expected-error @+1 {{awaited: disproved: reads the buffer of line 26 before the wait for a copy that writes it}}
      %v = affine.load %buffer[%i mod 2, 5] : memref<2x32xf32, "scratchpad">
      // expected-error @+1 {{awaited: disproved: writes the buffer of line 26 before the wait for a copy that writes it}}
      %t = tile.copy %a[%i + 1, 0] elements affine_map<(p) -> (0, p)> to %buffer[(%i + 1) mod 2, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<64x32xf32>, memref<2x32xf32, "scratchpad">
      affine.yield %t : !tile.token
    }
    tile.wait %l
    return
  }
}

// -----

// One slot too few: what is read was overwritten by a copy that is not awaited.
module {
  func.func @slots(%a: memref<64x32xf32>) {
    %buffer = tile.alloc() : memref<2x32xf32, "scratchpad">
    %t0 = tile.copy %a[0, 0] elements affine_map<(p) -> (0, p)> to %buffer[0, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<64x32xf32>, memref<2x32xf32, "scratchpad">
    %l = affine.for %i = 0 to 63 iter_args(%x = %t0) -> (!tile.token) {
      tile.wait %x
      %t = tile.copy %a[%i + 1, 0] elements affine_map<(p) -> (0, p)> to %buffer[%i mod 2, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<64x32xf32>, memref<2x32xf32, "scratchpad">
      // expected-error @+1 {{awaited: disproved: reads the buffer of line 45 before the wait for a copy that writes it}}
      %v = affine.load %buffer[%i mod 2, 5] : memref<2x32xf32, "scratchpad">
      affine.yield %t : !tile.token
    }
    tile.wait %l
    return
  }
}

// -----

// A buffer is filled again while a copy out of it may still run.
module {
  func.func @free(%a: memref<64x32xf32>) {
    %zero = arith.constant 0.0 : f32
    %buffer = tile.alloc() : memref<32xf32, "scratchpad">
    affine.for %i = 0 to 64 {
      // expected-error @+1 {{free: disproved: writes the buffer of line 65 before the wait for a copy that reads it}}
      affine.store %zero, %buffer[%i mod 32] : memref<32xf32, "scratchpad">
      %t = tile.copy %buffer[0] elements affine_map<(p) -> (p)> to %a[%i, 0] elements affine_map<(p) -> (0, p)> shape [32] : memref<32xf32, "scratchpad">, memref<64x32xf32>
    }
    return
  }
}
