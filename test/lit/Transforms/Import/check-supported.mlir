// RUN: tw-opt %s --check-supported --split-input-file --verify-diagnostics

// expected-error@+1 {{unsupported type: argument 0 of 'f' of type 'tensor<4xcomplex<f32>>', which is complex; use two tensors of floats}}
func.func @f(%a: tensor<4xcomplex<f32>>) {
  return
}

// -----

// expected-error@+1 {{unsupported type: argument 0 of 'f' of type 'tensor<*xf32>', which has no rank}}
func.func @f(%a: tensor<*xf32>) {
  return
}

// -----

#csr = #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>
// expected-error@+1 {{which has an encoding; sparse and otherwise encoded tensors are not compiled: use a dense tensor}}
func.func @f(%a: tensor<4x4xf32, #csr>) {
  return
}

// -----

// expected-error@+1 {{which is a quantised type; use its storage type (i8, i32) and explicit scales}}
func.func @f(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  return
}

// -----

// expected-error@+1 {{which is wider than 64 bits; use i64 or narrower}}
func.func @f(%a: tensor<4xi128>) {
  return
}

// -----

// expected-error@+1 {{which is a float type that is not compiled; use f64, f32, bf16, f16, or of the short floats f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ, f8E8M0FNU, f6E2M3FN, f6E3M2FN or f4E2M1FN}}
func.func @f(%a: tensor<4xf8E4M3B11FNUZ>) {
  return
}

// -----

func.func @f(%a: f32) {
  // expected-error@+1 {{unsupported operation: 'complex.create'; programs are made of}}
  %c = complex.create %a, %a : complex<f32>
  return
}

// -----

func.func @f() {
  %a = tosa.const_shape {values = dense<4> : tensor<1xindex>} : () -> !tosa.shape<1>
  // expected-error@+1 {{unsupported operation: 'tosa.exp2_shape'; shapes of TOSA are constants: use tosa.const_shape}}
  %b = "tosa.exp2_shape"(%a) : (!tosa.shape<1>) -> !tosa.shape<1>
  return
}

// -----

// expected-error@+1 {{unsupported operation: 'tosa.variable'; programs keep nothing between calls}}
tosa.variable @v = dense<1.0> : tensor<4xf32>

// -----

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{unsupported operation: 'tosa.custom'; it has no meaning here: write out what it computes}}
  %b = tosa.custom %a {operator_name = "f", domain_name = "d", implementation_attrs = ""} : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0 of 'f' of type 'memref<8x8xf32, strided<[16, 1]>>', which has a layout or a memory space; arrays of callers are dense and row-major}}
func.func @f(%a: memref<8x8xf32, strided<[16, 1]>>) {
  return
}

// -----

// expected-error@+1 {{argument 0 of 'f' of type 'tensor<5xvector<4xf32>>', which is no array of numbers}}
func.func @f(%a: tensor<5xvector<4xf32>>) {
  return
}

// -----

// expected-error@+1 {{result 0 of 'f' of type 'tuple<f32, f32>', which is no array of numbers}}
func.func @f() -> tuple<f32, f32> {
  %a = "builtin.unrealized_conversion_cast"() : () -> tuple<f32, f32>
  return %a : tuple<f32, f32>
}

// -----

func.func private @g(f32) -> f32
func.func @f(%a: f32) -> f32 {
  // expected-error@+1 {{unsupported operation: 'func.call' of 'g', which has no body; give it one in this module}}
  %b = call @g(%a) : (f32) -> f32
  return %b : f32
}

// -----

func.func @f(%a: f32) {
  // expected-error@+1 {{unsupported operation: 'vector.print'; compiled code prints nothing: return the value}}
  vector.print %a : f32
  return
}

// -----

func.func @f(%a: tensor<?x4xf32>) -> index {
  %c7 = arith.constant 7 : index
  // expected-error@+1 {{there is no dimension 7 of 'tensor<?x4xf32>'; its rank is 2}}
  %n = tensor.dim %a, %c7 : tensor<?x4xf32>
  return %n : index
}

// -----

func.func @f(%a: memref<?x4xf32>) -> index {
  %c = arith.constant -1 : index
  // expected-error@+1 {{there is no dimension -1 of 'memref<?x4xf32>'; its rank is 2}}
  %n = memref.dim %a, %c : memref<?x4xf32>
  return %n : index
}

// -----

// Inside, layouts are views.
func.func private @view(%a: memref<8x8xf32, strided<[16, 1]>>) {
  return
}

// -----

// Everything here is compiled.
func.func @f(%a: tensor<?x0xi1>, %b: tensor<bf16>, %n: index) -> (tensor<?x0xi1>, i64) {
  %c = arith.constant 1 : i64
  return %a, %c : tensor<?x0xi1>, i64
}
