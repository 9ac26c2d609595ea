// The same in the LLVM dialect.
llvm.func @store_f32(%c: !llvm.struct<(vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)>, %p0: !llvm.ptr, %stride: i64) {
  %r0 = llvm.extractvalue %c[0] : !llvm.struct<(vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)>
  llvm.store %r0, %p0 {alignment = 1 : i64} : vector<4xf32>, !llvm.ptr
  %r1 = llvm.extractvalue %c[1] : !llvm.struct<(vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)>
  %p1 = llvm.getelementptr %p0[%stride] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %r1, %p1 {alignment = 1 : i64} : vector<4xf32>, !llvm.ptr
  %r2 = llvm.extractvalue %c[2] : !llvm.struct<(vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)>
  %p2 = llvm.getelementptr %p1[%stride] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %r2, %p2 {alignment = 1 : i64} : vector<4xf32>, !llvm.ptr
  %r3 = llvm.extractvalue %c[3] : !llvm.struct<(vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)>
  %p3 = llvm.getelementptr %p2[%stride] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  llvm.store %r3, %p3 {alignment = 1 : i64} : vector<4xf32>, !llvm.ptr
  llvm.return
}
llvm.func @update_f64(%c: !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>, %a: vector<4xf64>, %b: vector<2xf64>) -> !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)> {
  %a0 = llvm.shufflevector %a, %a [0, 0] : vector<4xf64>
  %c0 = llvm.extractvalue %c[0] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  %d0 = llvm.intr.fma(%a0, %b, %c0) : (vector<2xf64>, vector<2xf64>, vector<2xf64>) -> vector<2xf64>
  %s0 = llvm.insertvalue %d0, %c[0] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  %a1 = llvm.shufflevector %a, %a [1, 1] : vector<4xf64>
  %c1 = llvm.extractvalue %c[1] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  %d1 = llvm.intr.fma(%a1, %b, %c1) : (vector<2xf64>, vector<2xf64>, vector<2xf64>) -> vector<2xf64>
  %s1 = llvm.insertvalue %d1, %s0[1] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  %a2 = llvm.shufflevector %a, %a [2, 2] : vector<4xf64>
  %c2 = llvm.extractvalue %c[2] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  %d2 = llvm.intr.fma(%a2, %b, %c2) : (vector<2xf64>, vector<2xf64>, vector<2xf64>) -> vector<2xf64>
  %s2 = llvm.insertvalue %d2, %s1[2] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  %a3 = llvm.shufflevector %a, %a [3, 3] : vector<4xf64>
  %c3 = llvm.extractvalue %c[3] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  %d3 = llvm.intr.fma(%a3, %b, %c3) : (vector<2xf64>, vector<2xf64>, vector<2xf64>) -> vector<2xf64>
  %s3 = llvm.insertvalue %d3, %s2[3] : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
  llvm.return %s3 : !llvm.struct<(vector<2xf64>, vector<2xf64>, vector<2xf64>, vector<2xf64>)>
}
