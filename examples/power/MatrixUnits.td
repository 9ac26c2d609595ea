// Rank-k updates of a 4 x 4 accumulator (4 x 2 of f64).
include "dialects/Chip/MatrixUnit.td"

// Eight accumulators, each over four registers of the lower half of the file.
def SumBank : RegisterBank<"vector", 32>;
// Words of registers are numbered from the most significant one on, elements of vectors from the least: the first row is the
// last register. The intrinsic that takes an accumulator apart knows this, the one that makes it does not.
def Accumulator : OpaqueRegister<SumBank, [], /*rows*/ 4, /*bytes a row*/ 16> {
  let valueType = "<512 x i1>";
  let zero = LlvmIntrinsic<"llvm.ppc.mma.xxsetaccz", []>;
  let fill = LlvmIntrinsic<"llvm.ppc.mma.assemble.acc", ["Vec.3", "Vec.2", "Vec.1", "Vec.0"]>;
  let read = LlvmIntrinsic<"llvm.ppc.mma.disassemble.acc", ["Tile"]>;
}

class Carried<Elem e, Layout layout, string type> : Operand<e, VectorRegister<layout>> { let storage = type; }
class Update<int n, int k, Elem ea, Elem eb, Elem ec, OpaqueRegister sums = Accumulator, string type = ""> : MatrixUnit<4, n, k> {
  let a = Carried<ea, RowMajor, type>;
  let b = Carried<eb, ColumnMajor, type>;
  let c = Operand<ec, sums>;
  let issue = Cycles<1, 2>;
  let latency = Cycles<4>;
  let source = Guess<"two updates a clock (arXiv 2104.03142); no hardware was measured">;
}
class Ger<int k, Elem ea, Elem eb, Elem ec, string instruction> : Update<4, k, ea, eb, ec, Accumulator, "i8"> {
  let requires = ["mma"];
  let emit = LlvmIntrinsic<"llvm.ppc.mma." # instruction, ["C", "A", "B"]>;
}
def xvf32gerpp : Ger<1, f32, f32, f32, "xvf32gerpp">;
def xvbf16ger2pp : Ger<2, bf16, bf16, f32, "xvbf16ger2pp">;
def xvf16ger2pp : Ger<2, f16, f16, f32, "xvf16ger2pp">;
def xvi8ger4pp : Ger<4, i8, u8, i32, "xvi8ger4pp">;
def xvi16ger2pp : Ger<2, i16, i16, i32, "xvi16ger2pp">;
// A is a pair of registers, the higher half first.
def xvf64gerpp : Update<2, 1, f64, f64, f64> {
  let requires = ["mma"];
  let emit = IrFunction<"update.ll", "update_f64", ["C", "A.1", "A.0", "B"]>;
}

class Fma<int n, Elem e> : MatrixUnit<1, n, 1> {
  let a = Operand<e, BroadcastScalar>;
  let b = Operand<e, VectorRegister<RowMajor>>;
  let c = Operand<e, VectorRegister<RowMajor>>;
  let issue = Cycles<1, 4>;
  let latency = Cycles<5>;
  let source = Guess<"four pipes; no hardware was measured">;
  let emit = MlirOp<"llvm.intr.fma", ["A", "B", "C"]>;
}
def xvmaddasp : Fma<4, f32>;
def xvmaddadp : Fma<2, f64>;

// Accumulators that are structures; every move and the products are functions in LLVM IR or MLIR.
class Rows<string member> : OpaqueRegister<SumBank, [], 4, 16> {
  let valueType = "{ " # member # ", " # member # ", " # member # ", " # member # " }";
}
def RowsF32 : Rows<"<4 x float>"> {
  let zero = IrFunction<"rows.ll", "zero_f32", []>;
  let fill = IrFunction<"rows.ll", "fill_f32", ["Vec"]>;
  let store = IrFunction<"rows.mlir", "store_f32", ["Tile", "Ptr", "Stride"]>;
}
def RowsF64 : Rows<"<2 x double>"> {
  let zero = IrFunction<"rows.ll", "zero_f64", []>;
  let fill = IrFunction<"rows.ll", "load_f64", ["Ptr", "Stride"]>;
  let read = IrFunction<"rows.ll", "read_f64", ["Tile.3", "Tile.2", "Tile.1", "Tile.0", "result:1,0"]>;
}
def outer_f32 : Update<4, 1, f32, f32, f32, RowsF32> {
  let emit = IrFunction<"rows.ll", "update_f32", ["C", "A", "B"]>;
}
// Sums that only leave.
def RowsOut : Rows<"<4 x float>"> {
  let zero = IrFunction<"rows.ll", "zero_f32", []>;
  let store = IrFunction<"rows.mlir", "store_f32", ["Tile", "Ptr", "Stride"]>;
}
def outer_out : Update<4, 1, f32, f32, f32, RowsOut> {
  let emit = IrFunction<"rows.ll", "update_f32", ["C", "A", "B"]>;
}
def outer_f64 : Update<2, 1, f64, f64, f64, RowsF64> {
  let emit = IrFunction<"rows.mlir", "update_f64", ["C", "A", "B"]>;
}
// bf16 as integers, which every processor has; the accumulator is one wide vector.
def RowsWide : OpaqueRegister<SumBank, [], 4, 16> {
  let valueType = "<16 x float>";
  let zero = IrFunction<"rows.ll", "zero_rows", []>;
  let fill = IrFunction<"rows.ll", "fill_rows", ["Vec"]>;
  let read = IrFunction<"rows.ll", "read_rows", ["Tile"]>;
}
def outer_bf16 : Update<4, 1, bf16, bf16, f32, RowsWide, "i16"> {
  let emit = IrFunction<"rows.ll", "update_bf16", ["C", "A", "B"]>;
}
// A is a register of its own, which holds four rows side by side: no array has them so, and A is packed.
def FactorBank : RegisterBank<"factors", 4>;
def Factors : OpaqueRegister<FactorBank, [], 1, 16> {
  let valueType = "<8 x i16>";
  let zero = IrFunction<"rows.ll", "zero_factors", []>;
  let fill = IrFunction<"rows.ll", "fill_factors", ["Vec"]>;
}
def outer_factors : Update<4, 2, f16, f16, f32, RowsWide, "i16"> {
  let a = Operand<f16, Factors>;
  let emit = IrFunction<"rows.ll", "update_factors", ["C", "A", "B"]>;
}
// The same by a function of a library.
def called_bf16 : Update<4, 2, bf16, bf16, f32, RowsF32, "i16"> {
  let emit = ExternalCall<"power_update_bf16", ["C", "A", "B"]>;
}
