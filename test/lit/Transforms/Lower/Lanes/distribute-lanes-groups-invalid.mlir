// RUN: tw-opt %s -split-input-file -verify-diagnostics -lower-affine -distribute-lanes

#rows = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0, 0, 8]>
#sums = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0], repeats = [2, 0, 8]>
#square = #tile.layout<elements = [0, 1, 0, 2, 0, 4, 0, 8, 1, 0, 2, 0, 4, 0, 8, 0]>
!a = !tile.fragment<64x16xf16, #rows>
!b = !tile.fragment<16x16xf16, #square>
!c = !tile.fragment<64x16xf32, #sums>

// What a unit reads in the scratchpad must lie there.
module attributes {tilewright.target = "nvidia:H200"} {
func.func private @no_load(%A: memref<64x16xf16>, %B: memref<16x16xf16>) attributes {tilewright.launch = {threads = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %a = tile.load %A[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x16xf16> -> !a
      %zero = tile.zero : !c
      %b = tile.zero : !b
      // expected-error @+1 {{multiplies by unit nvidia.wgmma_m64n16k16_f16_f32_a, which reads b in the scratchpad: it must be a tile.load from there, and the unit be awaited by groups}}
      %d = tile.mma %a, %b, %zero {unit = "nvidia.wgmma_m64n16k16_f16_f32_a"} : !a, !b, !c
    }
  }
  return
}
}

// -----

#sums = #tile.layout<lanes = [0, 2, 0, 4, 1, 0, 2, 0, 4, 0, 16, 0, 32, 0], elements = [0, 1, 8, 0], repeats = [2, 0, 8]>
#cols = #tile.layout<lanes = [0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], elements = [0, 1], repeats = [2, 0, 8]>
!c = !tile.fragment<64x16xf32, #sums>
!m = !tile.fragment<1x16xf32, #cols>

// Rows of a group lie in several subgroups.
module attributes {tilewright.target = "nvidia:H200"} {
func.func private @rows(%C: memref<64x16xf32>, %M: memref<16xf32>) attributes {tilewright.launch = {threads = 128 : i64, group = 128 : i64}} {
  tile.parallel (%g) to (1) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      %e = tile.load %C[0, 0] elements affine_map<(r, c) -> (r, c)> : memref<64x16xf32> -> !c
      // expected-error @+1 {{combines elements of several members of level "subgroup", which lanes do not exchange; go through a scratchpad}}
      %f = tile.reduce %e dimension 0 : !c -> !m {
      ^bb0(%x: f32, %y: f32):
        %z = arith.maximumf %x, %y : f32
        tile.yield %z : f32
      }
      tile.store %f, %M[0] elements affine_map<(r, c) -> (c)> : !m, memref<16xf32>
    }
  }
  return
}
}
