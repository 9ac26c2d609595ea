// RUN: tw-opt %s --lower-to-llvm --cse | FileCheck %s
// RUN: sed 's|"cpu", tilewright.chip = "zen4"|"nvidia", tilewright.chip = "A100"|' %s | tw-opt --lower-to-llvm --cse | FileCheck %s --check-prefix=LANES

module attributes {tilewright.target = "cpu", tilewright.chip = "zen4"} {
  // Rows 3 and 4 below %i, and column %j of both: one sum, one address, and a constant for each.
  // CHECK-LABEL: llvm.func @rows
  // CHECK-SAME: %{{.*}}: !llvm.ptr, %[[DATA:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %[[I:.*]]: i64, %[[J:.*]]: i64)
  // CHECK: %[[ROW:.*]] = llvm.mul %[[I]], %{{.*}} : i64
  // CHECK-NEXT: %[[AT:.*]] = llvm.add %[[ROW]], %[[J]] : i64
  // CHECK-NEXT: %[[SHARED:.*]] = llvm.getelementptr %[[DATA]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NOT: llvm.add
  // CHECK: llvm.getelementptr %[[SHARED]][48] : (!llvm.ptr) -> !llvm.ptr, f32
  // CHECK: llvm.getelementptr %[[SHARED]][63] : (!llvm.ptr) -> !llvm.ptr, f32
  // CHECK-NOT: llvm.extractvalue
  // CHECK: llvm.return
  // LANES-LABEL: llvm.func @rows
  // LANES: llvm.add
  // LANES-NOT: llvm.getelementptr {{.*}}[48]
  // LANES: llvm.return
  func.func @rows(%m: memref<64x16xf32>, %i: index, %j: index) -> f32 {
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %i3 = arith.addi %i, %c3 : index
    %i4 = arith.addi %c4, %i : index
    %j1 = arith.subi %j, %c1 : index
    %a = memref.load %m[%i3, %j] : memref<64x16xf32>
    %b = memref.load %m[%i4, %j1] : memref<64x16xf32>
    %sum = arith.addf %a, %b : f32
    return %sum : f32
  }

  // A term that its opposite cancels is none, and a constant beyond an address's 32 bits stays a value.
  // CHECK-LABEL: llvm.func @cancelled
  // CHECK-DAG: %[[FAR:.*]] = llvm.mlir.constant(4294967296 : i64)
  // CHECK-NOT: llvm.sub
  // CHECK-DAG: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK: llvm.getelementptr %[[AT]][%[[FAR]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK-NOT: llvm.sub
  // CHECK: llvm.return
  func.func @cancelled(%m: memref<?xf32>, %i: index, %j: index) -> f32 {
    %far = arith.constant 4294967296 : index
    %0 = arith.addi %i, %j : index
    %1 = arith.subi %0, %i : index
    %2 = arith.addi %1, %far : index
    %a = memref.load %m[%2] : memref<?xf32>
    return %a : f32
  }

  // What a loop does not change stands before it.
  // CHECK-LABEL: llvm.func @loop
  // CHECK: llvm.mul %{{.*}}, %{{.*}} : i64
  // CHECK: llvm.br ^[[HEAD:.*]](
  // CHECK: ^[[HEAD]](%[[J:.*]]: i64
  // CHECK-NOT: llvm.mul
  // CHECK: llvm.return
  func.func @loop(%m: memref<64x16xf32>, %i: index, %n: index, %x: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    cf.br ^head(%c0 : index)
  ^head(%j: index):
    %more = arith.cmpi slt, %j, %n : index
    cf.cond_br %more, ^body, ^end
  ^body:
    memref.store %x, %m[%i, %j] : memref<64x16xf32>
    %next = arith.addi %j, %c1 : index
    cf.br ^head(%next : index)
  ^end:
    return
  }
}
