// Products of i8, accumulated in i32: tails of every kind, transposed operands, a fused layer.
// RUN: tw-compile %s --load-target=%plugin --target sme:sme256 --function nn --explain -o %t.256.o | FileCheck %s --check-prefix=UNIT256
// RUN: tw-compile %s --load-target=%plugin --target sme:sme256 --function layer -o %t.layer.256.o
// RUN: llvm-objdump -d --mattr=+sme %t.layer.256.o | FileCheck %s --check-prefix=CODE
// UNIT256: unit = sme.smopa_i8_256
// RUN: llvm-objdump -d --mattr=+sme %t.256.o | FileCheck %s --check-prefix=CODE
// RUN: tw-compile %s --load-target=%plugin --target sme:sme512 --function nn --explain -o %t.512.o | FileCheck %s --check-prefix=UNIT512
// RUN: tw-compile %s --load-target=%plugin --target sme:sme512 --function layer -o %t.layer.512.o
// RUN: llvm-objdump -d --mattr=+sme %t.layer.512.o | FileCheck %s --check-prefix=CODE
// UNIT512: unit = sme.smopa_i8_512
// RUN: llvm-objdump -d --mattr=+sme %t.512.o | FileCheck %s --check-prefix=CODE
// CODE: smstart
// CODE: smopa za0.s
// CODE: smopa za1.s
// CODE: st1w
// CODE: smstop

func.func @nn(%a: tensor<37x41xi8>, %b: tensor<41x53xi8>) -> tensor<37x53xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<37x53xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<37x53xi32>) -> tensor<37x53xi32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<37x41xi8>, tensor<41x53xi8>) outs(%fill : tensor<37x53xi32>) -> tensor<37x53xi32>
  return %c : tensor<37x53xi32>
}

func.func @tn(%a: tensor<7x33xi8>, %b: tensor<7x16xi8>) -> tensor<33x16xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<33x16xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<33x16xi32>) -> tensor<33x16xi32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<7x33xi8>, tensor<7x16xi8>) outs(%fill : tensor<33x16xi32>) -> tensor<33x16xi32>
  return %c : tensor<33x16xi32>
}

func.func @nt(%a: tensor<16x30xi8>, %b: tensor<67x30xi8>) -> tensor<16x67xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<16x67xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<16x67xi32>) -> tensor<16x67xi32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<16x30xi8>, tensor<67x30xi8>) outs(%fill : tensor<16x67xi32>) -> tensor<16x67xi32>
  return %c : tensor<16x67xi32>
}

func.func @tt(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x64xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x64xi32>) -> tensor<64x64xi32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (j, k)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<64x64xi8>, tensor<64x64xi8>) outs(%fill : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %c : tensor<64x64xi32>
}

// max(x * w + b, 0) in one kernel.
func.func @layer(%x: tensor<50x64xi8>, %w: tensor<64x100xi8>, %b: tensor<100xi32>) -> tensor<50x100xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<50x100xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<50x100xi32>) -> tensor<50x100xi32>
  %product = linalg.matmul ins(%x, %w : tensor<50x64xi8>, tensor<64x100xi8>)
                           outs(%fill : tensor<50x100xi32>) -> tensor<50x100xi32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %b : tensor<50x100xi32>, tensor<100xi32>) outs(%empty : tensor<50x100xi32>) {
  ^bb0(%u: i32, %v: i32, %out: i32):
    %sum = arith.addi %u, %v : i32
    %relu = arith.maxsi %sum, %zero : i32
    linalg.yield %relu : i32
  } -> tensor<50x100xi32>
  return %y : tensor<50x100xi32>
}
