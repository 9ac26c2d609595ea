// The chips of target @NAME@: multiprocessors that run blocks of subgroups of lanes.
include "dialects/Chip/Chip.td"
include "MatrixUnits.td"

defvar Sheet = Guess<"numbers of a small chip: replace them by your data sheet">;

// From global memory into the scratchpad of a block while the lanes go on; groups are awaited by count.
def CopyIn : CopyEngine<"global", "shared"> {
  let accessBytes = [4, 8, 16]; // of one lane
  let alignBytes = 4;
  let zeroFill = 1;
  let arrangements = ["any"];
  let bandwidth = PerClock<64>;
  let latency = Cycles<400>;
  let source = Sheet;
  let emit = ExternalCall<"@NAME@.copy", ["Ptr", "Ptr"]>;
}

def @Name@1 : Chip<"@NAME@1"> {
  let summary = "16 multiprocessors of up to 32 subgroups, subgroups of 32 lanes";
  // LLVM's words. "host" stands for a chip that LLVM does not know yet: `-o x.ll` gives IR for your back end.
  let triple = "host";
  let clockMHz = 1500;
  let levels = [Level<"grid", Parallel, 16>, Level<"block", Concurrent, 32>,
                Level<"subgroup", Lockstep, 32>, Level<"lane", Single, 1>];
  // Bytes per clock: global memory and l2 of the whole chip, the scratchpad of one multiprocessor.
  let memories = [
    Memory<"global", "grid", 17179869184, PerClock<256>, Cycles<500>, Sheet>,
    Cache<"l2", "grid", 8388608, PerClock<1024>, Cycles<200>, /*line bytes*/ 128, /*ways*/ 16, Sheet, /*sector*/ 32>,
    Scratchpad<"shared", "block", 131072, PerClock<128>, Cycles<30>, /*banks*/ 32, /*bank bytes*/ 4, Sheet>,
    RegisterFile<"registers", "block", 65536, 4>, // of a multiprocessor
    RegisterFile<"register", "lane", 255, 4>      // that one lane can name
  ];
  let copies = [CopyIn];
  let laneInstructions = [LaneInstruction<"barrier", InlineAsm<"@NAME@.barrier", []>>];
  let units = Units;
  // Instructions of a subgroup per clock of one multiprocessor; `issue`, of all kinds: its issue slots, and so its matrix units.
  let issue = Fact<PerClock<4>, Sheet>; let fma_f32 = Fact<PerClock<4>, Sheet>; let add_f32 = Fact<PerClock<4>, Sheet>;
  let exp2_f32 = Fact<PerClock<1, 2>, Sheet>; let load = Fact<PerClock<1>, Sheet>; let store = Fact<PerClock<1>, Sheet>;
  let shuffle = Fact<PerClock<1>, Sheet>;
}
