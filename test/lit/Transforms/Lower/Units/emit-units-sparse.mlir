// The index of a sparse operand: bytes of a lane, of which the lowest two bits go side by side into a register.
//
// RUN: tw-opt %s -emit-units -split-input-file | FileCheck %s

module attributes {tilewright.target = "amd:MI300X"} {
  llvm.func @tilewright.unit.amd.smfmac_cdna3_16x16_f16_f32(vector<4xf16>, vector<8xf16>, vector<4xf32>, vector<4xi8>) -> vector<4xf32>

  // CHECK-LABEL: llvm.func @f
  // CHECK-SAME: %[[A:.*]]: vector<4xf16>, %[[B:.*]]: vector<8xf16>, %[[C:.*]]: vector<4xf32>, %[[P:.*]]: vector<4xi8>
  // CHECK: %[[WORD:.*]] = llvm.bitcast %[[P]] : vector<4xi8> to i32
  // CHECK: %[[PLACES:.*]] = llvm.mlir.constant(50529027 : i32) : i32
  // CHECK: %[[ONE:.*]] = llvm.and %[[WORD]], %[[PLACES]] : i32
  // CHECK: %[[NEXT:.*]] = llvm.lshr %[[ONE]], %{{.*}} : i32
  // CHECK: %[[MET:.*]] = llvm.or %[[ONE]], %[[NEXT]] : i32
  // CHECK: %[[PAIRS:.*]] = llvm.mlir.constant(983055 : i32) : i32
  // CHECK: llvm.and %[[MET]], %[[PAIRS]] : i32
  // CHECK: %[[ALL:.*]] = llvm.mlir.constant(255 : i32) : i32
  // CHECK: %[[SET:.*]] = llvm.and %{{.*}}, %[[ALL]] : i32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.smfmac.f32.16x16x32.f16"(%[[A]], %[[B]], %[[C]], %[[SET]], %{{.*}}, %{{.*}})
  llvm.func @f(%a: vector<4xf16>, %b: vector<8xf16>, %c: vector<4xf32>, %p: vector<4xi8>) -> vector<4xf32> {
    %d = llvm.call @tilewright.unit.amd.smfmac_cdna3_16x16_f16_f32(%a, %b, %c, %p) : (vector<4xf16>, vector<8xf16>, vector<4xf32>, vector<4xi8>) -> vector<4xf32>
    llvm.return %d : vector<4xf32>
  }
}

// -----

// Of 16 places those of a word of 32 bits first.
module attributes {tilewright.target = "nvidia:H200"} {
  llvm.func @tilewright.unit.nvidia.mma_sp_ordered_m16n8k64_i8_i32(vector<16xi8>, vector<16xi8>, vector<4xi32>, vector<16xi8>) -> vector<4xi32>

  // CHECK-LABEL: llvm.func @words
  // CHECK-COUNT-4: llvm.mlir.constant(50529027 : i32) : i32
  // CHECK: %[[PLACE:.*]] = llvm.mlir.constant(24 : i32) : i32
  // CHECK: %[[LAST:.*]] = llvm.shl %{{.*}}, %[[PLACE]] : i32
  // CHECK: %[[WORD:.*]] = llvm.or %{{.*}}, %[[LAST]] : i32
  // CHECK: %[[SELECTOR:.*]] = llvm.mlir.constant(0 : i32) : i32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.mma.sp.ordered.metadata.m16n8k64.row.col.s8"({{.*}}, %[[WORD]], %[[SELECTOR]])
  llvm.func @words(%a: vector<16xi8>, %b: vector<16xi8>, %c: vector<4xi32>, %p: vector<16xi8>) -> vector<4xi32> {
    %d = llvm.call @tilewright.unit.nvidia.mma_sp_ordered_m16n8k64_i8_i32(%a, %b, %c, %p) : (vector<16xi8>, vector<16xi8>, vector<4xi32>, vector<16xi8>) -> vector<4xi32>
    llvm.return %d : vector<4xi32>
  }
}

// -----

// Of a group: A and B by descriptors, the places of the lane in a register. Lines of A along k, of B along n.
module attributes {tilewright.target = "nvidia:H200"} {
  llvm.func @tilewright.unit.nvidia.wgmma_sp_m64n32k32_f16_f32(i64, i64, i64, i64, vector<16xf32>, vector<16xi8>) -> vector<16xf32>

  // CHECK-LABEL: llvm.func @group
  // CHECK-SAME: %[[A:.*]]: i64, %[[B:.*]]: i64, %{{.*}}: vector<16xf32>, %[[P:.*]]: vector<16xi8>
  // CHECK: llvm.bitcast %[[P]] : vector<16xi8> to i128
  // CHECK: %[[PLACE:.*]] = llvm.mlir.constant(24 : i32) : i32
  // CHECK: %[[LAST:.*]] = llvm.shl %{{.*}}, %[[PLACE]] : i32
  // CHECK: %[[WORD:.*]] = llvm.or %{{.*}}, %[[LAST]] : i32
  // CHECK: llvm.inline_asm has_side_effects "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sp.sync.aligned.m64n32k32.f32.f16.f16 {$0,{{.*}},$15}, $32, $33, $34, 0, p, 1, 1, 0, 1; }", "=f,{{.*}},15,l,l,r" {{.*}} %[[A]], %[[B]], %[[WORD]] :
  llvm.func @group(%a: i64, %b: i64, %c: vector<16xf32>, %p: vector<16xi8>) -> vector<16xf32> {
    %alongK = llvm.mlir.constant(1 : i64) : i64
    %alongFree = llvm.mlir.constant(0 : i64) : i64
    %d = llvm.call @tilewright.unit.nvidia.wgmma_sp_m64n32k32_f16_f32(%a, %alongK, %b, %alongFree, %c, %p) : (i64, i64, i64, i64, vector<16xf32>, vector<16xi8>) -> vector<16xf32>
    llvm.return %d : vector<16xf32>
  }
}

// -----

// Of bytes, which have one order, without factors; sums that begin with zero are not read.
module attributes {tilewright.target = "nvidia:H200"} {
  llvm.func @tilewright.unit.nvidia.wgmma_sp_m64n32k64_u8_i32(i64, i64, i64, i64, vector<16xi32>, vector<16xi8>) -> vector<16xi32>

  // CHECK-LABEL: llvm.func @bytes
  // CHECK: "{ .reg .pred p; setp.ne.b32 p, 0, 0; wgmma.mma_async.sp.sync.aligned.m64n32k64.s32.u8.u8 {$0,{{.*}},$15}, $32, $33, $34, 0, p; }", "=r,
  llvm.func @bytes(%a: i64, %b: i64, %p: vector<16xi8>) -> vector<16xi32> {
    %alongK = llvm.mlir.constant(1 : i64) : i64
    %zero = llvm.mlir.constant(dense<0> : vector<16xi32>) : vector<16xi32>
    %d = llvm.call @tilewright.unit.nvidia.wgmma_sp_m64n32k64_u8_i32(%a, %alongK, %b, %alongK, %zero, %p) : (i64, i64, i64, i64, vector<16xi32>, vector<16xi8>) -> vector<16xi32>
    llvm.return %d : vector<16xi32>
  }
}

// -----

// In a memory of the block: the address of what a copy has brought, and which of its entries the instruction takes. Of f16 that is one,
// which the instruction names by the even one before it and a bit of its description; of bytes two.
module attributes {tilewright.target = "nvidia:B200"} {
  llvm.func @tilewright.unit.nvidia.tcgen05_sp_m128n64k32_f16_f32(i64, i64, i64, i64, i32, i32, i64, i1)
  llvm.func @tilewright.unit.nvidia.tcgen05_sp_m128n64k64_i8_i32(i64, i64, i64, i64, i32, i32, i64, i1)

  // CHECK-LABEL: llvm.func @block
  // CHECK-SAME: %[[A:.*]]: i64, %[[B:.*]]: i64, %[[C:.*]]: i32, %[[P:.*]]: i32, %[[ADD:.*]]: i1
  // CHECK: %[[TWO:.*]] = llvm.mlir.constant(2 : i32) : i32
  // CHECK: %[[COLUMN:.*]] = llvm.add %[[P]], %[[TWO]] : i32
  // CHECK: %[[FIELDS:.*]] = llvm.mlir.constant(135331861 : i32) : i32
  // CHECK: llvm.inline_asm has_side_effects "tcgen05.mma.sp.cta_group::1.kind::f16 [$0], $1, $2, [$3], $4, $5;", "r,l,l,r,r,b,~{memory}" %[[C]], %[[A]], %[[B]], %[[COLUMN]], %[[FIELDS]], %[[ADD]]
  // CHECK: %[[FIELDS:.*]] = llvm.mlir.constant(135267492 : i32) : i32
  // CHECK: "tcgen05.mma.sp.cta_group::1.kind::i8 [$0], $1, $2, [$3], $4, $5;", {{.*}}, %[[FIELDS]], %[[ADD]]
  llvm.func @block(%a: i64, %b: i64, %c: i32, %p: i32, %adds: i1) {
    %alongK = llvm.mlir.constant(1 : i64) : i64
    %alongFree = llvm.mlir.constant(0 : i64) : i64
    %third = llvm.mlir.constant(3 : i64) : i64
    %second = llvm.mlir.constant(2 : i64) : i64
    llvm.call @tilewright.unit.nvidia.tcgen05_sp_m128n64k32_f16_f32(%a, %alongK, %b, %alongFree, %c, %p, %third, %adds) : (i64, i64, i64, i64, i32, i32, i64, i1) -> ()
    llvm.call @tilewright.unit.nvidia.tcgen05_sp_m128n64k64_i8_i32(%a, %alongK, %b, %alongK, %c, %p, %second, %adds) : (i64, i64, i64, i64, i32, i32, i64, i1) -> ()
    llvm.return
  }
}
