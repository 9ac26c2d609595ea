// RUN: rm -rf %t && split-file %s %t
// RUN: tw-run %t/constants.mlir --verify --output %t/a.npy --output %t/b.npy | FileCheck %s --check-prefix=VERIFIED
// RUN: %python -c "import numpy, sys; print(*numpy.load(sys.argv[1]), numpy.load(sys.argv[2]))" %t/a.npy %t/b.npy | FileCheck %s --check-prefix=VALUES
// RUN: tw-run %t/only.mlir --output %t/c.npy && %python -c "import numpy, sys; print(*numpy.load(sys.argv[1]))" %t/c.npy | FileCheck %s --check-prefix=ONLY
// RUN: not tw-run %t/extern.mlir 2>&1 | FileCheck %s --check-prefix=EXTERN
// RUN: not tw-run %t/graph.mlir 2>&1 | FileCheck %s --check-prefix=GRAPH

// Globals as other importers write them: weights, a type that is wider than the value's, a seed that is called mutable and
// that nothing writes to, one that nobody reads.

// VERIFIED: verify: output 0
// VALUES: 1.0 2.0 3.0 10
// ONLY: 4.0 5.0
// EXTERN: extern.mlir:3:{{[0-9]+}}: error: unsupported operation: 'ml_program.global_load_const' of '@far', which has no value here; give it one in this module, or make it an argument
// GRAPH: graph.mlir:4:{{[0-9]+}}: error: unsupported operation: 'ml_program.func'; programs are made of func, linalg

//--- constants.mlir
ml_program.global private @w(dense<[1.0, 2.0, 3.0]> : tensor<3xf32>) : tensor<?xf32>
ml_program.global private mutable @global_seed(dense<7> : tensor<i64>) : tensor<i64>
ml_program.global private @three(3 : i64) : i64
ml_program.global private mutable @unused(dense<0> : tensor<i64>) : tensor<i64>
func.func @f() -> (tensor<3xf32>, tensor<i64>) {
  %w = ml_program.global_load_const @w : tensor<?xf32>
  %known = tensor.cast %w : tensor<?xf32> to tensor<3xf32>
  %s = ml_program.global_load @global_seed : tensor<i64>
  %i = tensor.extract %s[] : tensor<i64>
  %t = ml_program.global_load_const @three : i64
  %u = arith.addi %i, %t : i64
  %r = tensor.from_elements %u : tensor<i64>
  return %known, %r : tensor<3xf32>, tensor<i64>
}

//--- only.mlir
ml_program.global private @w(dense<[4.0, 5.0]> : tensor<2xf32>) : tensor<2xf32>
func.func @f() -> tensor<2xf32> {
  %w = ml_program.global_load_const @w : tensor<2xf32>
  return %w : tensor<2xf32>
}

//--- extern.mlir
ml_program.global private @far(#ml_program.extern<tensor<4xi32>>) : tensor<4xi32>
func.func @f() -> tensor<4xi32> {
  %v = ml_program.global_load_const @far : tensor<4xi32>
  return %v : tensor<4xi32>
}

//--- graph.mlir
func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
ml_program.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  ml_program.return %x : tensor<4xf32>
}
