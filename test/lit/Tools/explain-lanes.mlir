// Decisions for chips that run lanes say what they chose from, the fastest first.
//
// RUN: tw-compile %s --function product --target nvidia:A100 --explain -o %t.tw | FileCheck %s --check-prefix=PRODUCT
// RUN: tw-compile %s --function product --target nvidia:H100 --explain=json -o %t.tw | FileCheck %s --check-prefix=RING
// RUN: tw-compile %s --function long --target nvidia:A100 --explain -o %t.tw | FileCheck %s --check-prefix=SPLIT
// RUN: tw-compile %s --function rows --target amd:MI300X --explain -o %t.tw | FileCheck %s --check-prefix=ROWS

// The choice, itself again, and another tile that takes longer.
// PRODUCT: contraction
// PRODUCT: choice: block = [[[BLOCK:[0-9, ]+]]]
// PRODUCT-NEXT: candidates:
// PRODUCT-NEXT: block = [[[BLOCK]]]
// PRODUCT-NEXT: block = [{{.*}}seconds = {{.*}}unit = nvidia.mma

// Units that a group issues on the scratchpad stand beside those of one subgroup.
// RING: "candidates": [
// RING-DAG: "engine": "TmaLoad"
// RING-DAG: "engine": ""
// RING: ]

// SPLIT: split
// SPLIT-NEXT: choice: {{.*}}split_k = [[PARTS:[0-9]+]],
// SPLIT-NEXT: candidates:
// SPLIT-NEXT: {{.*}}split_k = [[PARTS]],
// SPLIT: split_k = 1,

// ROWS: rows
// ROWS: candidates:
// ROWS: subgroups_per_row = 1,

func.func @product(%a: tensor<1024x512xf16>, %b: tensor<512x1024xf16>, %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<1024x512xf16>, tensor<512x1024xf16>) outs(%c : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

func.func @long(%a: tensor<64x16384xf16>, %b: tensor<16384x64xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<64x16384xf16>, tensor<16384x64xf16>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

func.func @rows(%a: tensor<512x4096xf32>, %s: tensor<512xf32>) -> tensor<512xf32> {
  %r = linalg.reduce { arith.addf } ins(%a : tensor<512x4096xf32>) outs(%s : tensor<512xf32>) dimensions = [1]
  return %r : tensor<512xf32>
}
