// RUN: tw-opt %s -split-input-file -verify-diagnostics -map-to-units

// A schedule that no fragments can follow is an error, with the reason.
module attributes {tilewright.target = "nvidia:A100"} {
  func.func private @no_rows(%x: memref<64x8xf32>) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{the schedule's tiles cannot be computed on fragments: the nests of a tile have no loop over rows in common, and a nest of a tile has more than rows and columns}}
    tile.parallel (%i) to (2) level "grid" attributes {schedule = #tile.schedule<level = "grid", members = 2, loops = [<loop = 0, tile = 32, spread = true>]>} {
      affine.for %r = 0 to 32 {
        affine.for %c = 0 to 8 { affine.store %zero, %x[%i * 32 + %r, %c] : memref<64x8xf32> }
      }
    }
    return
  }
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
  func.func private @index(%x: memref<2x64xf32>) attributes {tilewright.kernel} {
    // expected-error @below {{a nest of a tile computes with an index that is not linear in its loops}}
    tile.parallel (%i) to (2) level "grid" attributes {schedule = #tile.schedule<level = "grid", members = 2, loops = [<loop = 0, tile = 1, spread = true>]>} {
      %a = memref.alloc() : memref<64xf32>
      affine.for %r = 0 to 64 {
        %n = affine.apply affine_map<(d0) -> (d0 mod 3)>(%r)
        %j = arith.index_cast %n : index to i32
        %f = arith.sitofp %j : i32 to f32
        affine.store %f, %a[%r] : memref<64xf32>
      }
      affine.for %r = 0 to 64 {
        %f = affine.load %a[%r] : memref<64xf32>
        affine.store %f, %x[%i, %r] : memref<2x64xf32>
      }
    }
    return
  }
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
  func.func private @dynamic(%x: memref<2x?xf32>, %n: index) attributes {tilewright.kernel} {
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{a nest of a tile has a dynamic size}}
    tile.parallel (%i) to (2) level "grid" attributes {schedule = #tile.schedule<level = "grid", members = 2, loops = [<loop = 0, tile = 1, spread = true>]>} {
      affine.for %r = 0 to %n { affine.store %zero, %x[%i, %r] : memref<2x?xf32> }
    }
    return
  }
}
