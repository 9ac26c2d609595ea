// The multiplying instructions of target @NAME@, each as the small matrix product that it computes.
include "dialects/Chip/MatrixUnit.td"

// c[j] += a * b[j] in every lane j: C[1 x 8] += A[1 x 1] * B[1 x 8].
def fma_f32 : MatrixUnit<1, 8, 1> {
  let a = Operand<f32, BroadcastScalar>;
  let b = Operand<f32, VectorRegister<RowMajor>>;
  let c = Operand<f32, VectorRegister<RowMajor>>;
  let issue = Cycles<1>;   // one a clock
  let latency = Cycles<4>; // until a dependent one can start
  let source = Guess<"a pipeline of four stages">;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}

// What Chips.td gives to the chip: a new record above becomes one more name here.
defvar Units = [fma_f32];
