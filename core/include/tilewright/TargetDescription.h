//===- TargetDescription.h - What a chip is, as data ------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A chip as the core sees it: levels of parallelism, memories, copy engines,
/// matrix units and rates. The tables come from the records of a target's
/// `Chips.td` and `MatrixUnits.td` (tw-tblgen); a vendor may override any query.
/// Core code asks these capabilities and never a name.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TARGETDESCRIPTION_H
#define TILEWRIGHT_TARGETDESCRIPTION_H

#include "tilewright/Layout.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <bit>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class Operation;
} // namespace mlir

namespace tilewright {

/// How the members of a level run relative to each other.
enum class LevelKind { Parallel, Concurrent, Lockstep, Single };

/// One level of parallelism, outermost first: cores, blocks, lanes.
struct Level {
  std::string name;
  LevelKind kind = LevelKind::Parallel;
  int64_t count = 1;
};

enum class MemoryKind { Global, Cache, Scratchpad, RegisterFile, Accumulator };

/// What a memory is for: how the core finds it. `Inferred` in a description: by kind and level (MachineGraph.h).
enum class MemoryRole {
  Inferred,
  Backing,          // arrays of a program live there
  Cached,           // fills by itself
  Staging,          // members of its level keep there what they work on
  Accumulators,     // units add up there; a register file of this role holds accumulators alone
  VectorRegisters,  // vectors of one thread
  LaneRegisters,    // those that one lane can name
  RegisterPool,     // registers that lanes of a member of the level share out
  UniformRegisters, // one value for all lanes of a subgroup
};
/// How threads get at a memory. `Inferred`: MachineGraph.h.
enum class MemoryAccess { Inferred, LoadsAndStores, EnginesOnly };

/// One memory. Capacities in bytes, bandwidth in bytes per clock of one member
/// of `level`, latency in clocks.
struct Memory {
  std::string name;
  std::string level;
  MemoryKind kind = MemoryKind::Global;
  int64_t bytes = 0;
  double bytesPerClock = 0;               // reads
  double writeBytesPerClock = 0;          // ordinary stores, with the line fetched first
  double streamingWriteBytesPerClock = 0; // stores that bypass the caches
  double latency = 0;
  int64_t lineBytes = 0;   // caches
  int64_t ways = 0;        // caches
  int64_t sectorBytes = 0; // caches: what a miss fetches, 0: a line; global: what accesses are gathered into
  int64_t banks = 0;       // scratchpads
  int64_t bankBytes = 0;   // scratchpads
  int64_t entries = 0;     // register files: number of registers
  int64_t entryBytes = 0;
  int64_t pageBytes = 0; // global: span that a hardware prefetcher follows
  std::string source;    // where the numbers come from
  MemoryRole role = MemoryRole::Inferred;
  MemoryAccess access = MemoryAccess::Inferred;
};

/// Element types that records name.
enum class ElementKind {
  F64,
  F32,
  TF32,
  F16,
  BF16,
  F8E4M3, // OCP's, of which MLIR's f8E4M3FN is one, without infinities
  F8E5M2,
  I32,
  I16,
  I8,
  U8,
  I4,
  U4,
  I1,
  F8E4M3FNUZ, // without infinities and negative zero, the exponent's bias one larger
  F8E5M2FNUZ,
  F8E8M0, // OCP's scales: a power of two, without sign and zero
  F6E2M3, // OCP's narrow floats, without infinities and NaN
  F6E3M2,
  F4E2M1
};
unsigned bitWidth(ElementKind kind);
bool isFloat(ElementKind kind);
bool isSigned(ElementKind kind);
/// The record's word: "f32", "bf16", "u8".
llvm::StringRef elementName(ElementKind kind);

/// Where an operand of a unit lives.
enum class Residence {
  BroadcastScalar, // one element (or one group of k elements), the same in all lanes of a vector
  VectorRegister,  // a vector register of one thread
  LaneRegisters,   // registers spread over the lanes of a subgroup
  OpaqueRegister,  // a tile or accumulator register with its own read and write emissions
  Scratchpad,      // an address in a scratchpad
  Accumulator      // an accumulator memory
};

/// How an instruction is written at stage 6.
enum class EmissionKind { MlirOp, LlvmIntrinsic, InlineAsm, ExternalCall };
struct Emission {
  EmissionKind kind = EmissionKind::MlirOp;
  std::string name;                   // empty: the chip has no such emission
  std::vector<std::string> arguments; // roles, in the order of the emission: "A", "B", "C", "i32:0", ...
};

/// What must surround the use of a unit: tile configuration, streaming mode, rounding mode.
struct State {
  std::string name;
  std::vector<std::string> features;   // needed
  std::vector<std::string> attributes; // of the function, "name" or "name=value"
  Emission enter, leave, check;        // `check` must give `checkValue`, else device error 3
  int64_t checkValue = 0;
  std::vector<std::string> forbids; // kinds of ops that may not stand inside: "call", "libm", "alloc"
  std::vector<std::string> links;   // symbols that the linker must find
  double cost = 0;                  // clocks of one entry and exit
  std::string source;
};

/// How the emissions of an opaque register walk it.
enum class Slices { Whole, Row, Column };

/// A tile or accumulator register that only emissions of its own can touch.
struct OpaqueRegister {
  std::string name;            // of the record
  std::string bank;            // registers of one bank may overlap
  int64_t granules = 0;        // of the bank
  std::vector<uint64_t> masks; // granules of each numbered register; empty: values of `valueType`
  int64_t rows = 0, rowBytes = 0;
  std::string valueType;
  Slices slices = Slices::Whole;
  Emission zero, fill, read, store;
};

struct UnitOperand {
  ElementKind element = ElementKind::F32;
  Residence residence = Residence::VectorRegister;
  int64_t rows = 1, cols = 1;                    // fragment shape: A m x k, B k x n, C m x n
  Layout layout;                                 // (lane, element) -> (row, col)
  bool scalable = false;                         // a vector of the target's scalable type
  std::string storage;                           // LLVM type to carry it in, empty: its own
  std::string memory;                            // Scratchpad, Accumulator: the memory's name
  std::vector<std::string> majors, arrangements; // Scratchpad: storage orders that the unit accepts
  std::shared_ptr<const OpaqueRegister> opaque;  // OpaqueRegister
};

/// Scales that a unit takes as operands: C[m,n] += (A[m,k] * a[m,k / block]) * (B[k,n] * b[k / block,n]).
struct UnitScales {
  UnitOperand a, b;  // of m x k / block and k / block x n elements; 0 x 0 of an operand without scales
  int64_t block = 1; // elements along k that one scale multiplies
  bool hasA() const { return a.rows > 0; }
  bool hasB() const { return b.rows > 0; }
  /// Those that there are, that of A first.
  std::vector<const UnitOperand *> operands() const {
    std::vector<const UnitOperand *> all;
    if (hasA())
      all.push_back(&a);
    if (hasB())
      all.push_back(&b);
    return all;
  }
};

/// A that keeps `kept` of each `group` elements along k: C[m,n] += A[m,e] * B[e / kept * group + index[m,e],n], e from
/// 0 to k * kept / group.
struct UnitSparsity {
  UnitOperand index; // of A's shape: integers, of which the lowest placeBits() are the place in the group
  int64_t kept = 1, group = 1;
  int64_t placeBits() const { return std::countr_zero(static_cast<uint64_t>(group)); }
};

/// What a unit does with C's old value.
enum class UnitInit { AccumulateAlways, ZeroFlag, NoAccumulate };
/// How one knows that an instruction or copy has finished.
enum class Completion { AtOnce, WaitGroup, Barrier };

/// One instruction that multiplies small matrices: C[m,n] += A[m,k] * B[k,n].
struct MatrixUnit {
  std::string name; // "target.record", e.g. the `unit` of a tile.mma
  int64_t m = 1, n = 1, k = 1;
  UnitOperand a, b, c;
  std::optional<UnitScales> scales;
  std::optional<UnitSparsity> sparsity; // of A, which then has m x depthOfA() elements
  double issue = 1;                     // clocks between two independent issues
  double latency = 1;                   // clocks until a dependent issue
  std::string source;                   // where the cost numbers come from
  std::vector<std::string> features;    // needed, in the target's spelling
  std::string scopeLevel;               // level whose members issue it together, empty: one thread
  int64_t scopeCount = 1;               // groups of that level
  std::vector<State> states;            // what must surround it
  UnitInit init = UnitInit::AccumulateAlways;
  Completion completion = Completion::AtOnce;
  bool saturates = false;
  int64_t sumBits = 0;       // that a sum keeps, its leading one among them; 0: as many as C's type
  bool takesValid = false;   // valid prefixes of m, n and k
  int64_t queueDepth = 0;    // commands of a core that it holds; a further one waits. 0: any
  char stationary = 0;       // 'A' or 'B': operand held in the array between instructions
  double loadStationary = 0; // clocks to load it
  Emission emit;
  double flopsPerClock() const { return 2.0 * m * n * k / issue; }
  int64_t depthOfA() const { return sparsity ? k / sparsity->group * sparsity->kept : k; }
  /// Operands beside A, B and C: scales, those of A first, then the index of A.
  std::vector<const UnitOperand *> besides() const {
    std::vector<const UnitOperand *> all = scales ? scales->operands() : std::vector<const UnitOperand *>();
    if (sparsity)
      all.push_back(&sparsity->index);
    return all;
  }
};

/// An engine that moves tiles from one memory to another.
struct CopyEngine {
  std::string name, from, to;
  bool asynchronous = true;
  Completion completion = Completion::WaitGroup;
  int64_t maxRank = 1;              // dimensions of a tile that one command moves
  int64_t alignBytes = 1;           // of addresses
  int64_t burstBytes = 0;           // of one row that one command moves, 0: any
  int64_t queueDepth = 0;           // commands that it holds; a further one waits. 0: any
  std::vector<int64_t> accessBytes; // sizes of one access, empty: any
  std::vector<std::string> arrangements;
  bool zeroFill = false; // elements outside the array arrive as zeros
  double bytesPerClock = 0, latency = 0;
  std::string source;
  std::vector<std::string> features;
  Emission emit;
};

/// What a vector or special-function unit does beside arithmetic.
struct VectorOp {
  std::string name, kind; // kind: "convert", "requantize", "lookup", "exp2", ...
  ElementKind from = ElementKind::F32, to = ElementKind::F32;
  int64_t lanes = 1;
  bool scale = false, zeroPoint = false, saturates = false;
  std::string rounding;
  int64_t entries = 0; // of a look-up table
  double issue = 1, latency = 1;
  std::string source;
  std::vector<std::string> features;
  Emission emit;
};

/// What a lane does in one instruction: `does` is a word of docs/chip-description.md.
struct LaneInstruction {
  std::string does;
  Emission emit;
};

/// What LLVM needs to generate code for a chip: the words of `llc -mtriple -mcpu -mattr`.
struct CodegenTarget {
  std::string triple;
  std::string cpu;
  std::string features; // "+wide,-matrix": the chip's features, and a minus for those that `cpu` implies but it lacks
};

/// The numbers of a chip beside those of memories, engines and units; dialects/Chip/Numbers.td explains each.
enum class Number {
#define TW_NUMBER(enumerator, field, group, unit, key) enumerator,
#include "tilewright/Numbers.def"
};
enum class NumberGroup { Arithmetic, Move, Core, Team, Lane, LaneCode };
enum class NumberUnit { PerClock, Cycles, Count, Bytes, Part, Nanoseconds };
/// What Numbers.def says of a number.
struct NumberField {
  Number number;
  llvm::StringLiteral name; // of the field in a record
  NumberGroup group;
  NumberUnit unit;
  llvm::StringLiteral oldKey; // in the list `rates`, which it replaced; empty: it was not there
};
llvm::ArrayRef<NumberField> numberFields();
inline const NumberField &fieldOf(Number number) { return numberFields()[static_cast<size_t>(number)]; }
/// "per clock", "clocks", "bytes".
llvm::StringRef unitName(NumberUnit unit);

/// One of them, known.
struct Fact {
  Number number = Number::Load;
  double value = 1;
  std::string source;
};

class MachineGraph;

/// A chip. Returned objects live as long as the description.
class TargetDescription {
public:
  virtual ~TargetDescription();
  virtual llvm::StringRef target() const = 0;            // "acme"
  virtual llvm::StringRef chip() const = 0;              // "acme1"
  virtual llvm::StringRef summary() const { return ""; } // one line
  virtual double clockMHz() const = 0;
  virtual llvm::ArrayRef<Level> levels() const = 0;    // outermost first
  virtual llvm::ArrayRef<Memory> memories() const = 0; // largest first
  /// The units that this chip has (its features hold), fastest first for equal types.
  virtual llvm::ArrayRef<MatrixUnit> units() const = 0;
  virtual llvm::ArrayRef<CopyEngine> copies() const { return {}; }
  virtual llvm::ArrayRef<VectorOp> vectorOps() const { return {}; }
  virtual llvm::ArrayRef<LaneInstruction> laneInstructions() const { return {}; }
  virtual llvm::ArrayRef<Fact> numbers() const { return {}; }
  virtual bool hasFeature(llvm::StringRef feature) const = 0;
  /// One of the numbers; nullopt = unknown.
  std::optional<double> number(Number number) const;
  /// Triple, processor and features for LLVM; empty for a chip whose code LLVM does not generate.
  virtual CodegenTarget codegen() const = 0;

  /// The same facts by role: levels, memories, ways between them (tilewright/MachineGraph.h). Made when first asked
  /// for.
  const MachineGraph &graph() const;

  // Conveniences over the tables.
  const MatrixUnit *unit(llvm::StringRef name) const;
  const Memory *memory(llvm::StringRef name) const;
  /// Caches from the smallest (nearest) to the largest.
  std::vector<const Memory *> caches() const;
  /// Vector registers: number and bytes each; {0, 0} if the chip has none.
  std::pair<int64_t, int64_t> vectorRegisters() const;
  /// Members of the outermost parallel level (cores).
  int64_t parallelWidth() const;

private:
  mutable std::once_flag graphMade;
  mutable std::shared_ptr<const MachineGraph> made;
};

/// Whether a unit agrees with itself: layouts cover their operands, lanes match the scope, element types fit together,
/// the emission takes each operand once, costs are there. The messages name the two fields that disagree; empty: sound.
std::vector<std::string> checkUnit(const MatrixUnit &unit);

/// The description named by the module attribute `tilewright.target` ("target:chip") of the module around `op`.
/// An unknown target or chip is an error that offers the nearest names.
llvm::Expected<std::shared_ptr<const TargetDescription>> targetOf(mlir::Operation *op);

} // namespace tilewright

#endif // TILEWRIGHT_TARGETDESCRIPTION_H
