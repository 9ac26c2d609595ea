// RUN: tw-opt %s -bind-constants | FileCheck %s
// RUN: tw-opt %s -bind-constants | FileCheck %s --check-prefix=FOLD

// What fills the bound buffer moves into a kernel of its own, with its temporaries; the buffers of all calls lie in one array, each on
// a line of its own; shapes of the signature count with it. The kernel no longer takes the array.
// CHECK: func.func private @pack_bind(%[[W:.*]]: memref<8x4xf32>, %[[TO:.*]]: memref<4x8xf32>) attributes {tilewright.kernel}
// CHECK-NEXT: %[[T:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT: affine.for
// CHECK: affine.load %[[W]]
// CHECK: affine.store %{{.*}}, %[[T]]
// CHECK: affine.load %[[T]]
// CHECK: affine.store %{{.*}}, %[[TO]]
// CHECK: return
// CHECK: func.func private @pack(%[[X:.*]]: memref<4xf32>, %{{.*}}: memref<8xf32>, %[[BOUND:.*]]: memref<4x8xf32>, %{{.*}}: index)
// CHECK-NOT: memref.alloc
// CHECK: affine.prefetch %[[BOUND]]
// CHECK: affine.load %[[BOUND]]
// CHECK-NOT: affine.store %{{.*}}, %[[BOUND]]
// CHECK: return
func.func private @pack(%x: memref<4xf32>, %w: memref<8x4xf32> {tilewright.constant}, %y: memref<8xf32>, %n: index) attributes {tilewright.kernel} {
  %b = memref.alloc() {tilewright.bound} : memref<4x8xf32>
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      %0 = affine.load %w[%j, %i] : memref<8x4xf32>
      affine.store %0, %t[%j] : memref<8xf32>
    }
    affine.for %j = 0 to 8 {
      %0 = affine.load %t[%j] : memref<8xf32>
      affine.store %0, %b[%i, %j] : memref<4x8xf32>
    }
  }
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 8 {
      affine.prefetch %b[%i, %j], read, locality<2>, data : memref<4x8xf32>
      %0 = affine.load %b[%i, %j] : memref<4x8xf32>
      %1 = affine.load %x[%i] : memref<4xf32>
      %2 = affine.load %y[%j] : memref<8xf32>
      %3 = arith.mulf %0, %1 : f32
      %4 = arith.addf %2, %3 : f32
      affine.store %4, %y[%j] : memref<8xf32>
    }
  }
  return
}

// CHECK: func.func @f_bind(%[[V:.*]]: memref<8x1x4xf32>, %[[BYTES:.*]]: memref<256xi8>) attributes {tilewright.array_results = array<i1: true>, tilewright.binds = {function = "f", inputs = array<i64: 2>, releases = array<i64: 2>}}
// CHECK-NEXT: %[[VIEW:.*]] = memref.collapse_shape %[[V]]
// CHECK: %[[FIRST:.*]] = memref.view %[[BYTES]][%c0{{.*}}][] : memref<256xi8> to memref<4x8xf32>
// CHECK-NEXT: call @pack_bind(%[[VIEW]], %[[FIRST]])
// CHECK: %[[SECOND:.*]] = memref.view %[[BYTES]][%c128{{.*}}][]
// CHECK-NEXT: call @pack_bind(%[[VIEW]], %[[SECOND]])
// CHECK: func.func @f(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>, %{{.*}}: memref<8x1x4xf32> {tilewright.constant}, %[[GIVEN:.*]]: memref<256xi8> {tilewright.bound}, %{{.*}}: memref<8xf32>)
// CHECK-SAME: tilewright.inputs = 4 : i64, tilewright.shapes = [#{{.*}}, #{{.*}}, #{{.*}}, #[[BYTES_MAP:.*]], #{{.*}}]
// CHECK: %[[A:.*]] = memref.view %[[GIVEN]][%c0
// CHECK-NEXT: call @pack(%{{.*}}, %{{.*}}, %[[A]], %{{.*}})
// CHECK: %[[B:.*]] = memref.view %[[GIVEN]][%c128
// CHECK-NEXT: call @pack(%{{.*}}, %{{.*}}, %[[B]], %{{.*}})
func.func @f(%x: memref<4xf32>, %z: memref<4xf32>, %w: memref<8x1x4xf32> {tilewright.constant}, %y: memref<8xf32>)
    attributes {tilewright.array_results = array<i1: true>,
                tilewright.inputs = 3 : i64,
                tilewright.shapes = [affine_map<() -> (4)>, affine_map<() -> (4)>, affine_map<() -> (8, 1, 4)>, affine_map<() -> (8)>]} {
  %n = arith.constant 8 : index
  %v = memref.collapse_shape %w [[0, 1], [2]] : memref<8x1x4xf32> into memref<8x4xf32>
  call @pack(%x, %v, %y, %n) : (memref<4xf32>, memref<8x4xf32>, memref<8xf32>, index) -> ()
  call @pack(%z, %v, %y, %n) : (memref<4xf32>, memref<8x4xf32>, memref<8xf32>, index) -> ()
  return
}

// An array that the function also reads as it is, in a kernel of its own, is not released.
// CHECK: func.func @g_bind({{.*}}tilewright.binds = {function = "g", inputs = array<i64: 1>, releases = array<i64>}
func.func @g(%x: memref<4xf32>, %w: memref<8x4xf32> {tilewright.constant}, %y: memref<8xf32>)
    attributes {tilewright.array_results = array<i1: true>} {
  %n = arith.constant 8 : index
  call @pack(%x, %w, %y, %n) : (memref<4xf32>, memref<8x4xf32>, memref<8xf32>, index) -> ()
  call @reader(%w, %y) : (memref<8x4xf32>, memref<8xf32>) -> ()
  return
}
func.func private @reader(%w: memref<8x4xf32>, %y: memref<8xf32>) attributes {tilewright.kernel} {
  %0 = affine.load %w[0, 0] : memref<8x4xf32>
  affine.store %0, %y[0] : memref<8xf32>
  return
}

// Another array goes through the temporary too, before and after: the kernel keeps what it still reads there, and the function that binds
// has nothing of the other array.
// CHECK: func.func private @shared_bind(%[[W:.*]]: memref<8xf32>, %[[TO:.*]]: memref<8xf32>) attributes {tilewright.kernel}
// CHECK-NEXT: %[[T:.*]] = memref.alloc() : memref<8xf32>
// CHECK-NEXT: affine.for
// CHECK-NEXT: affine.load %[[W]]
// CHECK-NEXT: affine.store %{{.*}}, %[[T]]
// CHECK-NEXT: affine.load %[[T]]
// CHECK-NEXT: affine.store %{{.*}}, %[[TO]]
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK: func.func private @shared(%[[X:.*]]: memref<8xf32>, %[[W:.*]]: memref<8xf32> {{.*}}, %[[Y:.*]]: memref<8xf32>, %[[BOUND:.*]]: memref<8xf32>)
// CHECK: %[[T:.*]] = memref.alloc() : memref<8xf32>
// CHECK: affine.load %[[W]]
// CHECK: affine.store %{{.*}}, %[[T]]
// CHECK-NOT: affine.store %{{.*}}, %[[BOUND]]
// CHECK: affine.load %[[T]]
// CHECK: affine.store %{{.*}}, %[[Y]]
// CHECK: affine.load %[[X]]
// CHECK: affine.store %{{.*}}, %[[T]]
// CHECK: affine.load %[[T]]
// CHECK: affine.load %[[BOUND]]
// CHECK: affine.store %{{.*}}, %[[Y]]
func.func private @shared(%x: memref<8xf32>, %w: memref<8xf32> {tilewright.constant}, %y: memref<8xf32>) attributes {tilewright.kernel} {
  %b = memref.alloc() {tilewright.bound} : memref<8xf32>
  %t = memref.alloc() : memref<8xf32>
  affine.for %i = 0 to 8 {
    %0 = affine.load %w[%i] : memref<8xf32>
    affine.store %0, %t[7 - %i] : memref<8xf32>
    %1 = affine.load %t[7 - %i] : memref<8xf32>
    affine.store %1, %b[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %t[%i] : memref<8xf32>
    affine.store %0, %y[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %x[%i] : memref<8xf32>
    affine.store %0, %t[%i] : memref<8xf32>
  }
  affine.for %i = 0 to 8 {
    %0 = affine.load %t[%i] : memref<8xf32>
    %1 = affine.load %b[%i] : memref<8xf32>
    %2 = affine.load %y[%i] : memref<8xf32>
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    affine.store %4, %y[%i] : memref<8xf32>
  }
  return
}
func.func @shares(%x: memref<8xf32>, %w: memref<8xf32> {tilewright.constant}, %y: memref<8xf32>)
    attributes {tilewright.array_results = array<i1: true>} {
  call @shared(%x, %w, %y) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}

// A kernel without bound buffers stays as it is.
// CHECK-LABEL: func.func private @plain(%{{.*}}: memref<4xf32>)
func.func private @plain(%x: memref<4xf32>) attributes {tilewright.kernel} {
  return
}

// What follows from constants of the module alone goes into a function that the compiler calls; calls that fill their buffers from the
// same constants share them, also those of other functions.
// FOLD: memref.global "private" constant @tilewright.packed : memref<4x8xf32> {alignment = 64 : i64}
// FOLD: memref.global "private" constant @tilewright.packed_0 : memref<4x8xf32> {alignment = 64 : i64}
// FOLD: func.func @tilewright.fold() attributes {tilewright.folds = "tilewright.fold"}
// FOLD-DAG: %[[W:.*]] = memref.get_global @weights
// FOLD-DAG: %[[TO:.*]] = memref.get_global @tilewright.packed :
// FOLD: call @pack_bind(%{{.*}}, %[[TO]])
// FOLD: %[[V:.*]] = memref.get_global @others
// FOLD: %[[THERE:.*]] = memref.get_global @tilewright.packed_0
// FOLD-NEXT: call @pack_bind(%[[V]], %[[THERE]])
// FOLD-NEXT: return
memref.global "private" constant @weights : memref<8x1x4xf32> = dense_resource<w>
memref.global "private" constant @others : memref<8x4xf32> = dense_resource<v>
// FOLD: func.func @h(%{{.*}}: memref<4xf32>, %{{.*}}: memref<8xf32>)
// FOLD: %[[B:.*]] = memref.get_global @tilewright.packed :
// FOLD: call @pack(%{{.*}}, %{{.*}}, %[[B]], %{{.*}})
// FOLD: %[[C:.*]] = memref.get_global @tilewright.packed_0
// FOLD: call @pack(%{{.*}}, %{{.*}}, %[[C]], %{{.*}})
func.func @h(%x: memref<4xf32>, %y: memref<8xf32>) {
  %n = arith.constant 8 : index
  %w = memref.get_global @weights : memref<8x1x4xf32>
  %v = memref.collapse_shape %w [[0, 1], [2]] : memref<8x1x4xf32> into memref<8x4xf32>
  call @pack(%x, %v, %y, %n) : (memref<4xf32>, memref<8x4xf32>, memref<8xf32>, index) -> ()
  %u = memref.get_global @others : memref<8x4xf32>
  call @pack(%x, %u, %y, %n) : (memref<4xf32>, memref<8x4xf32>, memref<8xf32>, index) -> ()
  return
}

// FOLD: func.func @i(
// FOLD: memref.get_global @tilewright.packed :
func.func @i(%x: memref<4xf32>, %y: memref<8xf32>) {
  %n = arith.constant 8 : index
  %w = memref.get_global @weights : memref<8x1x4xf32>
  %v = memref.collapse_shape %w [[0, 1], [2]] : memref<8x1x4xf32> into memref<8x4xf32>
  call @pack(%x, %v, %y, %n) : (memref<4xf32>, memref<8x4xf32>, memref<8xf32>, index) -> ()
  return
}
