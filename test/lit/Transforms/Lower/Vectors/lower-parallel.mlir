// RUN: tw-opt %s --lower-parallel --split-input-file | FileCheck %s

// One thread: plain loops, no OpenMP.
// CHECK-LABEL: func.func @one
// CHECK-NOT: omp
// CHECK: scf.for
// CHECK: scf.for
func.func @one(%a: memref<8x8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c8, %c8) step (%c1, %c1) {
    memref.store %x, %a[%i, %j] : memref<8x8xf32>
    scf.reduce
  }
  return
}

// -----

// The outer loop goes to the threads, the inner one stays on its thread; a reduction runs in order.
module attributes {tilewright.threads = 4 : i64} {
  // CHECK-LABEL: func.func @four
  // CHECK: omp.parallel num_threads
  // CHECK: omp.loop_nest
  // CHECK: scf.for
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: arith.addf
  func.func @four(%a: memref<8x8xf32>, %x: f32) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      scf.parallel (%j) = (%c0) to (%c8) step (%c1) {
        memref.store %x, %a[%i, %j] : memref<8x8xf32>
        scf.reduce
      }
      scf.reduce
    }
    %s = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%x) -> f32 {
      %v = memref.load %a[%i, %c0] : memref<8x8xf32>
      scf.reduce(%v : f32) {
      ^bb0(%l: f32, %r: f32):
        %t = arith.addf %l, %r : f32
        scf.reduce.return %t : f32
      }
    }
    return %s : f32
  }
}
