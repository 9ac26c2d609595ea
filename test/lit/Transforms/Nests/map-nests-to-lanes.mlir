// Parallel loops are counted through by one number; what depends on itself stays in one lane.
//
// RUN: tw-opt %s -map-nests-to-lanes -canonicalize | FileCheck %s

module attributes {tilewright.target = "amd:MI300X"} {

// CHECK-LABEL: @rows
// CHECK: %[[N:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: tile.parallel (%{{.*}}) to ({{.*}}ceildiv 256) level "grid"
// CHECK:   tile.parallel (%{{.*}}) to (4) level "block"
// CHECK:     tile.parallel (%{{.*}}) to (64) level "subgroup"
// CHECK:       %[[ID:.*]] = affine.apply
// CHECK:       %[[J:.*]] = arith.remui %[[ID]]
// CHECK:       %[[I:.*]] = arith.divui %[[ID]]
// CHECK:       arith.cmpi ult, %[[ID]], %[[N]]
// CHECK:       scf.if
// CHECK:         memref.load %{{.*}}[%[[I]], %[[J]]]
func.func private @rows(%a: memref<?x?xindex>, %m: index, %n: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<?x?xindex>
      %y = arith.addi %x, %x : index
      affine.store %y, %a[%i, %j] : memref<?x?xindex>
    }
  }
  return
}

// CHECK-LABEL: @sums
// CHECK: tile.parallel (%{{.*}}) to ({{.*}}ceildiv 256) level "grid"
// CHECK:   scf.if
// CHECK:     scf.for
// CHECK:       memref.store
func.func private @sums(%a: memref<32x64xf32>, %s: memref<32xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 64 {
      %x = affine.load %a[%i, %j] : memref<32x64xf32>
      %t = affine.load %s[%i] : memref<32xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<32xf32>
    }
  }
  return
}

// Lanes run along what lies side by side, whatever the order of the loops.
// CHECK-LABEL: @turned
// CHECK:       %[[ID:.*]] = affine.apply
// CHECK:       %[[I:.*]] = arith.remui %[[ID]]
// CHECK:       %[[J:.*]] = arith.divui %[[ID]]
// CHECK:         memref.load %{{.*}}[%[[J]], %[[I]]]
// CHECK:         memref.store %{{.*}}, %{{.*}}[%[[J]], %[[I]]]
func.func private @turned(%a: memref<?x96xi1>, %b: memref<?x96xi1>, %n: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%j, %i] : memref<?x96xi1>
      %y = arith.addi %x, %x : i1
      affine.store %y, %b[%j, %i] : memref<?x96xi1>
    }
  }
  return
}

// Sums of columns: the loop over columns goes outside, and a lane keeps its sum in a register.
// CHECK-LABEL: @columns
// CHECK: %[[ALL:.*]] = arith.constant 700 : index
// CHECK: tile.parallel (%{{.*}}) to (symbol(%[[ALL]]) ceildiv 256) level "grid"
// CHECK:   scf.if
// CHECK:     %[[START:.*]] = memref.load %arg1[%[[COLUMN:.*]]]
// CHECK:     %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[S:.*]] = %[[START]])
// CHECK:       memref.load %arg0[%{{.*}}, %[[COLUMN]]]
// CHECK-NOT:   memref.store
// CHECK:       scf.yield
// CHECK:     memref.store %[[SUM]], %arg1[%[[COLUMN]]]
func.func private @columns(%a: memref<32x700xf32>, %s: memref<700xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 700 {
      %x = affine.load %a[%i, %j] : memref<32x700xf32>
      %t = affine.load %s[%j] : memref<700xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%j] : memref<700xf32>
    }
  }
  return
}

// The same where an iteration has two sums side by side: they lie apart by less than a step of the loop.
// CHECK-LABEL: @pairs
// CHECK: %[[ALL:.*]] = arith.constant 350 : index
// CHECK: tile.parallel (%{{.*}}) to (symbol(%[[ALL]]) ceildiv 256) level "grid"
func.func private @pairs(%a: memref<32x700xf32>, %s: memref<700xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 350 {
      %x = affine.load %a[%i, 2 * %j] : memref<32x700xf32>
      %t = affine.load %s[2 * %j] : memref<700xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[2 * %j] : memref<700xf32>
      %u = affine.load %a[%i, 2 * %j + 1] : memref<32x700xf32>
      %v = affine.load %s[2 * %j + 1] : memref<700xf32>
      %w = arith.addf %u, %v : f32
      affine.store %w, %s[2 * %j + 1] : memref<700xf32>
    }
  }
  return
}

// Each column is parallel within a row, but takes what the row before left in another one: it stays inside.
// CHECK-LABEL: @diagonals
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: tile.parallel (%{{.*}}) to (symbol(%[[ONE]]) ceildiv 256) level "grid"
// CHECK:   scf.if
// CHECK:     scf.for
// CHECK:       scf.for
// CHECK:         memref.store
func.func private @diagonals(%a: memref<33x701xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 700 {
      %x = affine.load %a[%i, %j + 1] : memref<33x701xf32>
      affine.store %x, %a[%i + 1, %j] : memref<33x701xf32>
    }
  }
  return
}

// Lanes take as many neighbours as an access moves. All of the nest is one run: rows need be a multiple of nothing, and
// what is left of the last lane is done one by one.
// CHECK-LABEL: @neighbours
// CHECK: tile.parallel (%{{.*}}) to (symbol(%{{.*}}) ceildiv 256) level "grid"
// CHECK-NOT: arith.remui
// CHECK: scf.if
// CHECK:   scf.if
// CHECK:     tile.load %arg0[0, symbol(%[[N:.*]]) * 8] {{.*}} -> !tile.fragment<1x8xf16
// CHECK:     tile.load %arg1[0, symbol(%[[N]]) * 8] {{.*}} -> !tile.fragment<1x8xf16
// CHECK:     tile.map
// CHECK:     tile.store %{{.*}}, %arg2[0, symbol(%[[N]]) * 8]
// CHECK:   else
// CHECK:     scf.for
// CHECK:       arith.remui
// CHECK:       memref.store
// CHECK:     tilewright.few_times
func.func private @neighbours(%a: memref<4095x1023xf16>, %b: memref<4095x1023xf16>, %c: memref<4095x1023xf16>)
    attributes {tilewright.kernel} {
  affine.for %i = 0 to 4095 {
    affine.for %j = 0 to 1023 {
      %x = affine.load %a[%i, %j] : memref<4095x1023xf16>
      %y = affine.load %b[%i, %j] : memref<4095x1023xf16>
      %z = arith.addf %x, %y : f16
      affine.store %z, %c[%i, %j] : memref<4095x1023xf16>
    }
  }
  return
}

// What all neighbours share is read once, each row's length is a multiple of what a lane takes, and the number of an
// iteration is one of a fragment.
// CHECK-LABEL: @shared
// CHECK: arith.remui
// CHECK: scf.if
// CHECK-NOT: scf.if
// CHECK:   tile.index 1 : {{.*}}<1x4xindex
// CHECK:   %[[ROW:.*]] = memref.load %arg1
// CHECK:   tile.load %arg0[symbol(%{{.*}}), symbol(%[[N:.*]]) * 4] {{.*}} -> !tile.fragment<1x4xf32
// CHECK:   tile.map
// CHECK:     arith.mulf %{{.*}}, %[[ROW]]
// CHECK:   tile.store %{{.*}}, %arg2[symbol(%{{.*}}), symbol(%[[N]]) * 4]
// CHECK-NOT: scf.for
func.func private @shared(%a: memref<4096x1024xf32>, %b: memref<4096xf32>, %c: memref<4096x1024xf32>)
    attributes {tilewright.kernel} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 1024 {
      %s = affine.load %b[%i] : memref<4096xf32>
      %x = affine.load %a[%i, %j] : memref<4096x1024xf32>
      %k = arith.index_cast %j : index to i32
      %f = arith.sitofp %k : i32 to f32
      %y = arith.mulf %x, %s : f32
      %z = arith.addf %y, %f : f32
      affine.store %z, %c[%i, %j] : memref<4096x1024xf32>
    }
  }
  return
}

// Few iterations keep a lane each: so many multiprocessors work.
// CHECK-LABEL: @few
// CHECK-NOT: tile.load
// CHECK: memref.store
func.func private @few(%a: memref<32x64xf16>, %c: memref<32x64xf16>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 32 {
    affine.for %j = 0 to 64 {
      %x = affine.load %a[%i, %j] : memref<32x64xf16>
      affine.store %x, %c[%i, %j] : memref<32x64xf16>
    }
  }
  return
}

// Rows of an odd length that are read with a shift begin anywhere: no access is wider than an element.
// CHECK-LABEL: @shifted
// CHECK-NOT: tile.load
// CHECK: memref.store
func.func private @shifted(%a: memref<4096x1025xf16>, %c: memref<4096x1023xf16>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 1023 {
      %x = affine.load %a[%i, %j + 1] : memref<4096x1025xf16>
      affine.store %x, %c[%i, %j] : memref<4096x1023xf16>
    }
  }
  return
}

// Loops inside an iteration stay in one lane, an element each.
// CHECK-LABEL: @inside
// CHECK-NOT: tile.load
// CHECK: scf.for
func.func private @inside(%a: memref<16x4096x1024xf16>, %c: memref<4096x1024xf16>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4096 {
    affine.for %j = 0 to 1024 {
      affine.for %k = 0 to 16 {
        %x = affine.load %a[%k, %i, %j] : memref<16x4096x1024xf16>
        %y = affine.load %c[%i, %j] : memref<4096x1024xf16>
        %z = arith.addf %x, %y : f16
        affine.store %z, %c[%i, %j] : memref<4096x1024xf16>
      }
    }
  }
  return
}

// Whether rows lie one behind the other only the run shows. If not, a lane's iterations are apart, and neighbours in
// neighbouring lanes.
// CHECK-LABEL: @unknown
// CHECK-SAME: (%[[A:.*]]: memref<?x?xf16>, %[[C:.*]]: memref<?x?xf16>, %{{.*}}: index, %[[N:.*]]: index)
// CHECK: %[[LANES:.*]] = arith.ceildivui
// CHECK: scf.if
// CHECK:   arith.cmpi eq, %{{.*}}, %[[N]]
// CHECK:   %[[ONE:.*]] = arith.andi
// CHECK:   scf.if %[[ONE]]
// CHECK:     tile.load %[[A]][0, symbol(%{{.*}}) * [[V:[0-9]+]]] {{.*}} -> !tile.fragment<1x[[V]]xf16
// CHECK:     tile.store %{{.*}}, %[[C]][0, symbol(%{{.*}}) * [[V]]]
// CHECK:     scf.for
// CHECK:   else
// CHECK:     scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}}
// CHECK:       memref.store
func.func private @unknown(%a: memref<?x?xf16>, %c: memref<?x?xf16>, %m: index, %n: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<?x?xf16>
      %y = arith.addf %x, %x : f16
      affine.store %y, %c[%i, %j] : memref<?x?xf16>
    }
  }
  return
}

// Fragments begin at their lowest element, so lanes take one element each of what is read backwards.
// CHECK-LABEL: @backwards
// CHECK-NOT: tile.load
// CHECK: memref.store
func.func private @backwards(%a: memref<2000x1024xf32>, %b: memref<2000x1024xf32>, %c: memref<2000x1024xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 2000 {
    affine.for %j = 0 to 1024 {
      %x = affine.load %a[%i, 1023 - %j] : memref<2000x1024xf32>
      %y = affine.load %b[%i, %j] : memref<2000x1024xf32>
      %z = arith.addf %x, %y : f32
      affine.store %z, %c[%i, %j] : memref<2000x1024xf32>
    }
  }
  return
}

// Reads at computed indices keep loops parallel, since nothing writes what they read.
// CHECK-LABEL: @gathers
// CHECK: %[[ALL:.*]] = arith.constant 393216 : index
// CHECK: tile.parallel (%{{.*}}) to (symbol(%[[ALL]]) ceildiv 256) level "grid"
// CHECK:   memref.load %arg1
// CHECK:   memref.store
func.func private @gathers(%at: memref<512xi32>, %table: memref<1000x768xf32>, %c: memref<512x768xf32>)
    attributes {tilewright.opaque, tilewright.apart} {
  affine.for %i = 0 to 512 {
    affine.for %j = 0 to 768 {
      %n = affine.load %at[%i] : memref<512xi32>
      %k = arith.index_cast %n : i32 to index
      %x = memref.load %table[%k, %j] : memref<1000x768xf32>
      affine.store %x, %c[%i, %j] : memref<512x768xf32>
    }
  }
  return
}

// What is written may be what is read, here or behind a view: one lane walks the loop.
// CHECK-LABEL: @chases
// CHECK-NOT: tile.parallel
// CHECK: affine.for
// CHECK: affine.for
// CHECK: return
func.func private @chases(%at: memref<512xindex>, %a: memref<1024xf32>) attributes {tilewright.opaque, tilewright.apart} {
  %v = memref.subview %a[512] [512] [1] : memref<1024xf32> to memref<512xf32, strided<[1], offset: 512>>
  affine.for %i = 0 to 512 {
    %k = affine.load %at[%i] : memref<512xindex>
    %x = memref.load %a[%k] : memref<1024xf32>
    affine.store %x, %a[%i] : memref<1024xf32>
  }
  affine.for %i = 0 to 512 {
    %k = affine.load %at[%i] : memref<512xindex>
    %x = memref.load %v[%k] : memref<512xf32, strided<[1], offset: 512>>
    affine.store %x, %a[%i] : memref<1024xf32>
  }
  return
}

// Arrays of an opaque function that are not known to be apart may be the same.
// CHECK-LABEL: @unknown_arrays
// CHECK-NOT: tile.parallel
func.func private @unknown_arrays(%at: memref<512xindex>, %b: memref<512xf32>, %c: memref<512xf32>)
    attributes {tilewright.opaque} {
  affine.for %i = 0 to 512 {
    %k = affine.load %at[%i] : memref<512xindex>
    %x = memref.load %b[%k] : memref<512xf32>
    affine.store %x, %c[%i] : memref<512xf32>
  }
  return
}
}
