// The chips of target accelerator: cores of one thread, each with a scratchpad, an accumulator memory, two DMA engines, a
// systolic array and a vector unit.
include "dialects/Chip/Chip.td"
include "MatrixUnits.td"

/// Numbers of the chip as SystemVerilog, by the parameters of npu_core.
class Rtl<string parameters> : Cited<"examples/npu-rtl/rtl/npu_core.sv: " # parameters>;

/// Whether the cores load and store global memory themselves; 0: all that they compute on comes by DMA.
defvar reachesGlobal = 1;

/// Rows of a tile, some bytes apart on both sides.
class Dma<string from, string to, string intrinsic> : CopyEngine<from, to> {
  let maxRank = 2;
  let alignBytes = !if(reachesGlobal, 16, 1); // the core moves what lies otherwise; where it cannot, the engine must
  let burstBytes = 4096;
  let queueDepth = 8;
  let bandwidth = PerClock<32>;
  let latency = Cycles<100>;
  let source = Rtl<"DMA_BYTES = 32, DMA_LATENCY = 100, QUEUE = 8">;
  let emit = ExternalCall<intrinsic, ["Ptr", "Stride"]>;
}
def DmaIn : Dma<"global", "scratchpad", "npu_load">;
def DmaOut : Dma<"scratchpad", "global", "npu_store">;

/// The core itself reads and writes global memory, one vector at a time.
def LoadStore : CopyEngine<"global", "vector"> {
  let asynchronous = 0;
  let completion = AtOnce;
  let queueDepth = 1; // each load waits for its data
  let bandwidth = PerClock<8>;
  let latency = Cycles<100>;
  let source = Rtl<"CORE_BYTES = 8, CORE_LATENCY = 100, one load at a time">;
  let emit = None;
}

def Npu : Chip<"npu"> {
  let summary = "four cores with a 32 x 32 systolic array each";
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 4>];
  let memories = [
    Memory<"global", "core", 4294967296, PerClock<32>, Cycles<100>, Invented>,
    Scratchpad<"scratchpad", "core", 1048576, PerClock<128>, Cycles<2>, /*banks*/ 16, /*bank bytes*/ 64,
               Rtl<"BANKS = 16, words of 64 bytes">>,
    AccumulatorMemory<"accumulator", "core", 262144, PerClock<128>, Cycles<2>, Invented>,
    RegisterFile<"vector", "core", 32, 64>
  ];
  let copies = [DmaIn, DmaOut] # !if(reachesGlobal, [LoadStore], []);
  let units = [systolic_i8, systolic_bf16];
  let vectorOps = [requantize_i32, requantize_f32, gather_8, gather_16, gather_32];
  let load = Fact<PerClock<1>, Invented>; let store = Fact<PerClock<1>, Invented>;
  let fma_f32 = Fact<PerClock<1>, Invented>; let add_f32 = Fact<PerClock<1>, Invented>;
}
