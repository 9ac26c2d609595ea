// Grids become launches, the rest of the public function its manifest.
//
// RUN: tw-opt %s -split-input-file -verify-diagnostics -outline-launches | FileCheck %s

module attributes {tilewright.target = "nvidia:A100"} {
// CHECK-LABEL: func.func @scale
// CHECK-SAME: ceildiv
// CHECK-SAME: scale_launch_0
// CHECK-SAME: :1024
// CHECK-SAME: :64
// CHECK-SAME: temporaries
// CHECK-NOT: call
// CHECK: func.func private @scale_launch_0(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>)
// CHECK-SAME: tilewright.launch = {shared = 1024 : i64, threads = 64 : i64}
func.func private @kernel(%a: memref<?xf32>, %n: index) attributes {tilewright.kernel} {
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
func.func @scale(%a: memref<?xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<()[s0] -> (s0)>]} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  call @kernel(%a, %n) : (memref<?xf32>, index) -> ()
  return
}
}

// -----

module attributes {tilewright.target = "nvidia:A100"} {
func.func @loop(%a: memref<8xf32>) attributes {tilewright.inputs = 1 : i64, tilewright.outputs = 0 : i64, tilewright.shapes = [affine_map<() -> (8)>]} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{stands between launches; a program for nvidia:A100 is a straight sequence of launches over arguments and temporaries}}
  %x = memref.load %a[%c0] : memref<8xf32>
  memref.store %x, %a[%c0] : memref<8xf32>
  return
}
}
