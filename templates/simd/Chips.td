// The chips of target @NAME@: cores with vector registers.
include "dialects/Chip/Chip.td"
include "MatrixUnits.td"

defvar Sheet = Guess<"numbers of a small core: replace them by your data sheet">;

def @Name@1 : Chip<"@NAME@1"> {
  let summary = "four cores with vectors of 256 bits";
  // The words of `llc -mtriple -mcpu -mattr` for your chip. While LLVM generates no code for it, "host" takes those of the
  // machine that compiles, and its programs run there: the same decisions, other instructions.
  let triple = "host";
  let clockMHz = 1000;
  let levels = [Level<"core", Parallel, 4>, Level<"lane", Lockstep, 8>];
  // Bandwidths in bytes per clock and latencies in clocks, as one core sees them.
  let memories = [
    Memory<"global", "core", 4294967296, PerClock<8>, Cycles<120>, Sheet>,
    Cache<"l2", "core", 524288, PerClock<32>, Cycles<14>, /*line bytes*/ 64, /*ways*/ 8, Sheet>,
    Cache<"l1", "core", 32768, PerClock<64>, Cycles<4>, 64, 8, Sheet>,
    RegisterFile<"vector", "core", 32, /*bytes*/ 32>
  ];
  let units = Units;
  // Vector instructions per clock of one core.
  let fma_f32 = Fact<PerClock<1>, Sheet>; let add_f32 = Fact<PerClock<1>, Sheet>; let mul_f32 = Fact<PerClock<1>, Sheet>;
  let load = Fact<PerClock<1>, Sheet>; let store = Fact<PerClock<1>, Sheet>; let broadcast_load = Fact<PerClock<1>, Sheet>;
  let shuffle = Fact<PerClock<1>, Sheet>; let exp2_f32 = Fact<PerClock<1, 8>, Sheet>;
}
