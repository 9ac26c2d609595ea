// RUN: tw-opt %s --lower-to-llvm | FileCheck %s
// RUN: tw-opt %s --lower-to-llvm=fuse-bfloats-in-single | FileCheck %s --check-prefix=IN-SINGLE
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

  // A bf16 becomes an f64 by way of an f32, which is a shift: no value of LLVM's type is left.
  // CHECK: llvm.func @widened(%{{.*}}: i16) -> f64
  // CHECK-NOT: bf16
  // CHECK: llvm.shl
  // CHECK-NOT: bf16
  // CHECK: llvm.fpext %{{.*}} : f32 to f64
  // CHECK-NOT: bf16
  // CHECK: llvm.return
  func.func @widened(%x: bf16) -> f64 {
    %y = arith.extf %x : bf16 to f64
    return %y : f64
  }

  // Nor, on chips without it, of a product that is added to something: LLVM would narrow it by a call.
  // CHECK-LABEL: llvm.func @fused
  // CHECK: llvm.intr.fma({{.*}}) {{.*}}: (vector<4xbf16>, vector<4xbf16>, vector<4xbf16>) -> vector<4xbf16>
  // IN-SINGLE-LABEL: llvm.func @fused
  // IN-SINGLE-NOT: bf16
  // IN-SINGLE: llvm.intr.fma({{.*}}) {{.*}}: (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // IN-SINGLE-NOT: bf16
  // IN-SINGLE: llvm.return
  func.func @fused(%x: vector<4xbf16>, %y: vector<4xbf16>) -> vector<4xbf16> {
    %z = math.fma %x, %y, %y : vector<4xbf16>
    return %z : vector<4xbf16>
  }

  // bf16 is moved as its bits, under masks and selects too; a unit's declaration keeps its type.
  // CHECK: llvm.func @moved(%{{.*}}: !llvm.ptr{{.*}}, %{{.*}}: vector<8xi1>, %{{.*}}: i16)
  // CHECK: llvm.mlir.constant(dense<16256> : vector<8xi16>) : vector<8xi16>
  // CHECK: llvm.intr.masked.load {{.*}}-> vector<8xi16>
  // CHECK: llvm.select {{.*}}vector<8xi1>, vector<8xi16>
  // CHECK: %[[CAST:.*]] = llvm.bitcast %{{.*}} : vector<8xi16> to vector<8xbf16>
  // CHECK: %[[UNIT:.*]] = llvm.call @tilewright.unit.acme_twice(%[[CAST]]) {{.*}}: (vector<8xbf16>) -> vector<8xbf16>
  // CHECK: %[[BITS:.*]] = llvm.bitcast %[[UNIT]] : vector<8xbf16> to vector<8xi16>
  // CHECK: llvm.intr.masked.store %[[BITS]]
  // CHECK: llvm.return %{{.*}} : i16
  func.func private @tilewright.unit.acme_twice(vector<8xbf16>) -> vector<8xbf16>
  func.func @moved(%m: memref<?xbf16>, %mask: vector<8xi1>, %x: bf16) -> bf16 {
    %i = arith.constant 0 : index
    %one = arith.constant dense<1.0> : vector<8xbf16>
    %v = vector.maskedload %m[%i], %mask, %one : memref<?xbf16>, vector<8xi1>, vector<8xbf16> into vector<8xbf16>
    %s = arith.select %mask, %v, %one : vector<8xi1>, vector<8xbf16>
    %d = call @tilewright.unit.acme_twice(%s) : (vector<8xbf16>) -> vector<8xbf16>
    vector.maskedstore %m[%i], %mask, %d : memref<?xbf16>, vector<8xi1>, vector<8xbf16>
    return %x : bf16
  }
}
