// Products of bf16, accumulated in f32: tails of every kind, transposed operands, a fused layer.
// RUN: tw-compile %s --load-target=%plugin --target sme:sme256 --function nn --explain -o %t.256.o | FileCheck %s --check-prefix=UNIT256
// RUN: tw-compile %s --load-target=%plugin --target sme:sme256 --function layer -o %t.layer.256.o
// RUN: llvm-objdump -d --mattr=+sme %t.layer.256.o | FileCheck %s --check-prefix=CODE
// UNIT256: unit = sme.bfmopa_256
// RUN: llvm-objdump -d --mattr=+sme %t.256.o | FileCheck %s --check-prefix=CODE
// RUN: tw-compile %s --load-target=%plugin --target sme:sme512 --function nn --explain -o %t.512.o | FileCheck %s --check-prefix=UNIT512
// RUN: tw-compile %s --load-target=%plugin --target sme:sme512 --function layer -o %t.layer.512.o
// RUN: llvm-objdump -d --mattr=+sme %t.layer.512.o | FileCheck %s --check-prefix=CODE
// UNIT512: unit = sme.bfmopa_512
// RUN: llvm-objdump -d --mattr=+sme %t.512.o | FileCheck %s --check-prefix=CODE
// CODE: smstart
// CODE: bfmopa za0.s
// CODE: bfmopa za1.s
// CODE: st1w
// CODE: smstop

func.func @nn(%a: tensor<37x41xbf16>, %b: tensor<41x53xbf16>) -> tensor<37x53xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<37x53xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<37x53xf32>) -> tensor<37x53xf32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<37x41xbf16>, tensor<41x53xbf16>) outs(%fill : tensor<37x53xf32>) -> tensor<37x53xf32>
  return %c : tensor<37x53xf32>
}

func.func @tn(%a: tensor<7x33xbf16>, %b: tensor<7x16xbf16>) -> tensor<33x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<33x16xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<33x16xf32>) -> tensor<33x16xf32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<7x33xbf16>, tensor<7x16xbf16>) outs(%fill : tensor<33x16xf32>) -> tensor<33x16xf32>
  return %c : tensor<33x16xf32>
}

func.func @nt(%a: tensor<16x30xbf16>, %b: tensor<67x30xbf16>) -> tensor<16x67xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x67xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x67xf32>) -> tensor<16x67xf32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<16x30xbf16>, tensor<67x30xbf16>) outs(%fill : tensor<16x67xf32>) -> tensor<16x67xf32>
  return %c : tensor<16x67xf32>
}

func.func @tt(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (j, k)>,
                                      affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}

// max(x * w + b, 0) in one kernel.
func.func @layer(%x: tensor<50x64xbf16>, %w: tensor<64x100xbf16>, %b: tensor<100xf32>) -> tensor<50x100xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<50x100xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<50x100xf32>) -> tensor<50x100xf32>
  %product = linalg.matmul ins(%x, %w : tensor<50x64xbf16>, tensor<64x100xbf16>)
                           outs(%fill : tensor<50x100xf32>) -> tensor<50x100xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%product, %b : tensor<50x100xf32>, tensor<100xf32>) outs(%empty : tensor<50x100xf32>) {
  ^bb0(%u: f32, %v: f32, %out: f32):
    %sum = arith.addf %u, %v : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<50x100xf32>
  return %y : tensor<50x100xf32>
}
