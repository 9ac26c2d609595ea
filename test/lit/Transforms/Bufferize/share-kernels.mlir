// Kernels that are equal up to names become one; everything else stays.
//
// RUN: tw-opt %s -share-kernels | FileCheck %s

// CHECK-LABEL: func.func private @first
func.func private @first(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tilewright.kernel} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    %v = affine.load %x[%i] : memref<4xf32>
    %r = arith.addf %v, %one : f32
    affine.store %r, %y[%i] : memref<4xf32>
  }
  return
}
// Other names of values, and of the function.
// CHECK-NOT: @equal
func.func private @equal(%in: memref<4xf32>, %out: memref<4xf32>) attributes {tilewright.kernel} {
  %c = arith.constant 1.0 : f32
  affine.for %k = 0 to 4 {
    %a = affine.load %in[%k] : memref<4xf32>
    %b = arith.addf %a, %c : f32
    affine.store %b, %out[%k] : memref<4xf32>
  }
  return
}
// CHECK: func.func private @other_constant
func.func private @other_constant(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tilewright.kernel} {
  %two = arith.constant 2.0 : f32
  affine.for %i = 0 to 4 {
    %v = affine.load %x[%i] : memref<4xf32>
    %r = arith.addf %v, %two : f32
    affine.store %r, %y[%i] : memref<4xf32>
  }
  return
}
// CHECK: func.func private @other_argument
func.func private @other_argument(%y: memref<4xf32>, %x: memref<4xf32>) attributes {tilewright.kernel} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    %v = affine.load %x[%i] : memref<4xf32>
    %r = arith.addf %v, %one : f32
    affine.store %r, %y[%i] : memref<4xf32>
  }
  return
}
// CHECK: func.func private @other_size
func.func private @other_size(%x: memref<8xf32>, %y: memref<8xf32>) attributes {tilewright.kernel} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 8 {
    %v = affine.load %x[%i] : memref<8xf32>
    %r = arith.addf %v, %one : f32
    affine.store %r, %y[%i] : memref<8xf32>
  }
  return
}
// CHECK: func.func private @other_map
func.func private @other_map(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tilewright.kernel} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    %v = affine.load %x[-%i + 3] : memref<4xf32>
    %r = arith.addf %v, %one : f32
    affine.store %r, %y[%i] : memref<4xf32>
  }
  return
}
// Arrays of this one may overlap.
// CHECK: func.func private @other_attribute
func.func private @other_attribute(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tilewright.opaque} {
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    %v = affine.load %x[%i] : memref<4xf32>
    %r = arith.addf %v, %one : f32
    affine.store %r, %y[%i] : memref<4xf32>
  }
  return
}
// Functions of the program are no kernels: both stay.
// CHECK: func.func private @plain
func.func private @plain(%x: memref<f32>) {
  return
}
// CHECK: func.func private @plain_equal
func.func private @plain_equal(%x: memref<f32>) {
  return
}
// CHECK: func.func @public_one
// CHECK-COUNT-2: call @first(%{{.*}}, %{{.*}})
// CHECK-NEXT: call @other_constant
// CHECK-NEXT: call @other_argument
// CHECK-NEXT: call @other_map
// CHECK-NEXT: call @other_attribute
func.func @public_one(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<8xf32>, %d: memref<8xf32>) {
  call @first(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  call @equal(%b, %a) : (memref<4xf32>, memref<4xf32>) -> ()
  call @other_constant(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  call @other_argument(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  call @other_map(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  call @other_attribute(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  call @other_size(%c, %d) : (memref<8xf32>, memref<8xf32>) -> ()
  return
}
// CHECK: func.func @public_two
// CHECK-NEXT: call @first
func.func @public_two(%a: memref<4xf32>, %b: memref<4xf32>) {
  call @equal(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}
