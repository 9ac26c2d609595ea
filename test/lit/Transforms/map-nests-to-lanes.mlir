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
func.func private @rows(%a: memref<?x?xf32>, %m: index, %n: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to %m {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%i, %j] : memref<?x?xf32>
      %y = arith.addf %x, %x : f32
      affine.store %y, %a[%i, %j] : memref<?x?xf32>
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
func.func private @turned(%a: memref<?x96xf32>, %b: memref<?x96xf32>, %n: index) attributes {tilewright.kernel} {
  affine.for %i = 0 to 96 {
    affine.for %j = 0 to %n {
      %x = affine.load %a[%j, %i] : memref<?x96xf32>
      %y = arith.addf %x, %x : f32
      affine.store %y, %b[%j, %i] : memref<?x96xf32>
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
}
