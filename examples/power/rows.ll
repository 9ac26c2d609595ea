; Accumulators that are four vectors.
define { <4 x float>, <4 x float>, <4 x float>, <4 x float> } @zero_f32() {
  ret { <4 x float>, <4 x float>, <4 x float>, <4 x float> } zeroinitializer
}
define { <2 x double>, <2 x double>, <2 x double>, <2 x double> } @zero_f64() {
  ret { <2 x double>, <2 x double>, <2 x double>, <2 x double> } zeroinitializer
}
define { <4 x float>, <4 x float>, <4 x float>, <4 x float> } @fill_f32(<4 x float> %0, <4 x float> %1, <4 x float> %2, <4 x float> %3) {
  %s0 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } poison, <4 x float> %0, 0
  %s1 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s0, <4 x float> %1, 1
  %s2 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s1, <4 x float> %2, 2
  %s3 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s2, <4 x float> %3, 3
  ret { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s3
}
define { <2 x double>, <2 x double>, <2 x double>, <2 x double> } @load_f64(ptr %0, i64 %stride) {
  %r0 = load <2 x double>, ptr %0, align 1
  %s0 = insertvalue { <2 x double>, <2 x double>, <2 x double>, <2 x double> } poison, <2 x double> %r0, 0
  %p1 = getelementptr i8, ptr %0, i64 %stride
  %r1 = load <2 x double>, ptr %p1, align 1
  %s1 = insertvalue { <2 x double>, <2 x double>, <2 x double>, <2 x double> } %s0, <2 x double> %r1, 1
  %p2 = getelementptr i8, ptr %p1, i64 %stride
  %r2 = load <2 x double>, ptr %p2, align 1
  %s2 = insertvalue { <2 x double>, <2 x double>, <2 x double>, <2 x double> } %s1, <2 x double> %r2, 2
  %p3 = getelementptr i8, ptr %p2, i64 %stride
  %r3 = load <2 x double>, ptr %p3, align 1
  %s3 = insertvalue { <2 x double>, <2 x double>, <2 x double>, <2 x double> } %s2, <2 x double> %r3, 3
  ret { <2 x double>, <2 x double>, <2 x double>, <2 x double> } %s3
}
; The last row first; two rows a vector, the last two rows first.
define { <4 x double>, <4 x double> } @read_f64(<2 x double> %r3, <2 x double> %r2, <2 x double> %r1, <2 x double> %r0) {
  %low = shufflevector <2 x double> %r0, <2 x double> %r1, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %high = shufflevector <2 x double> %r2, <2 x double> %r3, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %s = insertvalue { <4 x double>, <4 x double> } poison, <4 x double> %high, 0
  %t = insertvalue { <4 x double>, <4 x double> } %s, <4 x double> %low, 1
  ret { <4 x double>, <4 x double> } %t
}
define { <4 x float>, <4 x float>, <4 x float>, <4 x float> } @update_f32({ <4 x float>, <4 x float>, <4 x float>, <4 x float> } %c, <4 x float> %a, <4 x float> %b) {
  %c0 = extractvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %c, 0
  %a0 = shufflevector <4 x float> %a, <4 x float> poison, <4 x i32> <i32 0, i32 0, i32 0, i32 0>
  %d0 = call <4 x float> @llvm.fma.v4f32(<4 x float> %a0, <4 x float> %b, <4 x float> %c0)
  %s0 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %c, <4 x float> %d0, 0
  %c1 = extractvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %c, 1
  %a1 = shufflevector <4 x float> %a, <4 x float> poison, <4 x i32> <i32 1, i32 1, i32 1, i32 1>
  %d1 = call <4 x float> @llvm.fma.v4f32(<4 x float> %a1, <4 x float> %b, <4 x float> %c1)
  %s1 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s0, <4 x float> %d1, 1
  %c2 = extractvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %c, 2
  %a2 = shufflevector <4 x float> %a, <4 x float> poison, <4 x i32> <i32 2, i32 2, i32 2, i32 2>
  %d2 = call <4 x float> @llvm.fma.v4f32(<4 x float> %a2, <4 x float> %b, <4 x float> %c2)
  %s2 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s1, <4 x float> %d2, 2
  %c3 = extractvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %c, 3
  %a3 = shufflevector <4 x float> %a, <4 x float> poison, <4 x i32> <i32 3, i32 3, i32 3, i32 3>
  %d3 = call <4 x float> @llvm.fma.v4f32(<4 x float> %a3, <4 x float> %b, <4 x float> %c3)
  %s3 = insertvalue { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s2, <4 x float> %d3, 3
  ret { <4 x float>, <4 x float>, <4 x float>, <4 x float> } %s3
}
; All rows in one vector.
define <16 x float> @zero_rows() {
  ret <16 x float> zeroinitializer
}
define <16 x float> @fill_rows(<4 x float> %0, <4 x float> %1, <4 x float> %2, <4 x float> %3) {
  %low = shufflevector <4 x float> %0, <4 x float> %1, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %high = shufflevector <4 x float> %2, <4 x float> %3, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %s = shufflevector <8 x float> %low, <8 x float> %high, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7,
                                                                      i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  ret <16 x float> %s
}
define <16 x float> @read_rows(<16 x float> %s) {
  ret <16 x float> %s
}
; bf16 is the upper half of f32.
define <16 x float> @update_bf16(<16 x float> %c, <4 x i16> %a, <4 x i16> %b) {
  %wa = shufflevector <4 x i16> zeroinitializer, <4 x i16> %a, <8 x i32> <i32 0, i32 4, i32 1, i32 5, i32 2, i32 6, i32 3, i32 7>
  %wb = shufflevector <4 x i16> zeroinitializer, <4 x i16> %b, <8 x i32> <i32 0, i32 4, i32 1, i32 5, i32 2, i32 6, i32 3, i32 7>
  %fa = bitcast <8 x i16> %wa to <4 x float>
  %fb = bitcast <8 x i16> %wb to <4 x float>
  %ra = shufflevector <4 x float> %fa, <4 x float> poison, <16 x i32> <i32 0, i32 0, i32 0, i32 0, i32 1, i32 1, i32 1, i32 1,
                                                                       i32 2, i32 2, i32 2, i32 2, i32 3, i32 3, i32 3, i32 3>
  %rb = shufflevector <4 x float> %fb, <4 x float> poison, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3,
                                                                       i32 0, i32 1, i32 2, i32 3, i32 0, i32 1, i32 2, i32 3>
  %d = call <16 x float> @llvm.fma.v16f32(<16 x float> %ra, <16 x float> %rb, <16 x float> %c)
  ret <16 x float> %d
}
; A register of f16 as integers; two products a sum.
define <8 x i16> @zero_factors() {
  ret <8 x i16> zeroinitializer
}
define <8 x i16> @fill_factors(<8 x i16> %v) {
  ret <8 x i16> %v
}
define <16 x float> @update_factors(<16 x float> %c, <8 x i16> %a, <8 x half> %b) {
  %h = bitcast <8 x i16> %a to <8 x half>
  %fa = fpext <8 x half> %h to <8 x float>
  %fb = fpext <8 x half> %b to <8 x float>
  %a0 = shufflevector <8 x float> %fa, <8 x float> poison, <16 x i32> <i32 0, i32 0, i32 0, i32 0, i32 2, i32 2, i32 2, i32 2,
    i32 4, i32 4, i32 4, i32 4, i32 6, i32 6, i32 6, i32 6>
  %b0 = shufflevector <8 x float> %fb, <8 x float> poison, <16 x i32> <i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6,
    i32 0, i32 2, i32 4, i32 6, i32 0, i32 2, i32 4, i32 6>
  %d = call <16 x float> @llvm.fma.v16f32(<16 x float> %a0, <16 x float> %b0, <16 x float> %c)
  %a1 = shufflevector <8 x float> %fa, <8 x float> poison, <16 x i32> <i32 1, i32 1, i32 1, i32 1, i32 3, i32 3, i32 3, i32 3,
    i32 5, i32 5, i32 5, i32 5, i32 7, i32 7, i32 7, i32 7>
  %b1 = shufflevector <8 x float> %fb, <8 x float> poison, <16 x i32> <i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7,
    i32 1, i32 3, i32 5, i32 7, i32 1, i32 3, i32 5, i32 7>
  %e = call <16 x float> @llvm.fma.v16f32(<16 x float> %a1, <16 x float> %b1, <16 x float> %d)
  ret <16 x float> %e
}
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)
