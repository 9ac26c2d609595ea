// Rows of a reduction over subgroups, several where rows are few; what is not contiguous stays for the next pass.
//
// RUN: tw-opt %s -split-input-file -map-rows-to-lanes | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {

// Many short rows: a subgroup each, several in a block; the guard is for the last block.
// CHECK-LABEL: @sums
// CHECK: tile.parallel (%[[B:.*]]) to (2501) level "grid"
// CHECK:   tile.parallel (%[[W:.*]]) to (4) level "block"
// CHECK:     %[[INSIDE:.*]] = arith.cmpi slt
// CHECK:     scf.if %[[INSIDE]]
// CHECK:       tile.broadcast
// CHECK:       tile.load %{{.*}} : memref<10001x128xf32> -> !tile.fragment<1x128xf32
// CHECK:       tile.map
// CHECK:       %[[T:.*]] = tile.reduce %{{.*}} dimension 1
// CHECK:       tile.load %{{.*}} : memref<10001xf32> -> !tile.fragment<1x1xf32
// CHECK:       tile.store
// CHECK-NOT: affine.for
func.func private @sums(%a: memref<10001x128xf32>, %s: memref<10001xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 10001 {
    affine.for %j = 0 to 128 {
      %x = affine.load %a[%i, %j] : memref<10001x128xf32>
      %t = affine.load %s[%i] : memref<10001xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<10001xf32>
    }
  }
  return
}

// Few long rows of unknown length: several subgroups a row, the scratchpad between them, lanes beyond the row keep their
// maximum.
// CHECK-LABEL: @maxima
// CHECK: tile.parallel (%[[I:.*]]) to (7) level "grid"
// CHECK:   %[[S:.*]] = tile.alloc() : memref<[[N:[0-9]+]]xf32, "shared">
// CHECK:   tile.parallel (%{{.*}}) to ([[N]]) level "block"
// CHECK:     affine.for
// CHECK:       tile.index
// CHECK:       tile.load {{.*}} valid
// CHECK:       arith.maximumf
// CHECK:       arith.select
// CHECK:     tile.reduce
// CHECK:     tile.store %{{.*}}, %[[S]]
// CHECK:   tile.parallel (%{{.*}}) to ([[N]]) level "block"
// CHECK:     tile.load %[[S]]
// CHECK:     tile.reduce
// CHECK:     scf.if
// CHECK:       tile.store
func.func private @maxima(%a: memref<7x?xf32>, %s: memref<7xf32>, %n: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to 7 {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<7x?xf32>
      %t = affine.load %s[%i] : memref<7xf32>
      %y = arith.maximumf %x, %t : f32
      affine.store %y, %s[%i] : memref<7xf32>
    }
  }
  return
}

// Rows whose pitch only the run shows: vectors where it keeps them aligned, else single elements.
// CHECK-LABEL: @pitches
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?xf32>, %[[H:[a-z0-9]+]]: memref<?x?xf16>
// CHECK-DAG: %[[PA:.*]] = memref.dim %[[A]], %c1
// CHECK-DAG: %[[PH:.*]] = memref.dim %[[H]], %c1
// CHECK: tile.parallel
// CHECK:   %[[RA:.*]] = arith.remui %[[PA]], %c4
// CHECK:   %[[NA:.*]] = arith.cmpi eq, %[[RA]], %c0
// CHECK:   %[[RH:.*]] = arith.remui %[[PH]], %c4
// CHECK:   %[[NH:.*]] = arith.cmpi eq, %[[RH]], %c0
// CHECK:   %[[BOTH:.*]] = arith.andi %[[NA]], %[[NH]]
// CHECK:   scf.if %[[BOTH]] {
// CHECK:     tile.load %[[A]]{{.*}}tilewright.row_multiple = 4{{.*}} -> !tile.fragment<1x256xf32, #[[WIDE:.*]]>
// CHECK:     tile.load %[[H]]{{.*}}tilewright.row_multiple = 4
// CHECK:   } else {
// CHECK-NOT: row_multiple
// CHECK:     tile.load %[[A]]{{.*}} -> !tile.fragment<1x256xf32, #[[SINGLE:.*]]>
// CHECK-NOT: row_multiple
func.func private @pitches(%a: memref<?x?xf32>, %h: memref<?x?xf16>, %s: memref<?xf32>, %m: index, %n: index)
    attributes {tilewright.kernel} {
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<?x?xf32>
      %g = affine.load %h[%i, %j] : memref<?x?xf16>
      %w = arith.extf %g : f16 to f32
      %p = arith.mulf %x, %w : f32
      %t = affine.load %s[%i] : memref<?xf32>
      %y = arith.addf %p, %t : f32
      affine.store %y, %s[%i] : memref<?xf32>
    }
  }
  return
}

// An innermost size that is known divides the pitch, whatever the others are.
// CHECK-LABEL: @known
// CHECK-NOT: remui
// CHECK: tile.load %{{.*}} -> !tile.fragment<1x128xf32
func.func private @known(%a: memref<?x?x128xf32>, %s: memref<?x?xf32>, %m: index, %n: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to %m {
    affine.for %k = 0 to %n {
      affine.for %j = 0 to 128 {
        %x = affine.load %a[%i, %k, %j] : memref<?x?x128xf32>
        %t = affine.load %s[%i, %k] : memref<?x?xf32>
        %y = arith.addf %x, %t : f32
        affine.store %y, %s[%i, %k] : memref<?x?xf32>
      }
    }
  }
  return
}

// Columns: neighbouring lanes take neighbouring columns already.
// CHECK-LABEL: @columns
// CHECK-NOT: tile.
// CHECK: affine.for
func.func private @columns(%a: memref<128x256xf32>, %s: memref<256xf32>) attributes {tilewright.kernel} {
  affine.for %j = 0 to 256 {
    affine.for %i = 0 to 128 {
      %x = affine.load %a[%i, %j] : memref<128x256xf32>
      %t = affine.load %s[%j] : memref<256xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%j] : memref<256xf32>
    }
  }
  return
}

// A difference is no sum: its order matters.
// CHECK-LABEL: @differences
// CHECK-NOT: tile.
// CHECK: affine.for
func.func private @differences(%a: memref<16x512xf32>, %s: memref<16xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 512 {
      %x = affine.load %a[%i, %j] : memref<16x512xf32>
      %t = affine.load %s[%i] : memref<16xf32>
      %y = arith.subf %t, %x : f32
      affine.store %y, %s[%i] : memref<16xf32>
    }
  }
  return
}
}

// -----

// The strict contract keeps the order of a sum.
module attributes {tilewright.target = "nvidia:A100", tilewright.fp = "strict"} {
// CHECK-LABEL: @strict
// CHECK-NOT: tile.
// CHECK: affine.for
func.func private @strict(%a: memref<16x512xf32>, %s: memref<16xf32>) attributes {tilewright.kernel} {
  affine.for %i = 0 to 16 {
    affine.for %j = 0 to 512 {
      %x = affine.load %a[%i, %j] : memref<16x512xf32>
      %t = affine.load %s[%i] : memref<16xf32>
      %y = arith.addf %x, %t : f32
      affine.store %y, %s[%i] : memref<16xf32>
    }
  }
  return
}
}
