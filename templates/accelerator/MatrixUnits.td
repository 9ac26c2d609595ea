// The instructions of target accelerator. The systolic array has 32 x 32 cells: a tile of B lies in the cells, rows of A run
// through them, sums leave into the accumulator memory, one row a clock.
include "dialects/Chip/MatrixUnit.td"

defvar Invented = Guess<"a chip that does not exist: replace by the numbers of yours">;

def Tile : InScratchpad<"scratchpad", ["row"], []>;

class Systolic<Elem factor, Elem sum, int loadCycles, string intrinsic> : MatrixUnit<32, 32, 32> {
  let a = Operand<factor, Tile>;
  let b = Operand<factor, Tile>;
  let c = Operand<sum, InAccumulator<"accumulator">>;
  let issue = Cycles<32>;
  let latency = Cycles<96>;
  let stationary = "B";
  let load = Cycles<loadCycles>; // of B into the cells, 128 bytes a clock
  let init = ZeroFlag;
  let completion = WaitGroup;
  let queueDepth = 8;
  let source = Cited<"examples/npu-rtl/rtl/npu_core.sv: N = 32, LOAD_BYTES = 128, QUEUE = 8, C 2N clocks after A">;
  let emit = ExternalCall<intrinsic, ["A", "B", "C", "UseC"]>;
}
def systolic_i8 : Systolic<i8, i32, 8, "npu_multiply_i8">;
def systolic_bf16 : Systolic<bf16, f32, 16, "npu_multiply_bf16">;

/// The vector unit: to i8 with a scale, a zero point, rounding to nearest even and saturation.
class Requantize<Elem from, string intrinsic> : VectorOp<"requantize", from, i8, 16> {
  let scale = 1;
  let zeroPoint = 1;
  let saturates = 1;
  let issue = Cycles<1>;
  let latency = Cycles<6>;
  let source = Invented;
  let emit = ExternalCall<intrinsic, ["Vec", "Vec", "Vec"]>;
}
def requantize_i32 : Requantize<i32, "npu_requantize_i32">;
def requantize_f32 : Requantize<f32, "npu_requantize_f32">;

/// Accesses of the scratchpad whose elements a mask or a vector of addresses chooses: one element a clock.
class Gather<Elem element, int elements> : VectorOp<"gather", element, element, elements> {
  let issue = Cycles<elements>;
  let latency = Cycles<elements>;
  let source = Cited<"examples/npu-rtl/harness.cpp: npu_masked_read, an access for each element">;
  let emit = None;
}
def gather_8 : Gather<i8, 64>;
def gather_16 : Gather<bf16, 32>;
def gather_32 : Gather<f32, 16>;
