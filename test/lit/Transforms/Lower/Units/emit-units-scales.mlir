// Scales of a unit: a byte of each lane, in the lowest byte of a register.
//
// RUN: tw-opt %s -emit-units | FileCheck %s

module attributes {tilewright.target = "amd:MI350"} {
  llvm.func @tilewright.unit.amd.mfma_cdna4_16x16x128_mxfp8_mxbf8_f32(vector<32xi8>, vector<32xi8>, vector<4xf32>, vector<1xi8>, vector<1xi8>) -> vector<4xf32>

  // CHECK-LABEL: llvm.func @f
  // CHECK-SAME: %[[A:.*]]: vector<32xi8>, %[[B:.*]]: vector<32xi8>, %[[C:.*]]: vector<4xf32>, %[[SA:.*]]: vector<1xi8>, %[[SB:.*]]: vector<1xi8>
  // CHECK-DAG: %[[BYTE_A:.*]] = llvm.bitcast %[[SA]] : vector<1xi8> to i8
  // CHECK-DAG: %[[WORD_A:.*]] = llvm.zext %[[BYTE_A]] : i8 to i32
  // CHECK-DAG: %[[BYTE_B:.*]] = llvm.bitcast %[[SB]] : vector<1xi8> to i8
  // CHECK-DAG: %[[WORD_B:.*]] = llvm.zext %[[BYTE_B]] : i8 to i32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.mfma.scale.f32.16x16x128.f8f6f4"({{.*}}, %[[C]], {{.*}}, {{.*}}, {{.*}}, %[[WORD_A]], {{.*}}, %[[WORD_B]])
  llvm.func @f(%a: vector<32xi8>, %b: vector<32xi8>, %c: vector<4xf32>, %sa: vector<1xi8>, %sb: vector<1xi8>) -> vector<4xf32> {
    %d = llvm.call @tilewright.unit.amd.mfma_cdna4_16x16x128_mxfp8_mxbf8_f32(%a, %b, %c, %sa, %sb) : (vector<32xi8>, vector<32xi8>, vector<4xf32>, vector<1xi8>, vector<1xi8>) -> vector<4xf32>
    llvm.return %d : vector<4xf32>
  }
}
