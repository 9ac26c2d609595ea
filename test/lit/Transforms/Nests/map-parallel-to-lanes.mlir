// Iterations of parallel loops get lanes; reductions are made of 1024 parts, in the same order on every chip.
//
// RUN: tw-opt %s -split-input-file -map-parallel-to-lanes -canonicalize | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[A:.*]]: memref<?x5xf32>)
// CHECK: %[[N:.*]] = memref.dim %[[A]], %c0
// CHECK: %[[TOTAL:.*]] = arith.muli %[[N]], %c5
// CHECK: tile.parallel (%{{.*}}) to (symbol(%[[TOTAL]]) ceildiv 256) level "grid"
// CHECK:   tile.parallel (%{{.*}}) to (8) level "block"
// CHECK:     tile.parallel (%{{.*}}) to (32) level "subgroup"
// CHECK:       %[[ID:.*]] = affine.apply
// CHECK:       %[[J:.*]] = arith.remui %[[ID]], %c5
// CHECK:       %[[I:.*]] = arith.divui %[[ID]], %c5
// CHECK:       %[[IN:.*]] = arith.cmpi ult, %[[ID]], %[[TOTAL]]
// CHECK:       scf.if %[[IN]]
// CHECK:         memref.load %[[A]][%[[I]], %[[J]]]
// CHECK-NOT: scf.parallel
func.func @plain(%a: memref<?x5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %n = memref.dim %a, %c0 : memref<?x5xf32>
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c5) step (%c1, %c1) {
    %x = memref.load %a[%i, %j] : memref<?x5xf32>
    %y = arith.negf %x : f32
    memref.store %y, %a[%i, %j] : memref<?x5xf32>
    scf.reduce
  }
  return
}

// Bounds that only the run knows may be empty.
// CHECK-LABEL: func.func @bounds
// CHECK-SAME: (%{{.*}}: memref<?xf32>, %[[FROM:.*]]: index, %[[TO:.*]]: index, %[[STEP:.*]]: index)
// CHECK: %[[WIDE:.*]] = arith.subi %[[TO]], %[[FROM]]
// CHECK: %[[TURNS:.*]] = arith.ceildivsi %[[WIDE]], %[[STEP]]
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[TURNS]], %c0
// CHECK: tile.parallel (%{{.*}}) to (symbol(%[[COUNT]]) ceildiv 256) level "grid"
// CHECK: %[[SCALED:.*]] = arith.muli %{{.*}}, %[[STEP]]
// CHECK: %[[AT:.*]] = arith.addi %[[SCALED]], %[[FROM]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[AT]]]
func.func @bounds(%a: memref<?xf32>, %from: index, %to: index, %step: index) {
  %z = arith.constant 0.0 : f32
  scf.parallel (%i) = (%from) to (%to) step (%step) {
    memref.store %z, %a[%i] : memref<?xf32>
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[A:.*]]: memref<?xf32>, %[[INIT:.*]]: f32
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[COUNT:.*]] = arith.minsi %[[N]], %c1024
// CHECK: %[[PARTS:.*]] = memref.alloc() : memref<1024xf32>
// CHECK: tile.parallel (%{{.*}}) to (symbol(%[[COUNT]]) ceildiv 256) level "grid"
// CHECK: scf.if
// CHECK:   %[[FIRST:.*]] = memref.load %[[A]][%[[ID:.*]]]
// CHECK:   %[[NEXT:.*]] = arith.addi %[[ID]], %c1024
// CHECK:   %[[PART:.*]] = scf.for %{{.*}} = %[[NEXT]] to %[[N]] step %c1024 iter_args(%[[X:.*]] = %[[FIRST]])
// CHECK:     %[[MORE:.*]] = memref.load %[[A]]
// CHECK:     arith.addf %[[X]], %[[MORE]]
// CHECK:   memref.store %[[PART]], %[[PARTS]][%[[ID]]]
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %[[COUNT]] step %c1 iter_args(%{{.*}} = %[[INIT]])
// CHECK:   memref.load %[[PARTS]]
// CHECK:   arith.addf
// CHECK: memref.store %[[SUM]]
func.func @sum(%a: memref<?xf32>, %init: f32, %r: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%init) -> f32 {
    %x = memref.load %a[%i] : memref<?xf32>
    scf.reduce(%x : f32) {
    ^bb0(%u: f32, %v: f32):
      %w = arith.addf %u, %v : f32
      scf.reduce.return %w : f32
    }
  }
  memref.store %s, %r[] : memref<f32>
  return
}

// The inner loop is a lane's own; with 40 iterations each lane has one.
// CHECK-LABEL: func.func @rows
// CHECK: tile.parallel (%{{.*}}) to (symbol(%c40) ceildiv 256) level "grid"
// CHECK:   scf.for {{.*}} iter_args
// CHECK-NOT: scf.parallel
func.func @rows(%a: memref<40x7xf32>, %r: memref<40xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c40 = arith.constant 40 : index
  %z = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c40) step (%c1) {
    %s = scf.parallel (%j) = (%c0) to (%c7) step (%c1) init (%z) -> f32 {
      %x = memref.load %a[%i, %j] : memref<40x7xf32>
      scf.reduce(%x : f32) {
      ^bb0(%u: f32, %v: f32):
        %w = arith.addf %u, %v : f32
        scf.reduce.return %w : f32
      }
    }
    memref.store %s, %r[%i] : memref<40xf32>
    scf.reduce
  }
  return
}

// A call is no business of a lane.
func.func private @f(%a: memref<40xf32>, %i: index)
// CHECK-LABEL: func.func @calls
// CHECK: scf.for
// CHECK-NOT: tile.parallel
// CHECK: call @f
func.func @calls(%a: memref<40xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  scf.parallel (%i) = (%c0) to (%c40) step (%c1) {
    func.call @f(%a, %i) : (memref<40xf32>, index) -> ()
    scf.reduce
  }
  return
}

// What combines uses a value of the iteration: partial results could not be combined behind the loop.
// CHECK-LABEL: func.func @captures
// CHECK-NOT: tile.parallel
// CHECK: scf.for
// CHECK: arith.mulf
func.func @captures(%n: index, %a: memref<?xf32>, %r: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
    %v = memref.load %a[%i] : memref<?xf32>
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      %t = arith.mulf %y, %v : f32
      %u = arith.addf %x, %t : f32
      scf.reduce.return %u : f32
    }
  }
  memref.store %s, %r[] : memref<f32>
  return
}
}

// -----

// With the strict contract a sum has the order of its iterations.
module attributes {tilewright.target = "amd:MI300X", tilewright.fp = "strict"} {
// CHECK-LABEL: func.func @strict
// CHECK-NOT: tile.parallel
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args
func.func @strict(%a: memref<?xf32>, %init: f32, %r: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%init) -> f32 {
    %x = memref.load %a[%i] : memref<?xf32>
    scf.reduce(%x : f32) {
    ^bb0(%u: f32, %v: f32):
      %w = arith.addf %u, %v : f32
      scf.reduce.return %w : f32
    }
  }
  memref.store %s, %r[] : memref<f32>
  return
}
}
