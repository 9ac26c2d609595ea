// RUN: tw-opt %s --lower-to-llvm | FileCheck %s
// RUN: sed 's/"default"/"strict"/' %s | tw-opt --lower-to-llvm | FileCheck %s --check-prefix=STRICT

// Reductions of vectors may be re-associated, unless the contract is strict.
// CHECK: llvm.func @sum
// CHECK: "llvm.intr.vector.reduce.fadd"(%{{.*}}) <{fastmathFlags = #llvm.fastmath<{{.*}}reassoc
// STRICT-NOT: reassoc
module attributes {tilewright.fp = "default"} {
  func.func @sum(%v: vector<16xf32>) -> f32 {
    %r = vector.reduction <add>, %v : vector<16xf32> into f32
    return %r : f32
  }
  // CHECK: llvm.func @transposed
  // CHECK-NOT: vector.
  // CHECK: llvm.shufflevector
  func.func @transposed(%v: vector<4x4xf32>) -> vector<4x4xf32> {
    %r = vector.transpose %v, [1, 0] : vector<4x4xf32> to vector<4x4xf32>
    return %r : vector<4x4xf32>
  }
  // CHECK: llvm.func @branches
  // CHECK: llvm.cond_br
  func.func @branches(%c: i1, %m: memref<?xf32>) -> memref<?xf32> {
    cf.cond_br %c, ^a(%m : memref<?xf32>), ^a(%m : memref<?xf32>)
  ^a(%n: memref<?xf32>):
    return %n : memref<?xf32>
  }
}
