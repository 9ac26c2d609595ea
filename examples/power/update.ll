; C += A * B of f64: A is a pair of registers.
define <512 x i1> @update_f64(<512 x i1> %c, <16 x i8> %high, <16 x i8> %low, <16 x i8> %b) {
  %a = call <256 x i1> @llvm.ppc.vsx.assemble.pair(<16 x i8> %high, <16 x i8> %low)
  %d = call <512 x i1> @llvm.ppc.mma.xvf64gerpp(<512 x i1> %c, <256 x i1> %a, <16 x i8> %b)
  ret <512 x i1> %d
}
declare <256 x i1> @llvm.ppc.vsx.assemble.pair(<16 x i8>, <16 x i8>)
declare <512 x i1> @llvm.ppc.mma.xvf64gerpp(<512 x i1>, <256 x i1>, <16 x i8>)
