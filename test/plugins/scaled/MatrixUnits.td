// Units that scale their operands in ways that no other target's do: operands of one side alone, scales of three types, and
// blocks of 16, 32 and 128 elements along k. They are no real instructions; the chip is that of the template.
include "dialects/Chip/MatrixUnit.td"

/// A of 16 x k, B of k x 8 and C of 16 x 8 over 32 lanes.
class Steps<int count> {
  list<int> each = !filter(s, [1, 2, 4, 8, 16, 32], !lt(s, count));
  list<list<int>> rows = !foreach(s, each, [s, 0]);
  list<list<int>> cols = !foreach(s, each, [0, s]);
}
class LayoutA<int k> : Layout<[[0, !div(k, 2)], [1, 0], [2, 0], [4, 0], [8, 0]], Steps<!div(k, 2)>.cols>;
class LayoutB<int k> : Layout<[[!div(k, 4), 0], [!div(k, 2), 0], [0, 1], [0, 2], [0, 4]], Steps<!div(k, 4)>.rows>;
defvar C16x8 = Layout<[[0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], [[0, 1], [0, 2]]>;
/// Scales of one block of k, or of two: each in two or four lanes.
defvar ScalesOfA = Layout<[[0, 0], [1, 0], [2, 0], [4, 0], [8, 0]], []>;
defvar ScalesOfB = Layout<[[0, 0], [0, 0], [0, 1], [0, 2], [0, 4]], []>;
defvar TwoScalesOfB = Layout<[[0, 0], [1, 0], [0, 1], [0, 2], [0, 4]], []>;

class InWord<Layout layout> : Operand<f8e8m0, InRegisters<layout>> { let storage = "i32"; }

class Scaled<int k_, Elem ea, Elem eb, int cycles> : MatrixUnit<16, 8, k_> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<ea, InRegisters<LayoutA<k_>>>;
  let b = Operand<eb, InRegisters<LayoutB<k_>>>;
  let c = Operand<f32, InRegisters<C16x8>>;
  let issue = Cycles<cycles>;
  let latency = Cycles<!mul(3, cycles)>;
  let source = Guess<"a chip that exists on paper">;
  let emit = ExternalCall<"scaled." # NAME, ["A", "B", "C", "ScaleA", "ScaleB"]>;
}

// Weights alone have scales, of a type with a fraction, for 16 elements each.
def weights : Scaled<32, f8e4m3, f8e4m3, 8> {
  let scaleBlock = 16;
  let scaleB = Operand<f8e4m3, InRegisters<TwoScalesOfB>>;
  let emit = ExternalCall<"scaled.weights", ["A", "B", "C", "ScaleB"]>;
}
// Activations alone have scales, for all of an instruction's k, in a register of their own.
def activations : Scaled<32, f8e5m2, f8e4m3, 8> {
  let scaleBlock = 32;
  let scaleA = Operand<f32, InRegisters<ScalesOfA>>;
  let emit = ExternalCall<"scaled.activations", ["A", "ScaleA", "B", "C"]>;
}
// Both have scales of f32 for 32 elements.
def both : Scaled<32, f8e5m2, f8e5m2, 8> {
  let scaleBlock = 32;
  let scaleA = Operand<f32, InRegisters<ScalesOfA>>;
  let scaleB = Operand<f32, InRegisters<ScalesOfB>>;
}
// Both have powers of two for 128 elements, in the lowest byte of a register.
def long_blocks : Scaled<128, f8e4m3, f8e5m2, 16> {
  let scaleBlock = 128;
  let scaleA = InWord<ScalesOfA>;
  let scaleB = InWord<ScalesOfB>;
}

// One multiply-add per lane, as in the template.
def fma_f32 : MatrixUnit<8, 4, 1> {
  let scope = Group<"subgroup", 1>;
  let a = Operand<f32, InRegisters<Layout<[[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], []>>>;
  let b = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [0, 0], [0, 0], [0, 0]], []>>>;
  let c = Operand<f32, InRegisters<Layout<[[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], []>>>;
  let issue = Cycles<1>;
  let latency = Cycles<4>;
  let source = Guess<"a pipeline of four stages">;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}

defvar Units = [weights, activations, both, long_blocks, fma_f32];
