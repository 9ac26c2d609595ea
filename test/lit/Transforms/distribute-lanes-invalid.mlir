// Copies that lanes cannot share out as they are told to.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -lower-affine -distribute-lanes

module attributes {tilewright.target = "amd:MI300X"} {
func.func private @too_large_a_block(%A: memref<32x64xi8>) attributes {tilewright.launch = {threads = 128 : i64, shared = 2048 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    %s = tile.alloc() : memref<64x32xi8, "shared">
    tile.parallel (%w) to (2) level "block" {
      // expected-error@+1 {{has the attribute 'turn' = array<i64: 8, 8, 1>; three powers of two are right, the block of the first two with at most 16 elements}}
      %t = tile.copy %A[0, 0] elements affine_map<(r, c) -> (c, r)> to %s[0, 0] elements affine_map<(r, c) -> (r, c)> shape [64, 32] {turn = array<i64: 8, 8, 1>} : memref<32x64xi8>, memref<64x32xi8, "shared">
      tile.wait %t
    }
  }
  return
}
}
