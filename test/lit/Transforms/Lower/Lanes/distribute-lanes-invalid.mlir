// Copies that lanes cannot share out as they are told to, and barriers that not all lanes would reach.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -lower-affine -distribute-lanes

module attributes {tilewright.target = "amd:MI300X"} {
func.func private @too_large_a_block(%A: memref<32x64xi8>) attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xi8, "shared">
    tile.parallel (%w) to (2) level "block" {
      // expected-error@+1 {{has the attribute 'turn' = array<i64: 8, 8, 1, 1>; four powers of two are right, the block of the first two with at most 16 elements}}
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (c, r)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] {turn = array<i64: 8, 8, 1, 1>} : memref<32x64xi8>, memref<64x32xi8, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

// An operation on an array that lanes have no form of.
module attributes {tilewright.target = "amd:MI300X"} {
func.func private @vectors(%A: memref<16xf32>) attributes {tilewright.launch = {threads = 64 : i64, shared = 0 : i64}} {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'vector.load' op cannot be distributed over the lanes of amd:MI300X yet}}
  %v = vector.load %A[%c0] : memref<16xf32>, vector<16xf32>
  return
}
}

// -----

// Vectors that begin where the chip's loads do not.
module attributes {tilewright.target = "nvidia:A100"} {
func.func private @loose(%A: memref<64x34xf16>) attributes {tilewright.launch = {threads = 128 : i64, shared = 4096 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xf16, "shared">
    tile.parallel (%w) to (4) level "block" {
      // expected-error@+1 {{has the attribute 'loose' = 4, bytes at which its vectors begin; loads of this chip (LaneOps::placeAlignment) begin at multiples of 16, and its field load_alignment must be one}}
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (r, c)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] {loose = 4 : i64} : memref<64x34xf16>, memref<64x32xf16, "shared">
      tile.wait %t
    }
  }
  return
}
}

// -----

// A barrier between two accesses of one branch; one before the branch would not separate them.
#C = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>
!c = !tile.fragment<16x8xf32, #C>

module attributes {tilewright.target = "nvidia:A100"} {
func.func private @inside(%A: memref<64x8xf32>) attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  %c0 = arith.constant 0 : index
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x8xf32, "shared">
    tile.parallel (%w) to (4) level "block" {
      %a = tile.load %A[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x8xf32> -> !c
      %other = arith.cmpi ne, %w, %c0 : index
      scf.if %other {
        tile.store %a, %s[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x8xf32, "shared">
        // expected-error@+1 {{needs a barrier, but stands in control flow that the lanes of a block do not share}}
        %b = tile.load %s[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x8xf32, "shared"> -> !c
        tile.store %b, %A[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x8xf32>
      }
    }
  }
  return
}
}

// -----

// So too where the two are of buffers that lie over each other, and one of them meets an access before the branch as well.
#C = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0], elements = [0, 1, 8, 0]>
!c = !tile.fragment<16x8xf32, #C>

module attributes {tilewright.target = "nvidia:A100"} {
func.func private @inside_over(%A: memref<64x8xf32>) attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  %c0 = arith.constant 0 : index
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x8xf32, "shared">
    %x = tile.alloc() {overlays} : memref<64x8xf32, "shared">
    tile.parallel (%w) to (4) level "block" {
      %a = tile.load %A[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x8xf32> -> !c
      tile.store %a, %s[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x8xf32, "shared">
      %other = arith.cmpi ne, %w, %c0 : index
      scf.if %other {
        %b = tile.load %s[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x8xf32, "shared"> -> !c
        // expected-error@+1 {{needs a barrier, but stands in control flow that the lanes of a block do not share}}
        tile.store %b, %x[%w * 16, 0] elements affine_map<(r, c) -> (r, c)> : !c, memref<64x8xf32, "shared">
      }
    }
  }
  return
}
}
