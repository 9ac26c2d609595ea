// The host keeps integers and control flow around grids; everything else between them runs in one lane.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -place-host-code | FileCheck %s

module attributes {tilewright.target = "amd:MI300X"} {
func.func private @kernel(%a: memref<8xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%b) to (4) level "grid" {
    memref.store %zero, %a[%b] : memref<8xf32>
  }
  return
}

// An element is compared by a lane, the host branches on what it says.
// CHECK-LABEL: func.func @decide
// CHECK: %[[CELL:.*]] = memref.alloc() : memref<i1>
// CHECK: tile.parallel (%{{.*}}) to (1) level "grid"
// CHECK:   tile.parallel (%{{.*}}) to (1) level "block"
// CHECK:     tile.parallel (%{{.*}}) to (1) level "subgroup"
// CHECK:       %[[X:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<8xf32>
// CHECK:       %[[LESS:.*]] = arith.cmpf olt, %[[X]]
// CHECK:       memref.store %[[LESS]], %[[CELL]][]
// CHECK: %[[GO:.*]] = memref.load %[[CELL]][]
// CHECK: scf.if %[[GO]]
// CHECK:   tile.parallel (%{{.*}}) to (4) level "grid"
func.func @decide(%a: memref<8xf32>) attributes {tilewright.shapes = [affine_map<() -> (8)>]} {
  %c0 = arith.constant 0 : index
  %limit = arith.constant 1.0 : f32
  %x = memref.load %a[%c0] : memref<8xf32>
  %go = arith.cmpf olt, %x, %limit : f32
  scf.if %go {
    func.call @kernel(%a) : (memref<8xf32>) -> ()
  }
  return
}

// The float that a loop carries stays on the device, its counter with the host; the scalar result is an array.
// CHECK-LABEL: func.func @power
// CHECK-SAME: (%[[X:.*]]: memref<f32>, %{{.*}}: memref<8xf32>, %[[OUT:.*]]: memref<f32>)
// CHECK: %{{.*}} = memref.alloc() : memref<f32>
// CHECK: scf.for {{.*}} {
// CHECK:   tile.parallel (%{{.*}}) to (1) level "grid"
// CHECK:     %[[V:.*]] = memref.load %{{.*}}[]
// CHECK:     %[[W:.*]] = arith.mulf %[[V]], %{{.*}}
// CHECK:     memref.store %[[W]], %{{.*}}[]
// CHECK: tile.parallel (%{{.*}}) to (1) level "grid"
// CHECK:   memref.store %{{.*}}, %[[OUT]][]
// CHECK: return{{$}}
func.func @power(%x: f32, %a: memref<8xf32>) -> f32 attributes {tilewright.array_results = array<i1: false>, tilewright.shapes = [affine_map<() -> ()>, affine_map<() -> (8)>, affine_map<() -> ()>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> f32 {
    func.call @kernel(%a) : (memref<8xf32>) -> ()
    %w = arith.mulf %v, %v : f32
    scf.yield %w : f32
  }
  return %r : f32
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {
// expected-error @+1 {{has several blocks; the host of a program on lanes walks structured control flow}}
func.func @blocks(%a: memref<8xf32>) attributes {tilewright.shapes = [affine_map<() -> (8)>]} {
  cf.br ^next
^next:
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {
// expected-error @+1 {{returns a scalar and has arrays that it may write; on lanes such a program takes a memref of rank 0 for it}}
func.func @scalar(%a: memref<8xf32>) -> f32 attributes {tilewright.shapes = [affine_map<() -> (8)>, affine_map<() -> ()>]} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<8xf32>
  return %x : f32
}
}

// -----

// A result's size: the host reads it where it is an integer in memory, or where a lane has computed it.
module attributes {tilewright.target = "amd:MI300X"} {
// CHECK-LABEL: func.func @made
// CHECK: %[[N:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<2xi64>
// CHECK: %[[I:.*]] = arith.index_cast %[[N]]
// CHECK: tile.require_size %[[I]], %{{.*}} output 0 dimension 0
// CHECK: tile.parallel (%{{.*}}) to (1) level "grid"
// CHECK: arith.fptosi
// CHECK: memref.store %{{.*}}, %[[CELL:[a-z0-9_]+]][] : memref<index>
// CHECK: %[[M:.*]] = memref.load %[[CELL]][]
// CHECK: tile.require_size %[[M]], %{{.*}} output 0 dimension 1
func.func @made(%k: memref<2xi64>, %x: memref<8xf32>, %r: memref<?x?xf32>) attributes {tilewright.array_results = array<i1: true>, tilewright.shapes = [affine_map<()[s0, s1] -> (2)>, affine_map<()[s0, s1] -> (8)>, affine_map<()[s0, s1] -> (s0, s1)>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.load %k[%c0] : memref<2xi64>
  %i = arith.index_cast %n : i64 to index
  %rows = memref.dim %r, %c0 : memref<?x?xf32>
  tile.require_size %i, %rows output 0 dimension 0
  %f = memref.load %x[%c0] : memref<8xf32>
  %m = arith.fptosi %f : f32 to i64
  %j = arith.index_cast %m : i64 to index
  %columns = memref.dim %r, %c1 : memref<?x?xf32>
  tile.require_size %j, %columns output 0 dimension 1
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {
func.func private @kernel(%a: memref<?xf32>) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%b) to (4) level "grid" {
    memref.store %zero, %a[%b] : memref<?xf32>
  }
  return
}

// The host branches case by case.
// CHECK-LABEL: func.func @switch
// CHECK-SAME: (%{{.*}}: memref<?xf32>, %[[WHICH:.*]]: memref<index>)
// CHECK: %[[K:.*]] = memref.load %[[WHICH]][]
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[K]], %c1
// CHECK: scf.if %[[ONE]] {
// CHECK:   tile.parallel
// CHECK: } else {
// CHECK:   %[[SEVEN:.*]] = arith.cmpi eq, %[[K]], %c7
// CHECK:   scf.if %[[SEVEN]] {
// CHECK-NEXT: } else {
// CHECK:     tile.parallel
func.func @switch(%a: memref<?xf32>, %which: memref<index>) attributes {tilewright.shapes = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> ()>]} {
  %k = memref.load %which[] : memref<index>
  scf.index_switch %k
  case 1 {
    func.call @kernel(%a) : (memref<?xf32>) -> ()
    scf.yield
  }
  case 7 {
    scf.yield
  }
  default {
    func.call @kernel(%a) : (memref<?xf32>) -> ()
  }
  return
}

// The host reads the sizes of a shape that only the run knows.
// CHECK-LABEL: func.func @reshape
// CHECK: %[[N:.*]] = memref.load %{{.*}}[%c0] : memref<1xi32>
// CHECK: %[[SIZE:.*]] = arith.index_cast %[[N]]
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[SIZE]]], strides: [1]
func.func @reshape(%a: memref<?x4xf32>, %shape: memref<1xi32>) attributes {tilewright.shapes = [affine_map<()[s0] -> (s0, 4)>, affine_map<()[s0] -> (1)>]} {
  %r = memref.reshape %a(%shape) : (memref<?x4xf32>, memref<1xi32>) -> memref<?xf32>
  call @kernel(%r) : (memref<?xf32>) -> ()
  return
}

// A vector without dimensions that a loop of the host hands on goes through a cell of its own, as one of the type of its number does.
// CHECK-LABEL: func.func @carry
// CHECK-DAG: memref.alloc() : memref<f32>
// CHECK: scf.for
// CHECK:   %[[V:.*]] = memref.load %[[CELL:.*]][] : memref<f32>
// CHECK:   %[[VECTOR:.*]] = vector.insert %[[V]], %{{.*}} [] : f32 into vector<f32>
// CHECK:   vector.extract %[[VECTOR]][] : f32 from vector<f32>
// CHECK:   arith.addf %{{.*}}, %{{.*}} : vector<f32>
// CHECK:   %[[W:.*]] = vector.extract %{{.*}}[] : f32 from vector<f32>
// CHECK:   memref.store %[[W]], %[[CELL]][] : memref<f32>
func.func @carry(%a: memref<?xf32>, %n: index, %first: f32) attributes {tilewright.shapes = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> ()>, affine_map<()[s0] -> ()>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = arith.constant dense<1.0> : vector<f32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %init) -> vector<f32> {
    func.call @kernel(%a) : (memref<?xf32>) -> ()
    %w = arith.addf %v, %v : vector<f32>
    scf.yield %w : vector<f32>
  }
  %x = vector.extract %r[] : f32 from vector<f32>
  memref.store %x, %a[%c0] : memref<?xf32>
  return
}

// An element of collapsed dimensions, of which only the run knows the sizes.
// CHECK-LABEL: func.func @collapse
// CHECK-NOT: extract_strided_metadata
// CHECK: tile.parallel
// CHECK-NOT: extract_strided_metadata
// CHECK: %[[D:.*]] = memref.dim %[[A:.*]], %c1
// CHECK: %[[AT:.*]]:2 = affine.delinearize_index %{{.*}} into (%{{.*}}, %[[D]])
// CHECK: memref.store %{{.*}}, %[[A]][%[[AT]]#0, %[[AT]]#1]
func.func @collapse(%a: memref<?x?xf32>) attributes {tilewright.shapes = [affine_map<()[s0, s1] -> (s0, s1)>]} {
  %flat = memref.collapse_shape %a [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  call @kernel(%flat) : (memref<?xf32>) -> ()
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {
func.func private @kernel(%a: memref<?xf32>, %n: index) attributes {tilewright.kernel} {
  %zero = arith.constant 0.0 : f32
  tile.parallel (%b) to (4) level "grid" {
    affine.for %i = 0 to %n {
      affine.store %zero, %a[%i] : memref<?xf32>
    }
  }
  return
}

// The host divides what may be negative, too: a size less one.
// CHECK-LABEL: func.func @divide
// CHECK-DAG: %[[M:.*]] = arith.subi %{{.*}}, %c1
// CHECK-DAG: %[[ABOVE:.*]] = arith.maxsi %[[M]], %c0
// CHECK-DAG: %[[PLAIN:.*]] = arith.floordivsi %[[ABOVE]], %c3
// CHECK-DAG: %[[BELOW:.*]] = arith.minsi %[[M]], %c-1
// CHECK-DAG: %[[SHIFTED:.*]] = arith.addi %[[BELOW]], %c1
// CHECK-DAG: %[[OTHER:.*]] = arith.floordivsi %[[SHIFTED]], %c3
// CHECK-DAG: %[[WHOLE:.*]] = arith.addi %[[OTHER]], %c6148914691236517205
// CHECK-DAG: %[[NEGATIVE:.*]] = arith.cmpi slt, %[[M]], %c0
// CHECK: %[[N:.*]] = arith.select %[[NEGATIVE]], %[[WHOLE]], %[[PLAIN]]
// CHECK: tile.parallel
// CHECK: affine.for %{{.*}} = 0 to %[[N]]
// CHECK-NOT: level "block"
// CHECK: return
func.func @divide(%a: memref<?xf32>) attributes {tilewright.shapes = [affine_map<()[s0] -> (s0)>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %size = memref.dim %a, %c0 : memref<?xf32>
  %m = arith.subi %size, %c1 : index
  %n = arith.divui %m, %c3 : index
  call @kernel(%a, %n) : (memref<?xf32>, index) -> ()
  return
}

// What a lane computes is a symbol once the host has read it.
// CHECK-LABEL: func.func @read
// CHECK: %[[CELL:.*]] = memref.alloc() : memref<index>
// CHECK: tile.parallel
// CHECK:   memref.store %{{.*}}, %[[CELL]][]
// CHECK: %[[N:.*]] = memref.load %[[CELL]][] : memref<index>
// CHECK-NOT: memref.load
// CHECK: tile.parallel (%{{.*}}) to (4) level "grid" {
// CHECK-NEXT: affine.for %{{.*}} = 0 to %[[N]]
func.func @read(%a: memref<?xf32>, %x: memref<f32>) attributes {tilewright.shapes = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> ()>]} {
  %f = memref.load %x[] : memref<f32>
  %i = arith.fptosi %f : f32 to i64
  %n = arith.index_cast %i : i64 to index
  call @kernel(%a, %n) : (memref<?xf32>, index) -> ()
  return
}
}

// -----

module attributes {tilewright.target = "amd:MI300X"} {
func.func private @again(%a: memref<8xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %m = arith.subi %n, %c1 : index
  call @again(%a, %m) : (memref<8xf32>, index) -> ()
  return
}
func.func @recursion(%a: memref<8xf32>) attributes {tilewright.shapes = [affine_map<() -> (8)>]} {
  %c5 = arith.constant 5 : index
  // expected-error @below {{'func.call' op of 'again', which calls itself; the host of a program on lanes launches, branches and loops: write it as a loop}}
  call @again(%a, %c5) : (memref<8xf32>, index) -> ()
  return
}
}
