// RUN: tw-opt %s --check-import --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{unsupported operation: 'linalg.softmax' could not be brought to linalg.generic}}
  %s = linalg.softmax dimension(0) ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{unsupported operation: 'tosa.tanh' could not be brought to linalg.generic}}
  %s = tosa.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}
