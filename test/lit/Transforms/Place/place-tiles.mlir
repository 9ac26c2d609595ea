// RUN: env TILEWRIGHT_TARGET_PATH=%build/lib/tilewright:%build/test/plugins/dmaonly tw-opt %s -split-input-file -tile-and-fuse -place-tiles -verify-diagnostics | FileCheck %s

module attributes {tilewright.target = "dmaonly:npu"} {
  // A window: the box has the rows of all taps; the result is written whole, so nothing of it is copied in.
  // CHECK-LABEL: func.func @window
  // CHECK: tile.parallel
  // CHECK-DAG: %[[IN:.*]] = tile.alloc() : memref<6x64xf32, "scratchpad">
  // CHECK-DAG: %[[OUT:.*]] = tile.alloc() : memref<4x64xf32, "scratchpad">
  // CHECK: affine.for %[[T:.*]] = #{{.*}} to
  // CHECK-NEXT: %[[COPY:.*]] = tile.copy %{{.*}}[%[[T]] * 4, 0] elements #{{.*}} to %[[IN]][0, 0] elements #{{.*}} shape [6, 64] : memref<18x64xf32>
  // CHECK-NEXT: tile.wait %[[COPY]]
  // CHECK: affine.load %[[IN]][%[[I:.*]], %[[J:.*]]]
  // CHECK: affine.load %[[IN]][%[[I]] + 2, %[[J]]]
  // CHECK: affine.store %{{.*}}, %[[OUT]][%[[I]], %[[J]]]
  // CHECK: %[[BACK:.*]] = tile.copy %[[OUT]][0, 0] elements #{{.*}} to %{{.*}}[%[[T]] * 4, 0] elements #{{.*}} shape [4, 64]
  // CHECK-NEXT: tile.wait %[[BACK]]
  func.func @window(%a: memref<18x64xf32>, %b: memref<16x64xf32>) {
    affine.for %i = 0 to 16 {
      affine.for %j = 0 to 64 {
        %x = affine.load %a[%i, %j] : memref<18x64xf32>
        %y = affine.load %a[%i + 2, %j] : memref<18x64xf32>
        %z = arith.addf %x, %y : f32
        affine.store %z, %b[%i, %j] : memref<16x64xf32>
      }
    } {tile.schedule = #tile.schedule<level = "core", members = 2, loops = [<loop = 0, tile = 4, spread = true>], placements = [<array = 0, at = 0, memory = "scratchpad">, <array = 1, at = 0, memory = "scratchpad">]>}
    return
  }

  // The smaller tile takes the buffer of the whole ones; what it leaves of it becomes zero, and only what it has goes back.
  // CHECK-LABEL: func.func @rest
  // CHECK-COUNT-1: tile.alloc() : memref<8xf32, "scratchpad">
  // CHECK-NOT: tile.alloc
  // CHECK: tile.copy %{{.*}}[8] elements #{{.*}} to %[[B:.*]][0] elements #{{.*}} shape [8] valid(5) : memref<13xf32>
  // CHECK: tile.copy %[[B]][0] elements #{{.*}} to %{{.*}}[8] elements #{{.*}} shape [5] : memref<8xf32, "scratchpad">, memref<13xf32>
  func.func @rest(%a: memref<13xf32>) {
    affine.for %i = 0 to 13 {
      %x = affine.load %a[%i] : memref<13xf32>
      %y = arith.addf %x, %x : f32
      affine.store %y, %a[%i] : memref<13xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 8>], placements = [<array = 0, at = 0, memory = "scratchpad">]>}
    return
  }

  // Rows are along the last dimension that has more than one element. Of a tile with one column of them the buffer's other
  // columns become zero, since vectors are along these.
  // CHECK-LABEL: func.func @one_column
  // CHECK: tile.copy %{{.*}}[0, %{{.*}} * 4, 0] elements [[ROWS:#.*]] to %[[B:.*]][0, 0, 0] elements [[ROWS]] shape [6, 4] : memref<6x9x1xf32>, memref<6x4x1xf32, "scratchpad">
  // CHECK: tile.copy %{{.*}}[0, 8, 0] elements [[ROWS]] to %[[B]][0, 0, 0] elements [[ROWS]] shape [6, 4] valid(6, 1) : memref<6x9x1xf32>
  func.func @one_column(%a: memref<6x9x1xf32>, %b: memref<9xf32>) {
    affine.for %j = 0 to 9 {
      affine.for %i = 0 to 6 {
        %x = affine.load %a[%i, %j, 0] : memref<6x9x1xf32>
        affine.store %x, %b[%j] : memref<9xf32>
      }
    } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 4>], placements = [<array = 0, at = 0, memory = "scratchpad">]>}
    return
  }

  // Every second element is written: the others go back as they came.
  // CHECK-LABEL: func.func @strided
  // CHECK: tile.copy %{{.*}}[%[[T:.*]] * 16] elements #{{.*}} to %[[B:.*]][0] elements #{{.*}} shape [15]
  // CHECK: affine.store %{{.*}}, %[[B]][%{{.*}} * 2]
  // CHECK: tile.copy %[[B]][0]
  func.func @strided(%a: memref<64xf32>) {
    %x = arith.constant 1.0 : f32
    affine.for %i = 0 to 32 {
      affine.store %x, %a[%i * 2] : memref<64xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 2, loops = [<loop = 0, tile = 8, spread = true>], placements = [<array = 0, at = 0, memory = "scratchpad">]>}
    return
  }

  // Two stages take turns; the sum is begun by the nest itself, so it is not copied in.
  // CHECK-LABEL: func.func @stages
  // CHECK-DAG: tile.alloc() : memref<2x4xf32, "scratchpad">
  // CHECK-DAG: tile.alloc() : memref<2x4x64xf32, "scratchpad">
  // CHECK: affine.for %[[T:.*]] = #{{.*}} to
  // CHECK-NEXT: tile.copy %arg0[%[[T]] * 4, 0] elements #{{.*}} to %{{.*}}[%[[T]] mod 2, 0, 0]
  // CHECK-NOT: tile.copy %arg1
  // CHECK: tile.copy %{{.*}}[%[[T]] mod 2, 0] elements #{{.*}} to %arg1[%[[T]] * 4]
  // CHECK: } {tile.stages = 2 : i64}
  func.func @stages(%a: memref<64x64xf32>, %s: memref<64xf32>) {
    %zero = arith.constant 0.0 : f32
    affine.for %i = 0 to 64 {
      affine.store %zero, %s[%i] : memref<64xf32>
      affine.for %j = 0 to 64 {
        %x = affine.load %a[%i, %j] : memref<64x64xf32>
        %y = affine.load %s[%i] : memref<64xf32>
        %z = arith.addf %x, %y : f32
        affine.store %z, %s[%i] : memref<64xf32>
      }
    } {tile.schedule = #tile.schedule<level = "core", members = 4, loops = [<loop = 0, tile = 4, spread = true>], placements = [<array = 0, at = 0, memory = "scratchpad", stages = 2>, <array = 1, at = 0, memory = "scratchpad", stages = 2>]>}
    return
  }

  // Three dimensions are commands of two, one after the other; a local buffer is the core's own.
  // CHECK-LABEL: func.func @three
  // CHECK: %[[NONE:.*]] = tile.done
  // CHECK: %[[LAST:.*]] = affine.for %[[K:.*]] = 0 to 3 iter_args(%{{.*}} = %[[NONE]]) -> (!tile.token) {
  // CHECK:   tile.copy %{{.*}}[%[[K]], {{.*}}, 0] elements #{{.*}} shape [8, 64]
  // CHECK: tile.wait %[[LAST]]
  // CHECK: tile.alloc() : memref<f32, "scratchpad">
  func.func @three(%a: memref<3x16x64xf32>, %b: memref<16xf32>) {
    affine.for %i = 0 to 16 {
      %s = memref.alloc() : memref<f32>
      affine.for %k = 0 to 3 {
        affine.for %j = 0 to 64 {
          %x = affine.load %a[%k, %i, %j] : memref<3x16x64xf32>
          affine.store %x, %s[] : memref<f32>
        }
      }
      %y = affine.load %s[] : memref<f32>
      affine.store %y, %b[%i] : memref<16xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 2, loops = [<loop = 0, tile = 8, spread = true>], placements = [<array = 0, at = 0, memory = "scratchpad">, <array = 2, at = 0, memory = "scratchpad">]>}
    return
  }
}

// -----

module attributes {tilewright.target = "dmaonly:npu"} {
  func.func @no_box(%a: memref<?xf32>, %n: index) {
    %x = arith.constant 1.0 : f32
    // expected-error @below {{schedule places array 0 at loop -1, but the elements that a tile touches have no box of constant size}}
    affine.for %i = 0 to %n {
      affine.store %x, %a[%i] : memref<?xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, placements = [<array = 0, at = -1, memory = "scratchpad">]>}
    return
  }
}

// -----

module attributes {tilewright.target = "dmaonly:npu"} {
  func.func @in_and_out(%a: memref<16xf32>) {
    // expected-error @below {{schedule gives array 0 2 stages at loop 0, where tiles read and write it}}
    affine.for %i = 0 to 16 {
      %x = affine.load %a[%i] : memref<16xf32>
      affine.store %x, %a[%i] : memref<16xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 4>], placements = [<array = 0, at = 0, memory = "scratchpad", stages = 2>]>}
    return
  }
}

// -----

module attributes {tilewright.target = "dmaonly:npu"} {
  // Both copies would run ahead, that into the only stage of %a while the tile before works on it.
  func.func @stages_of_some(%a: memref<16xf32>, %b: memref<16xf32>) {
    // expected-error @below {{schedule gives an array that is copied at loop 0 1 stages and another one 2; what is copied there has one number}}
    affine.for %i = 0 to 16 {
      %x = affine.load %a[%i] : memref<16xf32>
      %y = affine.load %b[%i] : memref<16xf32>
      %z = arith.addf %x, %y : f32
      affine.store %z, %a[%i] : memref<16xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 4>], placements = [<array = 0, at = 0, memory = "scratchpad">, <array = 1, at = 0, memory = "scratchpad", stages = 2>]>}
    return
  }
}

// -----

module attributes {tilewright.target = "cpu:zen4"} {
  // What two scheduled nests hand on is of no use afterwards: a buffer of a tile takes its place, and nothing is copied.
  // CHECK-LABEL: func.func @between
  // CHECK-NOT: memref<8x32xf32>
  // CHECK: tile.parallel
  // CHECK-NEXT: %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x32xf32>
  // CHECK: affine.store %{{.*}}, %[[B]][%{{.*}}, %{{.*}}]
  // CHECK: affine.load %[[B]]
  // CHECK-NOT: tile.copy
  // CHECK: return
  func.func @between(%a: memref<8x32xf32, 1>, %b: memref<8x32xf32, 1>) {
    %t = memref.alloc() : memref<8x32xf32>
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 32 {
        %x = affine.load %a[%i, %j] : memref<8x32xf32, 1>
        affine.store %x, %t[%i, %j] : memref<8x32xf32>
      }
    } {tile.schedule = #tile.schedule<level = "core", members = 2, ops = 2, loops = [<loop = 2, tile = 2, spread = true>], placements = [<array = 1, at = 2, memory = "l2">]>}
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 32 {
        %x = affine.load %t[%i, %j] : memref<8x32xf32>
        affine.store %x, %b[%i, %j] : memref<8x32xf32, 1>
      }
    }
    return
  }

  // What a tile reads, two nests wrote together: the border and what is inside.
  // CHECK-LABEL: func.func @written_by_two
  // CHECK: tile.parallel
  // CHECK: memref.alloc() {alignment = 64 : i64} : memref<2x10xf32>
  // CHECK-NOT: tile.copy
  // CHECK: return
  func.func @written_by_two(%a: memref<4x8xf32>, %b: memref<4x8xf32>) {
    %zero = arith.constant 0.0 : f32
    %t = memref.alloc() : memref<4x10xf32>
    affine.for %c = 0 to 4 {
      affine.store %zero, %t[%c, 0] : memref<4x10xf32>
      affine.store %zero, %t[%c, 9] : memref<4x10xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, ops = 3, loops = [<loop = 3, tile = 2>], placements = [<array = 0, at = 3, memory = "l2">]>}
    affine.for %c = 0 to 4 {
      affine.for %i = 0 to 8 {
        %x = affine.load %a[%c, %i] : memref<4x8xf32>
        affine.store %x, %t[%c, %i + 1] : memref<4x10xf32>
      }
    }
    affine.for %c = 0 to 4 {
      affine.for %i = 0 to 10 {
        %x = affine.load %t[%c, %i] : memref<4x10xf32>
        affine.store %x, %b[%c, %i mod 8] : memref<4x8xf32>
      }
    }
    return
  }

  // Rows 4096 bytes apart would share the sets of the first cache (32 KiB, 8 ways): a line more, of which nothing is used.
  // CHECK-LABEL: func.func @spread
  // CHECK: %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x1040xf32>
  // CHECK: affine.store %{{.*}}, %[[B]][%{{.*}}, %{{.*}}]
  // One row is as it was.
  // CHECK: memref.alloc() {alignment = 64 : i64} : memref<1x1024xf32>
  func.func @spread(%a: memref<8x1024xf32>, %b: memref<8x1024xf32>) {
    %t = memref.alloc() : memref<8x1024xf32>
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 1024 {
        %x = affine.load %a[%i, %j] : memref<8x1024xf32>
        affine.store %x, %t[%i, %j] : memref<8x1024xf32>
      }
    } {tile.schedule = #tile.schedule<level = "core", members = 2, ops = 2, loops = [<loop = 2, tile = 2, spread = true>], placements = [<array = 1, at = 2, memory = "l2">]>}
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 1024 {
        %x = affine.load %t[%i, %j] : memref<8x1024xf32>
        affine.store %x, %b[%i, %j] : memref<8x1024xf32>
      }
    }
    %u = memref.alloc() : memref<8x1024xf32>
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 1024 {
        %x = affine.load %a[%i, %j] : memref<8x1024xf32>
        affine.store %x, %u[%i, %j] : memref<8x1024xf32>
      }
    } {tile.schedule = #tile.schedule<level = "core", members = 2, ops = 2, loops = [<loop = 2, tile = 1, spread = true>], placements = [<array = 1, at = 2, memory = "l2">]>}
    affine.for %i = 0 to 8 {
      affine.for %j = 0 to 1024 {
        %x = affine.load %u[%i, %j] : memref<8x1024xf32>
        affine.store %x, %b[%i, %j] : memref<8x1024xf32>
      }
    }
    return
  }

}

// -----

module attributes {tilewright.target = "cpu:zen4"} {
  func.func @not_between(%a: memref<8xf32>, %b: memref<8xf32>) {
    // expected-error @below {{schedule places array 0 in the cache "l2", but others than one tile of loop 0 use it}}
    affine.for %i = 0 to 8 {
      %x = affine.load %a[%i] : memref<8xf32>
      affine.store %x, %b[%i] : memref<8xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 2>], placements = [<array = 0, at = 0, memory = "l2">]>}
    return
  }
}

// -----

module attributes {tilewright.target = "cpu:zen4"} {
  func.func @no_memory(%a: memref<8xf32>, %b: memref<8xf32>) {
    // expected-error @below {{schedule places array 0 in "l9", which is no memory of cpu:zen4}}
    affine.for %i = 0 to 8 {
      %x = affine.load %a[%i] : memref<8xf32>
      affine.store %x, %b[%i] : memref<8xf32>
    } {tile.schedule = #tile.schedule<level = "core", members = 1, loops = [<loop = 0, tile = 2>], placements = [<array = 0, at = 0, memory = "l9">]>}
    return
  }
}

// -----

module attributes {tilewright.target = "accelerator:npu"} {
  // Every second element of rows of seven: the box has what lies between, too. The last tile has one row.
  // CHECK-LABEL: func.func private @every_second
  // CHECK: tile.copy %arg0[symbol(%{{.*}}) * 14] {{.*}} shape [14] : memref<35xf32>, memref<14xf32, "scratchpad">
  // CHECK: tile.copy %arg0[28] {{.*}} shape [14] valid(7) : memref<35xf32>, memref<14xf32, "scratchpad">
  func.func private @every_second(%x: memref<35xf32>, %y: memref<5x4xf32>) attributes {tilewright.kernel} {
    affine.for %i = 0 to 5 {
      affine.for %j = 0 to 4 {
        %v = affine.load %x[%i * 7 + %j * 2] : memref<35xf32>
        affine.store %v, %y[%i, %j] : memref<5x4xf32>
      }
    } {tile.schedule = #tile.schedule<level = "core", members = 3, loops = [<loop = 0, tile = 2, spread = true>],
       placements = [<array = 0, at = 0, memory = "scratchpad">, <array = 1, at = 0, memory = "scratchpad">]>}
    return
  }
}
