// Grids become launches, the rest of the public function its manifest.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -outline-launches | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @scale
// CHECK-SAME: :2
// CHECK-SAME: ceildiv
// CHECK-SAME: scale_launch_0
// CHECK-SAME: :1024
// CHECK-SAME: :64
// CHECK-SAME: temporaries
// CHECK-NEXT: return
// CHECK: func.func private @scale_launch_0(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>)
// CHECK-SAME: tilewright.launch = {shared = 1024 : i64, threads = 64 : i64}
func.func @scale(%a: memref<?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<()[s0] -> (s0)>]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %t = memref.alloc(%n) : memref<?xf32>
  tile.parallel (%b) to (%n ceildiv 128) level "grid" {
    %s = tile.alloc() : memref<16xf32, "shared">
    tile.parallel (%w) to (2) level "block" {
      %x = memref.load %a[%w] : memref<?xf32>
      memref.store %x, %t[%w] : memref<?xf32>
    }
  }
  return
}
}

// -----

// A constant, a loop whose trip count is read, and a branch.
module attributes {tilewright.target = "nvidia:A100"} {
memref.global "private" constant @table : memref<4xf32> = dense<2.5>
// CHECK-LABEL: func.func @control
// CHECK-SAME: buffer\22:3,\22bytes\22:16,\22data\22:\22AAAgQA==
// CHECK-SAME: \22read\22:0
// CHECK-SAME: \22if\22:[\22==\22,{\22variable\22:1},1]
// CHECK-SAME: \22launch\22:\22control_launch_0
// CHECK-SAME: \22while\22:[\22<\22,{\22variable\22:1},{\22variable\22:0}]
// CHECK-NEXT: return
func.func @control(%a: memref<4xf32>, %b: memref<4xf32>, %k: memref<i64>) attributes {tilewright.inputs = 3 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (4)>, affine_map<() -> (4)>, affine_map<() -> ()>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.get_global @table : memref<4xf32>
  %n = memref.load %k[] : memref<i64>
  %trips = arith.index_cast %n : i64 to index
  scf.for %i = %c0 to %trips step %c1 {
    %last = arith.cmpi eq, %i, %c1 : index
    scf.if %last {
      tile.parallel (%x) to (1) level "grid" {
        tile.parallel (%w) to (1) level "block" {
          %v = memref.load %t[%i] : memref<4xf32>
          memref.store %v, %b[%w] : memref<4xf32>
        }
      }
    }
  }
  return
}
}

// -----

// A result's size that is read, beside that of the caller's array: a step, which older readers do not know.
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @made
// CHECK-SAME: \22format\22:3
// CHECK-SAME: \22read\22:0
// CHECK-SAME: {\22argument\22:1,\22dimension\22:0,\22equals\22:{\22size\22:1},\22require\22:{\22variable\22:0}}
// CHECK-NEXT: return
func.func @made(%k: memref<?xindex>, %r: memref<?xf32>) attributes {tilewright.array_results = array<i1: true>, tilewright.inputs = 1 : i64, tilewright.outputs = 1 : i64, tilewright.shapes = [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s1)>]} {
  %c0 = arith.constant 0 : index
  %n = memref.load %k[%c0] : memref<?xindex>
  %given = memref.dim %r, %c0 : memref<?xf32>
  tile.require_size %n, %given output 0 dimension 0
  return
}
}

// -----

// The code of an index that is read: what the caller is told stands beside it.
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @index
// CHECK-SAME: {\22equals\22:0,\22extent\22:9,\22index\22:1,\22message\22:\22index {index}\22,\22require\22:{\22variable\22:0}}
// CHECK-NEXT: return
func.func @index(%k: memref<?xi32>) attributes {tilewright.inputs = 1 : i64, tilewright.shapes = [affine_map<()[s0] -> (s0)>]} {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %n = memref.load %k[%c0] : memref<?xi32>
  %code = arith.index_cast %n : i32 to index
  tile.require_size %code, %c9 {tilewright.bad_index, tilewright.message = "index {index}"}
  return
}
}

// -----

// All extents of a dimension that is several.
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @flat
// CHECK-SAME: \22require\22:[\22*\22,{\22size\22:0},{\22size\22:1}]
func.func @flat(%a: memref<?x?xf32>, %r: memref<?xf32>) attributes {tilewright.array_results = array<i1: true>, tilewright.inputs = 1 : i64, tilewright.outputs = 1 : i64, tilewright.shapes = [affine_map<()[s0, s1, s2] -> (s0, s1)>, affine_map<()[s0, s1, s2] -> (s2)>]} {
  %c0 = arith.constant 0 : index
  %f = memref.collapse_shape %a [[0, 1]] : memref<?x?xf32> into memref<?xf32>
  %n = memref.dim %f, %c0 : memref<?xf32>
  %given = memref.dim %r, %c0 : memref<?xf32>
  tile.require_size %n, %given output 0 dimension 0
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
func.func @store(%a: memref<8xi32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (8)>]} {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<8xi32>
  // expected-error @+1 {{stands between launches; the host of a program for nvidia:A100 only launches, branches and loops}}
  memref.store %x, %a[%c0] : memref<8xi32>
  return
}
}

// -----

// Two names of one memory, of which one is written: lanes may not take them for two arrays.
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK: func.func private @views_launch_0{{.*}} attributes {{{.*}}tilewright.overlaps}
// CHECK: func.func private @views_launch_1
// CHECK-NOT: tilewright.overlaps
// CHECK: func.func private @views_launch_2
// CHECK-NOT: tilewright.overlaps
// CHECK: return
func.func @views(%a: memref<16xf32>, %b: memref<16xf32>) attributes {tilewright.inputs = 2 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (16)>, affine_map<() -> (16)>]} {
  %c0 = arith.constant 0 : index
  %e = memref.expand_shape %a [[0, 1]] output_shape [2, 8] : memref<16xf32> into memref<2x8xf32>
  tile.parallel (%i) to (4) level "grid" {
    %x = memref.load %a[%i] : memref<16xf32>
    memref.store %x, %e[%c0, %i] : memref<2x8xf32>
  }
  tile.parallel (%i) to (4) level "grid" {
    %x = memref.load %a[%i] : memref<16xf32>
    memref.store %x, %b[%i] : memref<16xf32>
  }
  tile.parallel (%i) to (4) level "grid" {
    %x = memref.load %a[%i] : memref<16xf32>
    %y = memref.load %e[%c0, %i] : memref<2x8xf32>
    %z = arith.addf %x, %y : f32
    memref.store %z, %b[%i] : memref<16xf32>
  }
  return
}
}

// -----

// What a program keeps between calls: the data of the first one, and a mark that calls write it.
// CHECK: tilewright.manifest = "{{.*}}\22constants\22:[{\22buffer\22:1,\22bytes\22:16,\22data\22:\22AACAPw==\22,\22written\22:true}]
module attributes {tilewright.target = "nvidia:A100"} {
memref.global "private" @state : memref<4xf32> = dense<1.0>
func.func @global(%a: memref<4xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (4)>]} {
  %t = memref.get_global @state : memref<4xf32>
  return
}
}

// -----

// Two programs of one file keep it together: both name it, for loaders that know of it.
// CHECK: tilewright.manifest = "{\22arguments\22:{{.*}}\22constants\22:[{\22buffer\22:1,\22bytes\22:16,\22data\22:\22AAAAAA==\22,\22shared\22:\22state\22,\22written\22:true}]{{.*}}\22entry\22:\22put\22,\22format\22:4
// CHECK: tilewright.manifest = "{\22arguments\22:{{.*}}\22constants\22:[{\22buffer\22:1,\22bytes\22:16,\22data\22:\22AAAAAA==\22,\22shared\22:\22state\22,\22written\22:true}]{{.*}}\22entry\22:\22get\22,\22format\22:4
module attributes {tilewright.target = "nvidia:A100"} {
memref.global "private" @state : memref<4xf32> = uninitialized
func.func @put(%a: memref<4xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (4)>]} {
  %t = memref.get_global @state : memref<4xf32>
  return
}
func.func @get(%a: memref<4xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (4)>]} {
  %t = memref.get_global @state : memref<4xf32>
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
memref.global "private" @elsewhere : memref<4xf32>
func.func @global(%a: memref<4xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (4)>]} {
  // expected-error @+1 {{of 'elsewhere', which has no value here; an array of another module is an argument}}
  %t = memref.get_global @elsewhere : memref<4xf32>
  return
}
}

// -----

// expected-error @+1 {{chip cpu:x86-64 runs no lanes in blocks: it lacks a level of kind Concurrent, a register file of lanes}}
module attributes {tilewright.target = "cpu:x86-64"} {
}

// -----

// A launch takes the bytes and makes the view of them; of the shift it knows what divides it.
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK: tilewright.manifest = "{{.*}}\22arguments\22:[{\22buffer\22:0},{\22value\22:{\22size\22:0}},{\22value\22:[\22*\22,{\22size\22:0},8]}]
// CHECK-LABEL: func.func private @view_launch_0(
// CHECK-SAME: %[[BYTES:.*]]: memref<?xi8>, %[[SHIFT:.*]]: index)
// CHECK: %[[V:.*]] = memref.view %[[BYTES]][%[[SHIFT]]][] {tilewright.shift_multiple = 8 : i64} : memref<?xi8> to memref<4xf32>
// CHECK: memref.store %{{.*}}, %[[V]][%{{.*}}]
func.func @view(%a: memref<?xi8>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<()[s0] -> (s0)>]} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?xi8>
  %shift = arith.muli %n, %c8 : index
  %v = memref.view %a[%shift][] : memref<?xi8> to memref<4xf32>
  tile.parallel (%i) to (4) level "grid" {
    memref.store %zero, %v[%i] : memref<4xf32>
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
func.func @hand_on(%a: memref<64xi8>, %n: memref<index>) attributes {tilewright.inputs = 2 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (64)>, affine_map<() -> ()>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %v = memref.view %a[%c0][] : memref<64xi8> to memref<4xf32>
  %w = memref.view %a[%c32][] : memref<64xi8> to memref<4xf32>
  %end = memref.load %n[] : memref<index>
  // expected-error @+1 {{hands on what memref.view makes of bytes; on lanes hand on the bytes, and make the view where it is used}}
  %r = scf.for %i = %c0 to %end step %c1 iter_args(%x = %v) -> memref<4xf32> {
    scf.yield %w : memref<4xf32>
  }
  return
}
}

// -----

// Devices start at most 65535 blocks along all dimensions but the fastest one. Those that may be more, and all that are faster, become
// one; the kernel divides, by 32 bits.
module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: \22grid\22:{{\[\[}}\22*\22,[\22*\22,{\22size\22:0},[\22ceildiv\22,{\22size\22:1},64]],3],1,1]
// CHECK: func.func private @dynamic_launch_0(%[[A:.*]]: memref<?x?x3xf32>)
// CHECK: %[[D:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK: tile.parallel (%[[B:.*]]) to (1) level "grid" {
// CHECK-NEXT: %[[I:.*]] = arith.index_castui %[[B]] : index to i32
// CHECK-NEXT: %[[C3:.*]] = arith.constant 3 : i32
// CHECK-NEXT: %[[X:.*]] = arith.remui %[[I]], %[[C3]] : i32
// CHECK-NEXT: %[[R:.*]] = arith.divui %[[I]], %[[C3]] : i32
// CHECK-NEXT: %[[XI:.*]] = arith.index_castui %[[X]] : i32 to index
// CHECK-NEXT: %[[E:.*]] = affine.apply #{{.*}}()[%[[D]]]
// CHECK-NEXT: %[[EI:.*]] = arith.index_castui %[[E]] : index to i32
// CHECK-NEXT: %[[Y:.*]] = arith.remui %[[R]], %[[EI]] : i32
// CHECK-NEXT: %[[Z:.*]] = arith.divui %[[R]], %[[EI]] : i32
// CHECK-NEXT: %[[YI:.*]] = arith.index_castui %[[Y]] : i32 to index
// CHECK-NEXT: %[[ZI:.*]] = arith.index_castui %[[Z]] : i32 to index
// CHECK-NEXT: tile.parallel
// CHECK-NEXT: memref.store %{{.*}}, %[[A]][%[[ZI]], %[[YI]], %[[XI]]]
func.func @dynamic(%a: memref<?x?x3xf32>, %b: memref<f32>) attributes {tilewright.inputs = 2 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<()[s0, s1] -> (s0, s1, 3)>, affine_map<()[s0, s1] -> ()>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 0.0 : f32
  %m = memref.dim %a, %c0 : memref<?x?x3xf32>
  %n = memref.dim %a, %c1 : memref<?x?x3xf32>
  tile.parallel (%z, %y, %x) to (%m, %n ceildiv 64, 3) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      memref.store %f, %a[%z, %y, %x] : memref<?x?x3xf32>
    }
  }
  return
}

}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
// As many as there are stay dimensions; of those of @rows the outermost does.
// CHECK-LABEL: func.func @small
// CHECK-SAME: \22grid\22:[3,65535,65535]
// CHECK-LABEL: func.func @rows
// CHECK-SAME: \22grid\22:[196608,2,1]
// CHECK: func.func private @small_launch_0
// CHECK: tile.parallel (%[[Z:.*]], %[[Y:.*]], %[[X:.*]]) to (1, 1, 1) level "grid" {
// CHECK-NEXT: tile.parallel
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[Z]], %[[Y]], %[[X]]]
// CHECK: func.func private @rows_launch_0
// CHECK: tile.parallel (%[[Z:.*]], %[[B:.*]]) to (1, 1) level "grid" attributes {marked} {
// CHECK: %[[X:.*]] = arith.index_castui %{{.*}} : i32 to index
// CHECK-NEXT: %[[Y:.*]] = arith.index_castui %{{.*}} : i32 to index
// CHECK-NEXT: tile.parallel
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[Z]], %[[Y]], %[[X]]]
func.func @small(%a: memref<65535x65535x3xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (65535, 65535, 3)>]} {
  %f = arith.constant 0.0 : f32
  tile.parallel (%z, %y, %x) to (65535, 65535, 3) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      memref.store %f, %a[%z, %y, %x] : memref<65535x65535x3xf32>
    }
  }
  return
}
func.func @rows(%a: memref<2x65536x3xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (2, 65536, 3)>]} {
  %f = arith.constant 0.0 : f32
  tile.parallel (%z, %y, %x) to (2, 65536, 3) level "grid" attributes {marked} {
    tile.parallel (%w) to (1) level "block" {
      memref.store %f, %a[%z, %y, %x] : memref<2x65536x3xf32>
    }
  }
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
func.func @large(%a: memref<3xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (3)>]} {
  %f = arith.constant 0.0 : f32
  // expected-error @+1 {{needs 3221225472 blocks along one dimension of its grid, launches have at most 2147483647; use smaller arrays}}
  tile.parallel (%z, %y, %x) to (1073741824, 1, 3) level "grid" {
    tile.parallel (%w) to (1) level "block" {
      memref.store %f, %a[%w] : memref<3xf32>
    }
  }
  return
}
}
