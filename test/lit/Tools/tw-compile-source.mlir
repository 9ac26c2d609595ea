// The program of a scratchpad target as C and as LLVM IR: the same calls in both.
//
// RUN: tw-compile %s --load-target=%build/lib/tilewright/libtilewright-target-accelerator.so --target accelerator:npu -o %t.c
// RUN: FileCheck %s --check-prefix=C < %t.c
// RUN: tw-compile %s --load-target=%build/lib/tilewright/libtilewright-target-accelerator.so --target accelerator:npu -o %t.ll
// RUN: FileCheck %s --check-prefix=LL < %t.ll
// REQUIRES: tw-compile

// C: #include TILEWRIGHT_INTRINSICS
// C: static void mm_launch_0(int32_t v0, char *v1, char *v2, char *v3) {
// C:   = accelerator_accumulator();
// C-NOT: accelerator_accumulator
// C:   npu_load(
// C:   accelerator_commit_copy();
// C:   accelerator_wait_copy(
// C:   npu_multiply_i8(
// C:   npu_store(
// C: }
// C: int mm(const void *array0, const void *array1, void *array2) {
// C:   for (int64_t [[CORE:v[0-9]+]] = 0;
// C:     mm_launch_0(
// C:   return 0;

// No triple: the vendor's compiler says it. Narrow integers fill registers, as in C.
// LL-NOT: target triple
// LL: define internal void @mm_launch_0(i32 %0, ptr %1, ptr %2, ptr %3) {
// LL: call void @npu_load(
// LL: call void @accelerator_commit_copy()
// LL: call void @npu_multiply_i8(
// LL: call void @npu_store(
// LL-DAG: declare void @npu_load(ptr, i64, ptr, i64, i32 signext, i32 signext)
// LL-DAG: declare void @npu_multiply_i8(ptr, i64, ptr, i64, ptr, i64, i1 zeroext)
// LL-DAG: declare ptr @accelerator_scratchpad()
// LL: define signext i32 @mm(ptr readonly %0, ptr readonly %1, ptr %2)
// LL: call void @mm_launch_0(
func.func @mm(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>) -> tensor<64x64xi32> {
  %z = arith.constant 0 : i32
  %e = tensor.empty() : tensor<64x64xi32>
  %f = linalg.fill ins(%z : i32) outs(%e : tensor<64x64xi32>) -> tensor<64x64xi32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xi8>, tensor<64x64xi8>) outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %r : tensor<64x64xi32>
}
