// The multiplying instructions of target @NAME@, each as the small matrix product that it computes.
include "dialects/Chip/MatrixUnit.td"

// A layout says which (row, column) each (lane, element) holds: the images of the bits of the lane's number, then of the
// element's. Here lane l holds columns 8 (l mod 2) to 8 (l mod 2) + 7 of row l / 2 of A, and so on: docs/chip-description.md.
defvar A16x16 = Layout<[[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], [[0, 1], [0, 2], [0, 4]]>;
defvar B16x8 = Layout<[[0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], [[0, 1], [0, 2]]>;
defvar C16x8 = Layout<[[0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], [[0, 1], [0, 2]]>;

// C[16 x 8] += A[16 x 16] * B[16 x 8] by one subgroup.
def mma_16x8x16_f16 : MatrixUnit<16, 8, 16> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<f16, InRegisters<A16x16>>;
  let b = Operand<f16, InRegisters<B16x8>>;
  let c = Operand<f32, InRegisters<C16x8>>;
  let issue = Cycles<8>;    // of one issue slot; a multiprocessor has `issue` of Chips.td of them, each with its own unit
  let latency = Cycles<25>; // until a dependent one can start
  let source = Guess<"a chip that exists on paper">;
  let emit = ExternalCall<"@NAME@_mma_16x8x16_f16", ["A", "B", "C"]>;
}

// One multiply-add per lane, seen as an 8 x 4 outer product: what types that no matrix unit takes use.
def fma_f32 : MatrixUnit<8, 4, 1> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<f32, InRegisters<Layout<[[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], []>>>; // [0, 0]: lanes hold the same
  let b = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [0, 0], [0, 0], [0, 0]], []>>>;
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], []>>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a pipeline of four stages">;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}

// What Chips.td gives to the chip: a new record above becomes one more name here.
defvar Units = [mma_16x8x16_f16, fma_f32];
