// Copies by an engine that are no ring, or no tile.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -lower-affine -distribute-lanes

module attributes {tilewright.target = "nvidia:H100"} {
func.func private @alone(%A: memref<64x64xf16>) attributes {tilewright.launch = {threads = 256 : i64, shared = 20480 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<1x64x64xf16, "shared">
    // expected-error @+1 {{names the engine "TmaLoad", but is no part of a multi-stage buffer: loops of the launch whose iterations copy into a stage, wait once and read it}}
    %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %sa[0, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] {engine = "TmaLoad"} : memref<64x64xf16>, memref<1x64x64xf16, "shared">
    tile.wait %t
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100"} {
func.func private @transposes(%A: memref<64x256xf16>) attributes {tilewright.launch = {threads = 256 : i64, shared = 20480 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x64xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      affine.for %k = 0 to 4 {
        // expected-error @+1 {{cannot be left to the engine "TmaLoad": the box does not lie densely in the scratchpad}}
        %t = tile.copy %A[0, %k * 64] elements affine_map<(r, c) -> (c, r)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] {engine = "TmaLoad"} : memref<64x256xf16>, memref<2x64x64xf16, "shared">
        tile.wait %t
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100"} {
func.func private @strided(%A: memref<64x256xf16>) attributes {tilewright.launch = {threads = 256 : i64, shared = 20480 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x64xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      affine.for %k = 0 to 4 {
        // expected-error @+1 {{cannot be left to the engine "TmaLoad": a dimension of the box is no dimension of the array}}
        %t = tile.copy %A[0, %k * 64] elements affine_map<(r, c) -> (r, c * 2)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] {engine = "TmaLoad"} : memref<64x256xf16>, memref<2x64x64xf16, "shared">
        tile.wait %t
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100"} {
func.func private @moving_end(%A: memref<64x256xf16>) attributes {tilewright.launch = {threads = 256 : i64, shared = 20480 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x64xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      affine.for %k = 0 to 4 {
        // expected-error @+1 {{cannot be left to the engine "TmaLoad": the valid extent does not end at one place of the array}}
        %t = tile.copy %A[0, %k * 64] elements affine_map<(r, c) -> (r, c)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] valid(64, 50 - %k) {engine = "TmaLoad"} : memref<64x256xf16>, memref<2x64x64xf16, "shared">
        tile.wait %t
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100"} {
func.func private @two_ends(%A: memref<64x256xf16>) attributes {tilewright.launch = {threads = 256 : i64, shared = 20480 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x64xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      affine.for %k = 0 to 4 {
        // expected-error @+1 {{cannot be left to the engine "TmaLoad": it is bounded by the array where `valid` ends too}}
        %t = tile.copy %A[0, %k * 64 - 1] elements affine_map<(r, c) -> (r, c)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] valid(64, %k * -64 + 200) {bounded = array<i64: 1>, engine = "TmaLoad"} : memref<64x256xf16>, memref<2x64x64xf16, "shared">
        tile.wait %t
      }
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:H100"} {
func.func private @other_bytes(%A: memref<64x256xf16>) attributes {tilewright.launch = {threads = 256 : i64, shared = 20480 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x64xf16, "shared">
    tile.parallel (%w) to (1) level "block" {
      affine.for %k = 0 to 2 {
        %t = tile.copy %A[0, %k * 64] elements affine_map<(r, c) -> (r, c)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] {engine = "TmaLoad"} : memref<64x256xf16>, memref<2x64x64xf16, "shared">
        tile.wait %t
      }
      // expected-error @+1 {{copies 4096 bytes a step into a multi-stage buffer whose other steps copy 8192}}
      affine.for %k = 2 to 4 {
        %t = tile.copy %A[0, %k * 64] elements affine_map<(r, c) -> (r, c)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [32, 64] {engine = "TmaLoad"} : memref<64x256xf16>, memref<2x64x64xf16, "shared">
        tile.wait %t
      }
    }
  }
  return
}
}

// -----

// No work of lanes stands between the units of a step.
module attributes {tilewright.target = "nvidia:H100"} {
func.func private @without_turns(%A: memref<64x256xf16>) attributes {tilewright.launch = {threads = 384 : i64, shared = 20480 : i64, copiers = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %sa = tile.alloc() : memref<2x64x64xf16, "shared">
    tile.parallel (%w) to (2) level "block" {
      // expected-error @+1 {{has units in turns, for which a step must read what they add up}}
      affine.for %k = 0 to 2 {
        %t = tile.copy %A[0, %k * 64] elements affine_map<(r, c) -> (r, c)> to %sa[%k mod 2, 0, 0] elements affine_map<(r, c) -> (0, r, c)> shape [64, 64] {engine = "TmaLoad"} : memref<64x256xf16>, memref<2x64x64xf16, "shared">
        tile.wait %t {in_turns}
      }
    }
  }
  return
}
}
