// RUN: tw-opt %s --check-kernels --split-input-file --verify-diagnostics

func.func private @f(%a: memref<4xf32, strided<[2]>>, %s: f32) attributes {tilewright.kernel} {
  affine.for %i = 0 to 4 {
    // expected-error@+1 {{kernel 'f': 'affine.store' accesses a memref whose layout is not the identity}}
    affine.store %s, %a[%i] : memref<4xf32, strided<[2]>>
  }
  return
}

// -----

func.func private @f(%a: memref<4xf32>, %s: f32, %i: index) attributes {tilewright.kernel} {
  // expected-error@+1 {{kernel 'f': 'memref.store' is not affine; only affine loops with scalar loads and stores}}
  memref.store %s, %a[%i] : memref<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %s = arith.constant 0.0 : f32
  // expected-error@+1 {{'tensor.insert' could not be bufferized: it still computes a tensor}}
  %b = tensor.insert %s into %a[%c0] : tensor<4xf32>
  return
}
