// A chip that nothing else of the tree is like, described from its public manuals (Power ISA 3.1B, section 7.2.1.3, and the
// paper of its unit, arXiv 2104.03142): accumulators that are vectors of single bits, read by an intrinsic that gives four
// vectors, and operands that are pairs of registers. And a chip of the machine that compiles, whose registers are structures.
include "dialects/Chip/Chip.td"
include "MatrixUnits.td"

defvar Sheet = Guess<"of the order of the manual's numbers; no hardware was measured">;

defvar Caches = [
  Memory<"global", "core", 4294967296, PerClock<8>, Cycles<300>, Sheet>,
  Cache<"l2", "core", 2097152, PerClock<64>, Cycles<14>, /*line bytes*/ 128, /*ways*/ 8, Sheet>,
  Cache<"l1", "core", 32768, PerClock<64>, Cycles<5>, 128, 8, Sheet>
];
class Cores : Chip<""> {
  let clockMHz = 4000;
  let levels = [Level<"core", Parallel, 4>, Level<"lane", Lockstep, 4>];
  let memories = !listconcat(Caches, [RegisterFile<"vector", "core", 64, /*bytes*/ 16>]);
  let fma_f32 = Fact<PerClock<4>, Sheet>; let add_f32 = Fact<PerClock<4>, Sheet>; let mul_f32 = Fact<PerClock<4>, Sheet>;
  let load = Fact<PerClock<2>, Sheet>; let store = Fact<PerClock<2>, Sheet>; let broadcast_load = Fact<PerClock<2>, Sheet>;
  let shuffle = Fact<PerClock<2>, Sheet>; let exp2_f32 = Fact<PerClock<1, 8>, Sheet>;
}

def Power10 : Cores {
  let chipName = "power10";
  let summary = "cores with eight accumulators of 512 bits";
  let triple = "powerpc64le-unknown-linux-gnu";
  let cpu = "pwr10";
  let features = ["mma"];
  let units = [xvf32gerpp, xvf64gerpp, xvbf16ger2pp, xvf16ger2pp, xvi8ger4pp, xvi16ger2pp, xvmaddasp, xvmaddadp];
}

// Fewer registers: accumulators and operands share them.
def Narrow : Variant<"narrow", Power10> {
  let summary = "the same with a file of 36 registers";
  let memories = !listconcat(Caches, [RegisterFile<"vector", "core", 36, /*bytes*/ 16>]);
}

// The same machine as the one that compiles: what stands in its functions runs there.
def Here : Cores {
  let chipName = "here";
  let summary = "this machine, with accumulators that are structures of vectors";
  let triple = "host";
  let units = [outer_f32, outer_f64, outer_bf16, outer_factors, xvmaddasp];
}
def Calls : Variant<"calls", Here> {
  let summary = "the same, with products by a function of a library";
  let units = [called_bf16, xvmaddasp];
}
def Out : Variant<"out", Here> {
  let summary = "the same, with accumulators that cannot be filled";
  let units = [outer_out, xvmaddasp];
}
