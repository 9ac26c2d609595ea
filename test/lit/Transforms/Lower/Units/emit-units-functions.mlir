// Functions that records ship stand in place of the calls; registers of bits and structures, filled and read as several
// vectors, in the order that the record says.
//
// RUN: env TILEWRIGHT_TARGET_PATH=%build/test/plugins/power tw-opt %s -split-input-file -emit-units | FileCheck %s

module attributes {tilewright.target = "power:power10"} {
llvm.func @tilewright.unit.power.xvf64gerpp(vector<4xf64>, vector<2xf64>, vector<512xi1>) -> vector<512xi1>
llvm.func @tilewright.register.Accumulator.zero() -> vector<512xi1>
llvm.func @tilewright.register.Accumulator.fill.f64(!llvm.ptr, i64) -> vector<512xi1>
llvm.func @tilewright.register.Accumulator.store.f64(vector<512xi1>, !llvm.ptr, i64)
// CHECK-LABEL: @pairs
// CHECK-SAME: %[[A:.*]]: vector<4xf64>, %[[B:.*]]: vector<2xf64>, %[[P:.*]]: !llvm.ptr, %[[S:.*]]: i64
// CHECK: llvm.call_intrinsic "llvm.ppc.mma.xxsetaccz"() : () -> vector<512xi1>
// CHECK: %[[H:.*]] = llvm.intr.vector.extract %[[A]][2]
// CHECK: %[[HIGH:.*]] = llvm.bitcast %[[H]] : vector<2xf64> to vector<16xi8>
// CHECK: %[[L:.*]] = llvm.intr.vector.extract %[[A]][0]
// CHECK: %[[LOW:.*]] = llvm.bitcast %[[L]]
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[B]]
// CHECK: %[[PAIR:.*]] = llvm.call_intrinsic "llvm.ppc.vsx.assemble.pair"(%[[HIGH]], %[[LOW]])
// CHECK: %[[D:.*]] = llvm.call_intrinsic "llvm.ppc.mma.xvf64gerpp"(%{{.*}}, %[[PAIR]], %[[BITS]])
// CHECK: %[[ROWS:.*]] = llvm.call_intrinsic "llvm.ppc.mma.disassemble.acc"(%[[D]])
// CHECK: %[[R0:.*]] = llvm.extractvalue %[[ROWS]][0]
// CHECK: llvm.store %[[R0]], %[[P]] {alignment = 1 : i64}
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[P]][%[[S]]]
// CHECK: llvm.store %{{.*}}, %[[P1]]
// CHECK-NOT: llvm.call @
llvm.func @pairs(%a: vector<4xf64>, %b: vector<2xf64>, %p: !llvm.ptr, %s: i64) {
  %c = llvm.call @tilewright.register.Accumulator.zero() : () -> vector<512xi1>
  %d = llvm.call @tilewright.unit.power.xvf64gerpp(%a, %b, %c) : (vector<4xf64>, vector<2xf64>, vector<512xi1>) -> vector<512xi1>
  llvm.call @tilewright.register.Accumulator.store.f64(%d, %p, %s) : (vector<512xi1>, !llvm.ptr, i64) -> ()
  llvm.return
}
// The first row is the last register.
// CHECK-LABEL: @filled
// CHECK: llvm.getelementptr
// CHECK: llvm.getelementptr
// CHECK: %[[P3:.*]] = llvm.getelementptr
// CHECK: %[[R3:.*]] = llvm.load %[[P3]]
// CHECK: %[[B3:.*]] = llvm.bitcast %[[R3]]
// CHECK: llvm.call_intrinsic "llvm.ppc.mma.assemble.acc"(%[[B3]], %{{.*}}, %{{.*}}, %{{.*}})
llvm.func @filled(%p: !llvm.ptr, %s: i64) -> vector<512xi1> {
  %c = llvm.call @tilewright.register.Accumulator.fill.f64(%p, %s) : (!llvm.ptr, i64) -> vector<512xi1>
  llvm.return %c : vector<512xi1>
}
}

// -----

!rows = !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
module attributes {tilewright.target = "power:here"} {
llvm.func @tilewright.register.RowsF64.store.f64(!rows, !llvm.ptr, i64)
// Two rows a vector, the higher ones first.
// CHECK-LABEL: @read
// CHECK-SAME: %[[C:.*]]: !llvm.struct<{{.*}}>, %[[P:.*]]: !llvm.ptr
// CHECK: %[[R3:.*]] = llvm.extractvalue %[[C]][3]
// CHECK: %[[R0:.*]] = llvm.extractvalue %[[C]][0]
// CHECK: %[[LOW:.*]] = llvm.shufflevector %[[R0]], %{{.*}} [0, 1, 2, 3]
// CHECK: llvm.intr.vector.insert %{{.*}}, %{{.*}}[0] : vector<4xf64> into vector<8xf64>
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 1 : i64} : vector<2xf64>
llvm.func @read(%c: !rows, %p: !llvm.ptr, %s: i64) {
  llvm.call @tilewright.register.RowsF64.store.f64(%c, %p, %s) : (!rows, !llvm.ptr, i64) -> ()
  llvm.return
}
}

// -----

!rows = !llvm.struct<(vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)>
module attributes {tilewright.target = "power:calls"} {
llvm.func @tilewright.unit.power.called_bf16(vector<8xbf16>, vector<8xbf16>, !rows) -> !rows
// Vectors of one thread are carried in what the record says.
// CHECK: llvm.func @power_update_bf16(!llvm.struct<{{.*}}>, vector<8xi16>, vector<8xi16>)
// CHECK-LABEL: @called
// CHECK: llvm.bitcast %{{.*}} : vector<8xbf16> to vector<8xi16>
llvm.func @called(%a: vector<8xbf16>, %b: vector<8xbf16>, %c: !rows) -> !rows {
  %d = llvm.call @tilewright.unit.power.called_bf16(%a, %b, %c) : (vector<8xbf16>, vector<8xbf16>, !rows) -> !rows
  llvm.return %d : !rows
}
}
