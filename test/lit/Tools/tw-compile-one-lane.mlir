// A tail of one element that was narrowed: a scalar store. LLVM 22 would write the four bytes before the narrowing.
//
// RUN: tw-compile %s --target cpu:x86-64-v4 -o %t.ll && FileCheck %s < %t.ll
// REQUIRES: tw-compile

// CHECK-LABEL: @narrow_in(
// CHECK: %[[LANE:.*]] = extractelement <16 x i8> %{{.*}}, i64 0
// CHECK: store i8 %[[LANE]], ptr
// CHECK-NOT: call void @llvm.masked.store
func.func @narrow(%x: tensor<257xi32>) -> tensor<257xi8> {
  %e = tensor.empty() : tensor<257xi8>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<257xi32>) outs(%e : tensor<257xi8>) {
    ^bb0(%v: i32, %o: i8):
      %t = arith.trunci %v : i32 to i8
      linalg.yield %t : i8
  } -> tensor<257xi8>
  return %r : tensor<257xi8>
}
