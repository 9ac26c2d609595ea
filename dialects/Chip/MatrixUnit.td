//===- MatrixUnit.td - Instructions as records -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One record per instruction that multiplies small matrices, C += A * B with
// A of m x k, B of k x n and C of m x n elements. From the record come the
// table, its checks, the lowering, the functional model, tests and the
// reference page. Everything has a default except shape, operands, costs,
// their source and the emission.
//
//   def avx512_dpbf16 : MatrixUnit<1, 16, 2> {
//     let a = Operand<bf16, BroadcastScalar>;
//     let b = Operand<bf16, VectorRegister<ColumnMajor>>;
//     let c = Operand<f32, VectorRegister<RowMajor>>;
//     let issue = Cycles<1>; let latency = Cycles<6>; let source = Measured<"...">;
//     let requires = ["avx512bf16"];
//     let emit = LlvmIntrinsic<"llvm.x86.avx512bf16.dpbf16ps.512", ["C", "A", "B"]>;
//   }
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CHIP_MATRIXUNIT
#define TILEWRIGHT_CHIP_MATRIXUNIT

include "dialects/Chip/Layout.td"

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Where a number comes from. Every cost has one.
class Source<string kind_, string text_> {
  string kind = kind_;
  string text = text_;
}
class Measured<string how> : Source<"measured", how>;
class Cited<string where> : Source<"cited", where>;
class Guess<string why> : Source<"guess", why>;
def Unsourced : Source<"", "">; // an error if it is left so

class Ratio<int num_, int den_> {
  int num = num_;
  int den = den_;
}
/// Clocks of the chip: num / den.
class Cycles<int num_, int den_ = 1> : Ratio<num_, den_>;
/// Instructions, operations or bytes per clock: num / den.
class PerClock<int num_, int den_ = 1> : Ratio<num_, den_>;
class Nanoseconds<int num_, int den_ = 1> : Ratio<num_, den_>;
class Bytes<int num_> : Ratio<num_, 1>;
/// Of things that are counted, on average.
class Count<int num_, int den_ = 1> : Ratio<num_, den_>;
/// Of a whole, or times as much.
class Part<int num_, int den_ = 1> : Ratio<num_, den_>;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

class Elem<string kind_> {
  string kind = kind_;
}
def f64 : Elem<"F64">;
def f32 : Elem<"F32">;
def tf32 : Elem<"TF32">;
def f16 : Elem<"F16">;
def bf16 : Elem<"BF16">;
def f8e4m3 : Elem<"F8E4M3">;
def f8e5m2 : Elem<"F8E5M2">;
def f8e4m3fnuz : Elem<"F8E4M3FNUZ">; // one zero, one NaN, no infinity: not OCP's
def f8e5m2fnuz : Elem<"F8E5M2FNUZ">;
def f8e8m0 : Elem<"F8E8M0">;         // a power of two without sign and zero: OCP's scales, of no other operand
def f6e2m3 : Elem<"F6E2M3">;         // OCP's narrow floats, without infinities and NaN
def f6e3m2 : Elem<"F6E3M2">;
def f4e2m1 : Elem<"F4E2M1">;
def i32 : Elem<"I32">;
def i16 : Elem<"I16">;
def i8 : Elem<"I8">;
def u8 : Elem<"U8">;
def i4 : Elem<"I4">;
def u4 : Elem<"U4">;
def i1 : Elem<"I1">;

//===----------------------------------------------------------------------===//
// Emissions
//===----------------------------------------------------------------------===//

/// What stands in the final code. Arguments are roles, in the order of the emission:
///   "A" "B" "C"              the operands (C: the accumulator, also the result)
///   "ScaleA" "ScaleB"        the scales of A and B that a lane holds, from the lowest byte of a register on
///   "IndexA"                 the places of the elements of A that a lane holds, likewise
///   "TileA" "TileB" "TileC"  number of the operand's tile register, an immediate; "Tile": of the register itself
///   "DescA" "DescB" "UseC"   descriptor of an operand in a scratchpad; flag that C is read
///   "Slice"                  row or column of a tile register
///   "ValidM" "ValidN" "ValidK" "ValidRow"  valid prefix, a count or the target's predicate
///   "AllTrue" "Zero"         constant predicate; zero of the result type
///   "Vec" "Ptr" "Stride"     a vector, an address, a row stride in bytes; "Vec.0" "Vec.1": of these rows
///   "Rows" "RowBytes"        extents of a tile register
///   "MaskUnion"              union of the granule masks of the registers concerned
///   "i8:7" "i16:7" "i32:7" "i64:7" "i1:0"  a constant
///   "data:0140"              the address of constant bytes, two hexadecimal digits each
/// An operand of several registers is given in order, register by register; "A.1" "A.0" gives its parts in another one (equal
/// parts of a vector, members of a structure), and "result:1,0" does so for the members of a result that is a structure.
class Emission<string kind_, string name_, list<string> arguments_> {
  string kind = kind_;
  string name = name_;
  list<string> arguments = arguments_;
}
class MlirOp<string name_, list<string> arguments_> : Emission<"MlirOp", name_, arguments_>;
class LlvmIntrinsic<string name_, list<string> arguments_> : Emission<"LlvmIntrinsic", name_, arguments_>;
/// `name` is the assembly in LLVM's notation, the result $0; a last argument "constraints:=x,x,..." has its constraints.
class InlineAsm<string name_, list<string> arguments_> : Emission<"InlineAsm", name_, arguments_>;
class ExternalCall<string name_, list<string> arguments_> : Emission<"ExternalCall", name_, arguments_>;
/// The function `name` of `file`, which stands beside this one: LLVM IR (.ll) or MLIR (.mlir), straight-line code. Its
/// operations stand in place of a call. For units, and for the moves of registers and the states that they need.
class IrFunction<string file_, string name_, list<string> arguments_> : Emission<"IrFunction", name_, arguments_> {
  string file = file_;
}
/// No such emission.
def None : Emission<"MlirOp", "", []>;

//===----------------------------------------------------------------------===//
// States and opaque registers
//===----------------------------------------------------------------------===//

/// What must surround the use of a unit: tile configuration, streaming mode, rounding mode.
class State {
  list<string> requires = [];    // features
  list<string> attributes = [];  // function attributes of the kernel, "name" or "name=value"
  Emission enter = None;         // emitted at the start of the region
  Emission leave = None;         // emitted at its end
  Emission check = None;         // its result must equal `checkValue`, else device error 3
  int checkValue = 0;
  list<string> forbids = [];     // kinds of ops that may not stand inside: "call", "libm", "alloc"
  list<string> links = [];       // symbols that the linker must find
  Cycles cost = ?;               // of one entry and exit
  Source source = ?;
}
def Stateless : State { let cost = Cycles<0>; let source = Cited<"nothing to enter">; }

/// Registers that alias at the grain of `granules`: tiles of different widths share granules. A bank of the name of the chip's
/// file of vectors lies in it: `granules` of its registers can be covered, and plans count both.
class RegisterBank<string bankName_, int granules_> {
  string bankName = bankName_;
  int granules = granules_;
  State needs = Stateless;
}

/// How a read, fill or store emission walks a register.
class Slices<string kind_> {
  string kind = kind_;
}
def Whole : Slices<"Whole">;
def ByRow : Slices<"Row">;
def ByColumn : Slices<"Column">;

//===----------------------------------------------------------------------===//
// Residences and operands
//===----------------------------------------------------------------------===//

class Residence<string kind_, Layout layout_> {
  string kind = kind_;
  Layout layout = layout_;
  bit scalable = 0;                    // a vector of the target's scalable type; the layout holds for this chip's length
  list<string> majors = ["row"];       // addresses: "row", "column"
  list<string> arrangements = [];      // addresses: "none", "swizzle.32", "swizzle.64", "swizzle.128"
  string memory = "";                  // addresses and accumulators: the memory's name
}
/// One element, or one group of k, the same in all lanes of a vector.
def BroadcastScalar : Residence<"BroadcastScalar", RowMajor>;
/// A vector register of one thread.
class VectorRegister<Layout layout_, bit scalable_ = 0> : Residence<"VectorRegister", layout_> {
  let scalable = scalable_;
}
/// Registers spread over the lanes of a subgroup.
class InRegisters<Layout layout_> : Residence<"LaneRegisters", layout_>;
/// A tile or accumulator register with emissions of its own. Numbered registers (non-empty `masks`) are assigned from the
/// bank by the compiler, too many is an error; others are values of the type `valueType`.
class OpaqueRegister<RegisterBank bank_, list<int> masks_, int rows_, int rowBytes_, Layout layout_ = RowMajor>
    : Residence<"OpaqueRegister", layout_> {
  RegisterBank bank = bank_;
  list<int> masks = masks_;        // granules that each numbered register occupies
  int rows = rows_;                // extents of the register
  int rowBytes = rowBytes_;
  string valueType = "";           // unnumbered: its type, "<512 x i1>" or "vector<512xi1>"
  Slices slices = Whole;
  Emission zero = None;
  Emission fill = None;            // vector or memory -> register
  Emission read = None;            // register -> vector
  Emission store = None;           // register -> memory
}
/// An address in a scratchpad with the storage orders and arrangements that the unit accepts.
class InScratchpad<string memory_, list<string> majors_, list<string> arrangements_> : Residence<"Scratchpad", RowMajor> {
  let memory = memory_;
  let majors = majors_;
  let arrangements = arrangements_;
}
/// An accumulator memory. Where lanes read it back into registers, `layout_` says which lane gets which element: the first lane
/// of the unit's rows, and so on, `lanes` of them.
class InAccumulator<string memory_, Layout layout_ = RowMajor> : Residence<"Accumulator", layout_> { let memory = memory_; }

class Operand<Elem element_, Residence residence_> {
  Elem element = element_;
  Residence residence = residence_;
  // LLVM type of one element of the vector that carries it where its own does not work: "i16" for bf16. In a scratchpad what 16
  // bytes hold of elements narrower than a byte: "<32 x i4>". Of scales in an accumulator memory "i7": f8e4m3 without its sign.
  string storage = "";
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Who issues the instruction together: `count` groups of the level `level`.
class Group<string level_, int count_> {
  string level = level_;
  int count = count_;
}
/// One thread issues it alone.
def Thread : Group<"", 1>;

class Init<string kind_> { string kind = kind_; }
def AccumulateAlways : Init<"AccumulateAlways">; // C must hold zeros first
def ZeroFlag : Init<"ZeroFlag">;                 // a flag makes the instruction ignore C
def NoAccumulate : Init<"NoAccumulate">;         // C = A * B

class Completion<string kind_> { string kind = kind_; }
def AtOnce : Completion<"AtOnce">;               // the result is a value
def WaitGroup : Completion<"WaitGroup">;         // commit, then wait for all but n groups
def Barrier : Completion<"Barrier">;             // arrives at a barrier object

class MatrixUnit<int m_, int n_, int k_> {
  int m = m_;
  int n = n_;
  int k = k_;
  Group scope = Thread;
  Operand a = ?;
  Operand b = ?;
  Operand c = ?;
  int scaleBlock = 0;              // elements along k that one scale multiplies; 0: the unit takes no scales
  Operand scaleA = ?;              // m x k / scaleBlock scales of A; `storage`: the register that holds those of a lane
  Operand scaleB = ?;              // k / scaleBlock x n scales of B; one of the two, or both
  int sparseGroup = 0;             // elements along k of which A keeps `sparseKept`, so that `a` is m x k * kept / group; 0: all
  int sparseKept = 0;
  Operand indexA = ?;              // of `a`'s shape: the place of each element in its group; `storage`: as of scales
  Cycles issue = ?;                // between independent issues of one core or group
  Cycles latency = ?;              // until a dependent issue
  Source source = ?;
  list<string> requires = [];      // features, in the target's spelling
  list<State> states = [];
  Init init = AccumulateAlways;
  bit saturates = 0;
  int sumBits = 0;                 // that a sum keeps, its leading one among them; 0: as many as C's type
  bit valid = 0;                   // takes valid prefixes of m, n and k
  Completion completion = AtOnce;
  int queueDepth = 0;              // commands of a core that it holds; a further one waits. 0: any
  string stationary = "";          // "A" or "B": held in the array between instructions
  Cycles load = Cycles<0>;         // of the stationary operand
  Emission emit = ?;
}

/// What a vector or special-function unit does beside arithmetic: "convert", "requantize", "lookup", "exp2", "dot".
class VectorOp<string kind_, Elem from_, Elem to_, int lanes_> {
  string kind = kind_;
  Elem from = from_;
  Elem to = to_;
  int lanes = lanes_;
  bit scale = 0;                   // requantisation: multiplies by a scale
  bit zeroPoint = 0;               // adds a zero point
  bit saturates = 0;
  string rounding = "nearest-even";
  int entries = 0;                 // of a look-up table
  Cycles issue = ?;
  Cycles latency = ?;
  Source source = ?;
  list<string> requires = [];
  Emission emit = ?;
}

#endif // TILEWRIGHT_CHIP_MATRIXUNIT
