// Chips of the tests: their unit always adds to C, in a memory of accumulators; another operand stays in the cells than in
// templates/accelerator, and there is no vector unit. They differ in what their copy engines can do.
include "dialects/Chip/Chip.td"

defvar Invented = Guess<"a chip of the tests">;
def Tile : InScratchpad<"scratchpad", ["row"], []>;

class Adds<Elem factor, Elem sum, string intrinsic, list<string> arguments> : MatrixUnit<16, 16, 16> {
  let a = Operand<factor, Tile>;
  let b = Operand<factor, Tile>;
  let c = Operand<sum, InAccumulator<"accumulator">>;
  let issue = Cycles<16>;
  let latency = Cycles<48>;
  let stationary = "A";
  let load = Cycles<4>;
  let init = AccumulateAlways;
  let completion = WaitGroup;
  let source = Invented;
  let emit = ExternalCall<intrinsic, arguments>;
}
def adds_i8 : Adds<i8, i32, "adder_multiply_i8", ["C", "B", "i32:7", "A"]>;
def adds_f16 : Adds<f16, f32, "adder_multiply_f16", ["A", "B", "C"]>;

class Dma<string from, string to, string intrinsic> : CopyEngine<from, to> {
  let maxRank = 2;
  let alignBytes = 8;
  let burstBytes = 256;
  let queueDepth = 4;
  let bandwidth = PerClock<16>;
  let latency = Cycles<60>;
  let source = Invented;
  let emit = ExternalCall<intrinsic, ["Ptr", "Stride"]>;
}
def In : Dma<"global", "scratchpad", "adder_load">;
def Out : Dma<"scratchpad", "global", "adder_store">;
def LoadStore : CopyEngine<"global", "vector"> {
  let asynchronous = 0;
  let completion = AtOnce;
  let bandwidth = PerClock<8>;
  let latency = Cycles<60>;
  let source = Invented;
  let emit = None;
}

def One : Chip<"one"> {
  let summary = "two cores whose units add to their accumulators";
  let clockMHz = 800;
  let levels = [Level<"core", Parallel, 2>];
  let memories = [
    Memory<"global", "core", 1073741824, PerClock<16>, Cycles<60>, Invented>,
    Scratchpad<"scratchpad", "core", 131072, PerClock<64>, Cycles<2>, /*banks*/ 8, /*bank bytes*/ 32, Invented>,
    AccumulatorMemory<"accumulator", "core", 32768, PerClock<64>, Cycles<2>, Invented>,
    RegisterFile<"vector", "core", 32, 32>
  ];
  let copies = [In, Out, LoadStore];
  let units = [adds_i8, adds_f16];
  let load = Fact<PerClock<1>, Invented>; let store = Fact<PerClock<1>, Invented>;
  let fma_f32 = Fact<PerClock<1>, Invented>; let add_f32 = Fact<PerClock<1>, Invented>;
}

// Transposition by a record of its own, slower than rows; by the engine for rows; by commands for single elements.
def InTurned : Dma<"global", "scratchpad", "adder_load_turned"> {
  let arrangements = ["transpose"];
  let bandwidth = PerClock<8>;
}
def InBoth : Dma<"global", "scratchpad", "adder_move"> { let arrangements = ["transpose"]; }
def InSingle : Dma<"global", "scratchpad", "adder_load_single"> {
  let alignBytes = 1;
  let latency = Cycles<4>;
}
def InLines : Dma<"global", "scratchpad", "adder_load_line"> { let maxRank = 1; let latency = Cycles<10>; }
def OutTurned : Dma<"scratchpad", "global", "adder_store_turned"> {
  let arrangements = ["transpose"];
  let bandwidth = PerClock<8>;
}
def OutBoth : Dma<"scratchpad", "global", "adder_put"> { let arrangements = ["transpose"]; }
def OutSingle : Dma<"scratchpad", "global", "adder_store_single"> {
  let alignBytes = 1;
  let latency = Cycles<4>;
}

def OneTurns : Variant<"turns", One> { let copies = [In, InTurned, Out, OutTurned, LoadStore]; }
def OneBoth : Variant<"both", One> { let copies = [InBoth, OutBoth, LoadStore]; }
def OneSingle : Variant<"single", One> { let copies = [InSingle, OutSingle, LoadStore]; }
def OneLines : Variant<"lines", One> { let copies = [InLines, Out, LoadStore]; }

// Engines so slow that what lies between two products is better kept near.
def InSlow : Dma<"global", "scratchpad", "adder_load"> { let bandwidth = PerClock<1>; }
def OutSlow : Dma<"scratchpad", "global", "adder_store"> { let bandwidth = PerClock<1>; }
def OneSlow : Variant<"slow", One> { let copies = [InSlow, OutSlow, LoadStore]; }
