// RUN: tw-opt %s -split-input-file -pipeline-tiles -verify-diagnostics | FileCheck %s

#row = affine_map<(p) -> (p)>
#staged = affine_map<(p) -> (0, p)>

// The first tile is copied before the loop, each next one before the wait for this one; a stage that goes out is awaited when
// it is written again.
// CHECK-LABEL: func.func @both_ways
// CHECK: %[[NONE:.*]] = tile.done
// CHECK: %[[FIRST:.*]] = scf.if %{{.*}} -> (!tile.token) {
// CHECK: %[[COPY:.*]] = tile.copy %arg0[%{{.*}} * 16] elements #{{.*}} to %{{.*}}[%{{.*}} mod 2, 0]
// CHECK-NEXT: scf.yield %[[COPY]]
// CHECK: scf.yield %[[NONE]]
// CHECK: %[[LAST:.*]]:3 = affine.for %[[T:.*]] = 0 to %arg2 iter_args(%[[IN:.*]] = %[[FIRST]], %[[OLD:.*]] = %[[NONE]], %[[NEW:.*]] = %[[NONE]])
// CHECK: %[[NEXT:.*]] = scf.if %{{.*}} -> (!tile.token) {
// CHECK:   %[[U:.*]] = affine.apply #{{.*}}(%[[T]])
// CHECK:   tile.copy %arg0[%[[U]] * 16] elements #{{.*}} to %{{.*}}[%[[U]] mod 2, 0]
// CHECK: tile.wait %[[IN]], %[[OLD]]
// CHECK-NEXT: affine.for
// CHECK: %[[OUT:.*]] = tile.copy %{{.*}}[%[[T]] mod 2, 0] elements #{{.*}} to %arg1[%[[T]] * 16]
// CHECK-NEXT: affine.yield %[[NEXT]], %[[NEW]], %[[OUT]]
// CHECK: tile.wait %[[LAST]]#1, %[[LAST]]#2
func.func @both_ways(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  %x = tile.alloc() : memref<2x16xf32, "scratchpad">
  %y = tile.alloc() : memref<2x16xf32, "scratchpad">
  affine.for %t = 0 to %n {
    %in = tile.copy %a[%t * 16] elements #row to %x[%t mod 2, 0] elements #staged shape [16] : memref<?xf32>, memref<2x16xf32, "scratchpad">
    tile.wait %in
    affine.for %i = 0 to 16 {
      %v = affine.load %x[%t mod 2, %i] : memref<2x16xf32, "scratchpad">
      affine.store %v, %y[%t mod 2, %i] : memref<2x16xf32, "scratchpad">
    }
    %out = tile.copy %y[%t mod 2, 0] elements #staged to %b[%t * 16] elements #row shape [16] : memref<2x16xf32, "scratchpad">, memref<?xf32>
    tile.wait %out
  } {tile.stages = 2 : i64}
  return
}

// -----

func.func @no_copies(%a: memref<16xf32>, %n: index) {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{has 2 stages but no copies around its work}}
  affine.for %t = 0 to %n {
    affine.store %x, %a[0] : memref<16xf32>
  } {tile.stages = 2 : i64}
  return
}

// -----

func.func @one_stage(%a: memref<16xf32>, %n: index) {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{has 1 stages and carries 0 values; a pipeline has two stages or more, and its loop carries nothing}}
  affine.for %t = 0 to %n {
    affine.store %x, %a[0] : memref<16xf32>
  } {tile.stages = 1 : i64}
  return
}

// -----

#plane = affine_map<(p, q) -> (p, q)>
#inside = affine_map<(p, q) -> (0, p, q)>

// Work that a unit does beside the next step: its stage is filled again after the next step's work has begun. The second
// loop finishes a tile beside the first loop of the next one, and the last tile after all.
// CHECK-LABEL: func.func @two_loops
// CHECK:     %[[NONE:.*]] = tile.done
// CHECK:     %[[FIRST:.*]] = scf.if
// CHECK:       tile.copy %arg0
// CHECK:     %[[SECOND:.*]] = scf.if
// CHECK:       tile.copy %arg0
// CHECK:     %[[ALL:.*]]:5 = affine.for %[[T:.*]] = 0 to %arg2 iter_args(%{{.*}} = %[[FIRST]], %{{.*}} = %[[SECOND]], %{{.*}} = %[[NONE]],
// CHECK:       %{{.*}}:5 = affine.for %[[S:.*]] = 0 to 4 iter_args(%[[IN:.*]] = %{{.*}}, %[[AHEAD:.*]] = %{{.*}}, %[[LAST:.*]] = %{{.*}}, %[[OLD:.*]] = %{{.*}}, %[[NEW:.*]] = %{{.*}})
// CHECK:         tile.wait %[[IN]]
// CHECK:         %[[WORK:.*]] = tile.multiply
// CHECK-NEXT:    tile.wait %[[LAST]]
// CHECK:         %[[NEXT:.*]] = scf.if %{{.*}} -> (!tile.token)
// CHECK:           %[[COPIED:.*]] = tile.copy %arg0
// CHECK-NEXT:      scf.yield %[[COPIED]]
// CHECK:           scf.yield %[[IN]]
// CHECK:         %[[LATER:.*]] = arith.cmpi slt, %{{.*}}, %[[T]]
// CHECK:         %[[LEFT:.*]] = arith.cmpi slt, %[[S]], %{{.*}}
// CHECK:         %[[BOTH:.*]] = arith.andi %[[LATER]], %[[LEFT]]
// CHECK:         %[[DONE:.*]]:2 = scf.if %[[BOTH]]
// CHECK:           tile.wait %[[OLD]]
// CHECK:           %[[OUT:.*]] = tile.copy {{.*}} to %arg1
// CHECK-NEXT:      scf.yield %[[NEW]], %[[OUT]]
// CHECK:         affine.yield %[[AHEAD]], %[[NEXT]], %[[WORK]], %[[DONE]]#0, %[[DONE]]#1
// CHECK:     tile.wait %[[ALL]]#2
// CHECK:     scf.if
// CHECK:       affine.for %{{.*}} = 0 to 2
// CHECK:         tile.copy {{.*}} to %arg1
func.func @two_loops(%a: memref<16x64xi8>, %y: memref<?x16xi32>, %n: index) {
  %zero = arith.constant 0 : index
  %x = tile.alloc() : memref<3x16x16xi8, "scratchpad">
  %w = tile.alloc() : memref<16x16xi8, "scratchpad">
  %c = tile.alloc() : memref<2x16x16xi32, "accumulator">
  %d = tile.alloc() : memref<2x8x16xi32, "scratchpad">
  affine.for %t = 0 to %n {
    affine.for %s = 0 to 4 {
      %in = tile.copy %a[0, %s * 16] elements #plane to %x[(%t * 4 + %s) mod 3, 0, 0] elements #inside shape [16, 16] : memref<16x64xi8>, memref<3x16x16xi8, "scratchpad">
      tile.wait %in
      %stage = affine.apply affine_map<(t, s) -> ((t * 4 + s) mod 3)>(%t, %s)
      %half = affine.apply affine_map<(t) -> (t mod 2)>(%t)
      %more = arith.cmpi ne, %s, %zero : index
      %u = tile.multiply %x[%stage, %zero, %zero], %w[%zero, %zero] to %c[%half, %zero, %zero] accumulate %more shape [16, 16, 16] {unit = "adder.adds_i8"} : memref<3x16x16xi8, "scratchpad">, memref<16x16xi8, "scratchpad">, memref<2x16x16xi32, "accumulator">
      tile.wait %u
    } {tile.stages = 3 : i64}
    affine.for %q = 0 to 2 {
      affine.for %i = 0 to 8 { affine.for %j = 0 to 16 {
        %v = affine.load %c[%t mod 2, %q * 8 + %i, %j] : memref<2x16x16xi32, "accumulator">
        affine.store %v, %d[%q mod 2, %i, %j] : memref<2x8x16xi32, "scratchpad">
      } }
      %out = tile.copy %d[%q mod 2, 0, 0] elements #inside to %y[%t * 16 + %q * 8, 0] elements #plane shape [8, 16] : memref<2x8x16xi32, "scratchpad">, memref<?x16xi32>
      tile.wait %out
    } {tile.stages = 2 : i64}
  } {tile.stages = 2 : i64}
  return
}

// -----

#plane = affine_map<(p, q) -> (p, q)>
#inside = affine_map<(p, q) -> (0, p, q)>

// What the second loop writes itself leaves nothing to wait for, also where its parts are more than the steps beside.
// CHECK-LABEL: func.func @slices_without_copies
// CHECK:     affine.for %{{.*}} = 0 to %arg2 iter_args
// CHECK:       affine.for %{{.*}} = 0 to 4 iter_args
// CHECK:         tile.multiply
// CHECK:         scf.if %{{.*}} {
// CHECK:           affine.store {{.*}} %arg1
// CHECK:       scf.if %{{.*}} {
// CHECK:         affine.for %{{.*}} = 4 to 6 {
// CHECK:           affine.store {{.*}} %arg1
func.func @slices_without_copies(%a: memref<16x64xi8>, %y: memref<?x16xi32>, %n: index) {
  %zero = arith.constant 0 : index
  %x = tile.alloc() : memref<3x16x16xi8, "scratchpad">
  %w = tile.alloc() : memref<16x16xi8, "scratchpad">
  %c = tile.alloc() : memref<2x18x16xi32, "accumulator">
  affine.for %t = 0 to %n {
    affine.for %s = 0 to 4 {
      %in = tile.copy %a[0, %s * 16] elements #plane to %x[(%t * 4 + %s) mod 3, 0, 0] elements #inside shape [16, 16] : memref<16x64xi8>, memref<3x16x16xi8, "scratchpad">
      tile.wait %in
      %stage = affine.apply affine_map<(t, s) -> ((t * 4 + s) mod 3)>(%t, %s)
      %half = affine.apply affine_map<(t) -> (t mod 2)>(%t)
      %more = arith.cmpi ne, %s, %zero : index
      %u = tile.multiply %x[%stage, %zero, %zero], %w[%zero, %zero] to %c[%half, %zero, %zero] accumulate %more shape [16, 16, 16] {unit = "adder.adds_i8"} : memref<3x16x16xi8, "scratchpad">, memref<16x16xi8, "scratchpad">, memref<2x18x16xi32, "accumulator">
      tile.wait %u
    } {tile.stages = 3 : i64}
    affine.for %q = 0 to 6 {
      affine.for %i = 0 to 3 { affine.for %j = 0 to 16 {
        %v = affine.load %c[%t mod 2, %q * 3 + %i, %j] : memref<2x18x16xi32, "accumulator">
        affine.store %v, %y[%t * 18 + %q * 3 + %i, %j] : memref<?x16xi32>
      } }
    } {tile.stages = 2 : i64}
  } {tile.stages = 2 : i64}
  return
}

// -----

func.func @loops_that_depend(%n: index) {
  affine.for %t = 0 to %n {
    // expected-error @below {{of a pipeline of two loops runs from 0 to one value that is known outside, in steps of 1}}
    affine.for %s = 0 to affine_map<(t) -> (t)>(%t) {
    } {tile.stages = 3 : i64}
    affine.for %q = 0 to 2 {
    } {tile.stages = 2 : i64}
  } {tile.stages = 2 : i64}
  return
}

// -----

#plane = affine_map<(p, q) -> (p, q)>
#inside = affine_map<(p, q) -> (0, p, q)>

// A group of the unit's commands, and a group of the rows of the tile before, in turns. The next step's copy follows group 1,
// in a tile's first step group 0, since the unit's results are read next. Steps that finish nothing have a loop of their own.
// CHECK-LABEL: func.func @groups
// CHECK:     affine.for %[[T:.*]] = 0 to %arg2 iter_args
// CHECK:       affine.for %[[S:.*]] = 0 to 4 iter_args(%[[IN:[^ ]*]] = %{{[^,]*}}, %[[AHEAD:[^ ]*]] = %{{[^,]*}}, %[[LAST:[^ ]*]] =
// CHECK:         %[[LATER:.*]] = arith.cmpi slt, %{{.*}}, %[[T]]
// CHECK:         %[[FINISHES:.*]] = arith.andi %[[LATER]], %{{.*}}
// CHECK:         tile.wait %[[IN]]
// CHECK:         %[[AFTER:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : index
// CHECK:         scf.if %[[FINISHES]] -> (!tile.token, !tile.token, !tile.token, !tile.token)
// CHECK:           affine.for %[[G:.*]] = 0 to 4 iter_args(%{{[^ ]*}} = %{{[^,]*}}, %[[NEXT:[^ ]*]] = %[[IN]])
// CHECK:             %[[WORK:.*]] = tile.multiply
// CHECK:             %[[NOW:.*]] = arith.cmpi eq, %[[G]], %[[AFTER]]
// CHECK:             %[[COPIED:.*]] = scf.if %[[NOW]] -> (!tile.token)
// CHECK-NEXT:          tile.wait %[[LAST]]
// CHECK:               tile.copy %arg0
// CHECK:               scf.yield %[[NEXT]]
// CHECK:             %[[HAS:.*]] = arith.cmpi slt, %[[G]], %{{.*}}
// CHECK:             scf.if %[[HAS]]
// CHECK:               affine.for
// CHECK:             affine.yield %[[WORK]], %[[COPIED]]
// CHECK:           tile.copy {{.*}} to %arg1
// CHECK:         } else {
// CHECK:           affine.for %{{.*}} = 0 to 4
// CHECK:             tile.multiply
// CHECK:             tile.copy %arg0
// CHECK-NOT:         affine.for
// CHECK:             affine.yield
// CHECK:     affine.for %{{.*}} = 0 to 2
// CHECK:       affine.for %{{.*}} = 0 to 2
// CHECK-NOT: tile.groups
func.func @groups(%a: memref<16x64xi8>, %y: memref<?x16xi32>, %n: index) {
  %zero = arith.constant 0 : index
  %x = tile.alloc() : memref<3x16x16xi8, "scratchpad">
  %w = tile.alloc() : memref<16x16xi8, "scratchpad">
  %c = tile.alloc() : memref<2x16x16xi32, "accumulator">
  %d = tile.alloc() : memref<2x8x16xi32, "scratchpad">
  affine.for %t = 0 to %n {
    affine.for %s = 0 to 4 {
      %in = tile.copy %a[0, %s * 16] elements #plane to %x[(%t * 4 + %s) mod 3, 0, 0] elements #inside shape [16, 16] : memref<16x64xi8>, memref<3x16x16xi8, "scratchpad">
      tile.wait %in
      %none = tile.done
      %u = affine.for %g = 0 to 4 iter_args(%before = %none) -> (!tile.token) {
        %stage = affine.apply affine_map<(t, s) -> ((t * 4 + s) mod 3)>(%t, %s)
        %half = affine.apply affine_map<(t) -> (t mod 2)>(%t)
        %row = affine.apply affine_map<(g) -> (g * 4)>(%g)
        %more = arith.cmpi ne, %s, %zero : index
        %p = tile.multiply %x[%stage, %row, %zero], %w[%zero, %zero] to %c[%half, %row, %zero] accumulate %more shape [4, 16, 16] {unit = "adder.adds_i8"} : memref<3x16x16xi8, "scratchpad">, memref<16x16xi8, "scratchpad">, memref<2x16x16xi32, "accumulator">
        affine.yield %p : !tile.token
      } {tile.groups = 1 : i64}
      tile.wait %u
    } {tile.stages = 3 : i64}
    affine.for %q = 0 to 2 {
      affine.for %g = 0 to 2 {
        affine.for %i = 0 to 4 { affine.for %j = 0 to 16 {
          %v = affine.load %c[%t mod 2, %q * 8 + %g * 4 + %i, %j] : memref<2x16x16xi32, "accumulator">
          affine.store %v, %d[%q mod 2, %g * 4 + %i, %j] : memref<2x8x16xi32, "scratchpad">
        } }
      } {tile.groups = 0 : i64}
      %out = tile.copy %d[%q mod 2, 0, 0] elements #inside to %y[%t * 16 + %q * 8, 0] elements #plane shape [8, 16] : memref<2x8x16xi32, "scratchpad">, memref<?x16xi32>
      tile.wait %out
    } {tile.stages = 2 : i64}
  } {tile.stages = 2 : i64}
  return
}

// -----

func.func @groups_of_no_unit(%n: index) {
  affine.for %t = 0 to %n {
    // expected-error @below {{has groups of work that no unit does: nothing is waited for at its end}}
    affine.for %s = 0 to 4 {
      affine.for %g = 0 to 4 {
      } {tile.groups = 0 : i64}
    } {tile.stages = 3 : i64}
    affine.for %q = 0 to 2 {
    } {tile.stages = 2 : i64}
  } {tile.stages = 2 : i64}
  return
}

// -----

func.func @other_work_beside_groups(%a: memref<16xf32>, %n: index) {
  %x = arith.constant 1.0 : f32
  // expected-error @below {{has groups, but not of a number that is known, or with other work beside them}}
  affine.for %t = 0 to %n {
    affine.store %x, %a[0] : memref<16xf32>
    affine.for %g = 0 to 4 {
    } {tile.groups = 0 : i64}
  } {tile.stages = 2 : i64}
  return
}
