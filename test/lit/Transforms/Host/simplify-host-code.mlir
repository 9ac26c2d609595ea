// What programs on memrefs have for CPUs becomes what one lane and the host of launches have.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -simplify-host-code | FileCheck %s

// The stack is an array, one for all iterations; a scope leaves its body, a hint nothing.
// CHECK-LABEL: func.func @stack
// CHECK-NEXT: %[[SUM:.*]] = memref.alloc() : memref<f32>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK-NOT: memref.prefetch
// CHECK: memref.store %{{.*}}, %[[SUM]][]
// CHECK-NOT: memref.dealloc
func.func @stack(%a: memref<8xf32>) {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    memref.alloca_scope {
      %s = memref.alloca() : memref<f32>
      affine.prefetch %a[%i], read, locality<3>, data : memref<8xf32>
      memref.store %z, %s[] : memref<f32>
      %x = memref.load %s[] : memref<f32>
      memref.store %x, %a[%i] : memref<8xf32>
    }
    %t = memref.alloc(%i) : memref<?xf32>
    memref.dealloc %t : memref<?xf32>
  }
  return
}

// An array that a loop carries exists twice at a time: it stays where it is.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for
// CHECK: memref.alloc() : memref<8xf32>
func.func @carried(%a: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %a) -> memref<8xf32> {
    %t = memref.alloca() : memref<8xf32>
    memref.copy %x, %t : memref<8xf32> to memref<8xf32>
    scf.yield %t : memref<8xf32>
  }
  return
}

// Updates follow each other: no parallel loop is left around them. What was there is the result.
// CHECK-LABEL: func.func @atomic
// CHECK-NOT: scf.parallel
// CHECK: scf.for
// CHECK: %[[OLD:.*]] = memref.load %[[H:.*]][%[[I:.*]]]
// CHECK: %[[NEW:.*]] = arith.addi %[[OLD]], %{{.*}}
// CHECK: memref.store %[[NEW]], %[[H]][%[[I]]]
// CHECK: memref.store %[[OLD]], %{{.*}}[]
// CHECK: %[[WAS:.*]] = memref.load %[[H]][%[[I]]]
// CHECK: %[[MAX:.*]] = arith.maxsi %[[WAS]], %{{.*}}
// CHECK: memref.store %[[MAX]], %[[H]][%[[I]]]
func.func @atomic(%h: memref<8xi32>, %last: memref<i32>, %one: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %o = memref.atomic_rmw addi %one, %h[%i] : (i32, memref<8xi32>) -> i32
    memref.store %o, %last[] : memref<i32>
    %g = memref.generic_atomic_rmw %h[%i] : memref<8xi32> {
    ^bb0(%x: i32):
      %m = arith.maxsi %x, %one : i32
      memref.atomic_yield %m : i32
    }
    scf.reduce
  }
  return
}

// Beyond the end of the array stands the padding; where it is known to be inside nothing is asked.
// CHECK-LABEL: func.func @transfer
// CHECK-SAME: (%[[A:.*]]: memref<?x6xf32>, %[[I:.*]]: index
// CHECK-NOT: vector.transfer_read
// CHECK: %[[N:.*]] = memref.dim %[[A]], %c0
// CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %[[N]]
// CHECK: scf.if %[[IN]] -> (f32)
// CHECK:   memref.load %[[A]]
// CHECK: scf.if %{{.*}} -> (f32)
// CHECK-NOT: scf.if
// CHECK: memref.store
// CHECK: memref.store
func.func @transfer(%a: memref<?x6xf32>, %i: index, %pad: f32) {
  %v = vector.transfer_read %a[%i, %i], %pad {permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<?x6xf32>, vector<2xf32>
  vector.transfer_write %v, %a[%i, %i] {in_bounds = [true]} : vector<2xf32>, memref<?x6xf32>
  return
}

// Masks decide element by element; what a mask lets through lies side by side.
// CHECK-LABEL: func.func @masks
// CHECK-SAME: (%[[A:.*]]: memref<8xf32>, %[[M:.*]]: vector<2xi1>, %[[P:.*]]: vector<2xf32>, %[[D:.*]]: vector<2xi32>)
// CHECK: %[[M0:.*]] = vector.extract %[[M]][0]
// CHECK: %[[P0:.*]] = vector.extract %[[P]][0]
// CHECK: %[[X0:.*]] = scf.if %[[M0]] -> (f32)
// CHECK: } else {
// CHECK:   scf.yield %[[P0]]
// CHECK: %[[D0:.*]] = vector.extract %[[D]][0]
// CHECK: %[[AT:.*]] = arith.index_cast %[[D0]] : i32 to index
// CHECK: memref.load %[[A]]
// CHECK-COUNT-2: memref.store
// CHECK-NOT: vector.compressstore
func.func @masks(%a: memref<8xf32>, %m: vector<2xi1>, %p: vector<2xf32>, %d: vector<2xi32>) {
  %c0 = arith.constant 0 : index
  %x = vector.maskedload %a[%c0], %m, %p : memref<8xf32>, vector<2xi1>, vector<2xf32> into vector<2xf32>
  %y = vector.gather %a[%c0] [%d], %m, %x : memref<8xf32>, vector<2xi32>, vector<2xi1>, vector<2xf32> into vector<2xf32>
  vector.compressstore %a[%c0], %m, %y : memref<8xf32>, vector<2xi1>, vector<2xf32>
  return
}

// Kernels are the business of other passes.
// CHECK-LABEL: func.func private @kernel
// CHECK: affine.for
func.func private @kernel(%a: memref<8xf32>) attributes {tilewright.kernel} {
  %z = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    affine.store %z, %a[%i] : memref<8xf32>
  }
  return
}

// A dimension that only the run names.
// CHECK-LABEL: func.func @dimension
// CHECK: memref.dim %{{.*}}, %c0
// CHECK: arith.cmpi eq, %{{.*}}, %c1
// CHECK: arith.select
func.func @dimension(%a: memref<?x6xf32>, %d: index) -> index {
  %n = memref.dim %a, %d : memref<?x6xf32>
  return %n : index
}

// A promise about addresses goes; a place among several dimensions becomes arithmetic.
// CHECK-LABEL: func.func @places
// CHECK-SAME: %[[A:.*]]: memref<4x6xf32>, %[[I:.*]]: index
// CHECK-NOT: memref.assume_alignment
// CHECK-NOT: affine.delinearize_index
// CHECK: memref.load %[[A]][%{{.*}}, %{{.*}}] : memref<4x6xf32>
func.func @places(%a: memref<4x6xf32>, %i: index) -> f32 {
  %same = memref.assume_alignment %a, 16 : memref<4x6xf32>
  %p:2 = affine.delinearize_index %i into (4, 6) : index, index
  %x = memref.load %same[%p#0, %p#1] : memref<4x6xf32>
  return %x : f32
}
