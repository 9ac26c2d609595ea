// RUN: tw-opt %s --plan-workspace --split-input-file | FileCheck %s

// The kernel's buffer moves to its caller; %a and %c never live at the same time and share bytes, %b does not.
// CHECK-LABEL: func.func private @f.bytes(
// CHECK: %[[END:.*]] = arith.constant 128 : index
// CHECK: return %[[END]]
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[ARENA:[a-z0-9]*]]: memref<?xi8>) attributes {tilewright.workspace = @f.bytes}
// CHECK: memref.view %[[ARENA]][%c0{{.*}}] : memref<?xi8> to memref<16xf32>
// CHECK: memref.view %[[ARENA]][%c64{{.*}}] : memref<?xi8> to memref<16xf32>
// CHECK: memref.view %[[ARENA]][%c0{{.*}}] : memref<?xi8> to memref<10xf32>
// CHECK-NOT: memref.alloc
// CHECK-LABEL: func.func private @k(
// CHECK-SAME: memref<16xf32>, %{{.*}}: memref<10xf32>)
func.func @f(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  memref.copy %x, %a : memref<16xf32> to memref<16xf32>
  memref.copy %a, %b : memref<16xf32> to memref<16xf32>
  call @k(%b) : (memref<16xf32>) -> ()
  memref.copy %b, %x : memref<16xf32> to memref<16xf32>
  return
}
func.func private @k(%x: memref<16xf32>) {
  %c = memref.alloc() : memref<10xf32>
  %v = arith.constant 1.0 : f32
  affine.for %i = 0 to 10 {
    affine.store %v, %c[%i] : memref<10xf32>
  }
  return
}

// -----

// Sizes that follow from the arguments' are planned at run time, also out of loops.
// CHECK-LABEL: func.func private @g.bytes(
// CHECK-SAME: %[[N:[a-z0-9]*]]: index) -> index
// CHECK: arith.muli %{{.*}}, %[[N]]
// CHECK-LABEL: func.func @g(
// CHECK: memref.dim
// CHECK: memref.view
// CHECK: affine.for
// CHECK-NOT: memref.alloc
func.func @g(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.for %i = 0 to 4 {
    %a = memref.alloc(%n) : memref<?xf32>
    memref.copy %x, %a : memref<?xf32> to memref<?xf32>
    memref.copy %a, %x : memref<?xf32> to memref<?xf32>
  }
  return
}

// -----

// A size known only inside the loop: allocated and released there; bytes do not wrap.
// CHECK-LABEL: func.func @h(
// CHECK-NOT: memref<?xi8>
// CHECK: %[[BYTES:.*]] = arith.select
// CHECK: %[[RAW:.*]] = memref.alloc(%[[BYTES]]) : memref<?xi8>
// CHECK: %[[A:.*]] = memref.view %[[RAW]][%{{.*}}][%{{.*}}] : memref<?xi8> to memref<?xf32>
// CHECK: memref.dealloc %[[A]]
func.func @h(%x: memref<8xf32>, %n: index) {
  affine.for %i = 0 to 4 {
    %v = memref.load %x[%i] : memref<8xf32>
    %s = arith.fptosi %v : f32 to i32
    %m = arith.index_cast %s : i32 to index
    %a = memref.alloc(%m) : memref<?xf32>
    memref.store %v, %a[%i] : memref<?xf32>
  }
  return
}

// -----

// One buffer a thread inside a parallel loop.
// CHECK-LABEL: func.func @p(
// CHECK: scf.parallel
// CHECK-NEXT: %[[T:.*]] = func.call @omp_get_thread_num() : () -> i32
// CHECK: %[[I:.*]] = arith.index_cast %[[T]]
// CHECK: %[[O:.*]] = arith.muli %[[I]]
// CHECK: memref.view %{{.*}}[%[[O]]][] : memref<128xi8> to memref<16xf32>
module attributes {tilewright.threads = 2 : i64} {
  func.func @p(%x: memref<16xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
      %a = memref.alloc() : memref<16xf32>
      memref.copy %x, %a : memref<16xf32> to memref<16xf32>
      scf.reduce
    }
    return
  }
}

// -----

// A kernel hands %a, %b and %c from call to call: %a and %c share bytes, in one buffer that its caller allocates. %d is
// used by a loop of the kernel itself, whose pointers do not overlap.
// CHECK-LABEL: func.func private @q.bytes(
// CHECK: %[[END:.*]] = arith.constant 192 : index
// CHECK: return %[[END]]
// CHECK-LABEL: func.func private @chain(
// CHECK-SAME: %[[ARENA:[a-z0-9]*]]: memref<128xi8>, %{{.*}}: memref<16xf32>)
// CHECK-DAG: %[[A:.*]] = memref.view %[[ARENA]][%c0{{.*}}] : memref<128xi8> to memref<16xf32>
// CHECK-DAG: %[[B:.*]] = memref.view %[[ARENA]][%c64{{.*}}] : memref<128xi8> to memref<16xf32>
// CHECK-DAG: %[[C:.*]] = memref.view %[[ARENA]][%c0{{.*}}] : memref<128xi8> to memref<12xf32>
// CHECK: call @step(%{{.*}}, %[[A]])
// CHECK: call @step(%[[A]], %[[B]])
// CHECK: call @narrow(%[[B]], %[[C]])
func.func @q(%x: memref<16xf32>) {
  call @chain(%x) : (memref<16xf32>) -> ()
  return
}
func.func private @chain(%x: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  %c = memref.alloc() : memref<12xf32>
  %d = memref.alloc() : memref<16xf32>
  call @step(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  call @step(%a, %b) : (memref<16xf32>, memref<16xf32>) -> ()
  call @narrow(%b, %c) : (memref<16xf32>, memref<12xf32>) -> ()
  affine.for %i = 0 to 12 {
    %v = affine.load %x[%i] : memref<16xf32>
    affine.store %v, %d[%i] : memref<16xf32>
  }
  call @step(%d, %x) : (memref<16xf32>, memref<16xf32>) -> ()
  return
}
func.func private @step(%x: memref<16xf32>, %y: memref<16xf32>) {
  memref.copy %x, %y : memref<16xf32> to memref<16xf32>
  return
}
func.func private @narrow(%x: memref<16xf32>, %y: memref<12xf32>) {
  affine.for %i = 0 to 12 {
    %v = affine.load %x[%i] : memref<16xf32>
    affine.store %v, %y[%i] : memref<12xf32>
  }
  return
}

// -----

// Of dynamic sizes: buffers that never live at the same time are one, as large as the larger.
// CHECK-LABEL: func.func private @steps(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<?xf32>, %[[FIRST:[a-z0-9]*]]: memref<?xi8>, %[[SECOND:[a-z0-9]*]]: memref<?xi8>)
// CHECK-DAG: memref.view %[[FIRST]]
// CHECK-DAG: memref.view %[[SECOND]]
// CHECK-DAG: memref.view %[[FIRST]]
// CHECK-NOT: memref.alloc
func.func @r(%x: memref<?xf32>) {
  call @steps(%x) : (memref<?xf32>) -> ()
  return
}
func.func private @steps(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  %b = memref.alloc(%n) : memref<?xf32>
  %c = memref.alloc(%n) : memref<?x2xf32>
  call @next(%x, %a) : (memref<?xf32>, memref<?xf32>) -> ()
  call @next(%a, %b) : (memref<?xf32>, memref<?xf32>) -> ()
  call @pair(%b, %c) : (memref<?xf32>, memref<?x2xf32>) -> ()
  call @last(%c, %x) : (memref<?x2xf32>, memref<?xf32>) -> ()
  return
}
func.func private @next(%x: memref<?xf32>, %y: memref<?xf32>)
func.func private @pair(%x: memref<?xf32>, %y: memref<?x2xf32>)
func.func private @last(%x: memref<?x2xf32>, %y: memref<?xf32>)
