// Words of places of constants: the lowest bits of bytes, of tf32 four bits each, 0b0100 for the first element of a group of
// two and 0b1110 for the second.
//
// RUN: tw-opt %s -emit-units | mlir-translate --mlir-to-llvmir | opt -passes=instcombine -S | FileCheck %s

module attributes {tilewright.target = "nvidia:H200"} {
  llvm.func @tilewright.unit.nvidia.mma_sp_ordered_m16n8k32_f16_f32(vector<8xf16>, vector<8xf16>, vector<4xf32>, vector<16xi8>) -> vector<4xf32>
  llvm.func @tilewright.unit.nvidia.mma_sp_ordered_m16n8k16_tf32_f32(vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<8xi8>) -> vector<4xf32>

  // Places 0 1, 2 3, 0 3, 1 2 of row g, with other bits that say nothing; then 1 3, 0 2, 0 1, 2 3 of row g + 8.
  // CHECK-LABEL: @f16
  // 0xE48D 0x9CE4: the first place in the lowest bits.
  // CHECK: @llvm.nvvm.mma.sp.ordered.metadata.m16n8k32.row.col.f32.f32({{.*}}, i32 -460481308, i32 0)
  llvm.func @f16(%a: vector<8xf16>, %b: vector<8xf16>, %c: vector<4xf32>) -> vector<4xf32> {
    %p = llvm.mlir.constant(dense<[4, 1, 2, 127, -4, 3, 1, 2, 1, 3, 0, 2, 0, 1, 2, 3]> : vector<16xi8>) : vector<16xi8>
    %d = llvm.call @tilewright.unit.nvidia.mma_sp_ordered_m16n8k32_f16_f32(%a, %b, %c, %p) : (vector<8xf16>, vector<8xf16>, vector<4xf32>, vector<16xi8>) -> vector<4xf32>
    llvm.return %d : vector<4xf32>
  }

  // 0x44EE4EE4.
  // CHECK-LABEL: @tf32
  // CHECK: @llvm.nvvm.mma.sp.ordered.metadata.m16n8k16.row.col.tf32({{.*}}, i32 1156468452, i32 0)
  llvm.func @tf32(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
    %p = llvm.mlir.constant(dense<[0, 1, -1, 2, 1, 1, 0, 4]> : vector<8xi8>) : vector<8xi8>
    %d = llvm.call @tilewright.unit.nvidia.mma_sp_ordered_m16n8k16_tf32_f32(%a, %b, %c, %p) : (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<8xi8>) -> vector<4xf32>
    llvm.return %d : vector<4xf32>
  }
}
