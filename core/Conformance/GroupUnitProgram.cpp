//===- GroupUnitProgram.cpp - The program around a unit of a group --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A unit that a group of subgroups issues reads A and B in the scratchpad, where
/// lanes put them line by line, or A in registers; the index of a sparse A comes in registers:
///
///   copy A, B | fence before engines | barrier | fence of registers | unit | commit | wait | store C
///
/// One that a lane issues and that adds up in a memory of the block writes its product there, to which lanes add C.
/// Scales that it finds there lie in images before, which the first lane copies:
///
///   copy A, B; take entries; barrier object | barrier | first lane: unit, commit | wait | read, add C, store | free
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/ElementType.h"
#include "core/Conformance/Units.h"
#include "core/Machine/PackedElements.h"
#include "core/Machine/ScaleImage.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tilewright/BlockAccumulators.h"
#include "tilewright/LaneOps.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::conformance;

static constexpr int64_t linesOfGroup = 8, tileAlign = 1024;

/// Elements of a line along k.
static int64_t lineElements(const MatrixUnit &unit, const UnitOperand &operand) {
  return &operand == &unit.a ? unit.depthOfA() : unit.k;
}
/// Bytes of a line along k.
static int64_t lineBytes(const MatrixUnit &unit, const UnitOperand &operand) {
  return scratchpadBytes(operand, lineElements(unit, operand));
}

/// Bytes of an operand's tile in the scratchpad: rows of A, columns of B.
static int64_t tileBytes(const MatrixUnit &unit, bool isA) {
  const UnitOperand &operand = isA ? unit.a : unit.b;
  if (operand.residence == Residence::LaneRegisters)
    return 0;
  return llvm::alignTo((isA ? unit.m : unit.n) * lineBytes(unit, operand), tileAlign);
}

bool conformance::isOfGroup(const MatrixUnit &unit) {
  auto inLines = [&](const UnitOperand &operand, int64_t lines) {
    return operand.residence == Residence::Scratchpad && operand.layout.numLanes() == 1 &&
           (bitWidth(operand.element) % 8 == 0 || packedElements(operand)) && lines % linesOfGroup == 0 &&
           llvm::is_contained({16, 32, 64, 128}, lineBytes(unit, operand));
  };
  if (accumulatesInBlock(unit))
    return inLines(unit.a, unit.m) && inLines(unit.b, unit.n) && (unit.besides().empty() || findsBesidesInBlock(unit));
  return unit.scopeCount > 1 && (unit.a.residence == Residence::LaneRegisters || inLines(unit.a, unit.m)) &&
         inLines(unit.b, unit.n) && unit.c.residence == Residence::LaneRegisters;
}

/// Bytes at most of the images of scales of an operand, or of the index, whose rows engines copy `longest` bytes of at
/// a time at most.
static int64_t imageBytes(const MatrixUnit &unit, const UnitOperand &operand) {
  constexpr int64_t longest = 64;
  const int64_t words =
      findsIndexInBlock(unit) ? wordsOfIndex(unit) : operand.layout.numElements() / (unit.k / unit.scales->block);
  return llvm::alignTo(words * ScaleImage::wordBytes, longest) * operand.layout.numLanes();
}

static int64_t imageBytes(const MatrixUnit &unit) {
  int64_t bytes = 0;
  if (findsBesidesInBlock(unit))
    for (const UnitOperand *operand : unit.besides())
      bytes += imageBytes(unit, *operand);
  return bytes;
}

int64_t conformance::unitScratchpadBytes(const MatrixUnit &unit) {
  const int64_t objects = accumulatesInBlock(unit) ? 16 : 0; // a barrier object, and an address
  return isOfGroup(unit) ? tileBytes(unit, true) + tileBytes(unit, false) + imageBytes(unit) + objects : 0;
}

namespace {
/// Writes the kernel.
struct Writer {
  OpBuilder &b;
  Location loc;
  LLVM::LLVMFuncOp function;
  const MatrixUnit &unit;
  Value lane;

  Value i32(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(value)); }
  Value i64(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(value)); }
  Value plus(Value base, Value bytes) {
    return LLVM::GEPOp::create(b, loc, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes});
  }

  /// A vector of registers, one by one: of a number of elements that is no power of two, too.
  Value load(Value place, VectorType type) {
    Value result = LLVM::PoisonOp::create(b, loc, type);
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value part = LLVM::LoadOp::create(b, loc, type.getElementType(), at(place, type, i));
      result = LLVM::InsertElementOp::create(b, loc, result, part, i32(i));
    }
    return result;
  }
  void store(Value value, Value place) {
    auto type = cast<VectorType>(value.getType());
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      LLVM::StoreOp::create(b, loc, LLVM::ExtractElementOp::create(b, loc, value, i32(i)), at(place, type, i));
  }
  /// Adds words to elements of `type` at `place`, one by one: no vector of all of them, which takes long to legalise.
  void addTo(Value place, VectorType type, ValueRange words) {
    const bool isFloat = type.getElementType().isF32();
    for (auto [i, word] : llvm::enumerate(words)) {
      Value element = at(place, type, i), before = LLVM::LoadOp::create(b, loc, type.getElementType(), element), sum;
      if (isFloat)
        sum = LLVM::FAddOp::create(b, loc, LLVM::BitcastOp::create(b, loc, b.getF32Type(), word), before);
      else
        sum = LLVM::AddOp::create(b, loc, word, before);
      LLVM::StoreOp::create(b, loc, sum, element);
    }
  }
  Value at(Value place, VectorType type, int64_t element) {
    return plus(place, i32(element * type.getElementTypeBitWidth() / 8));
  }

  /// Lanes take elements in turn, of packed ones those of `packBytes` bytes: from their row-major places at `source` to
  /// those of lines along k at `destination`.
  void copy(bool isA, Value source, Value destination) {
    const UnitOperand &operand = isA ? unit.a : unit.b;
    const int64_t together = std::max<int64_t>(1, packedElements(operand)), line = lineBytes(unit, operand);
    const int64_t bytes = scratchpadBytes(operand, together), perLine = lineElements(unit, operand) / together;
    auto *head = function.addBlock(), *body = function.addBlock(), *after = function.addBlock();
    Value number = head->addArgument(b.getI32Type(), loc);
    LLVM::BrOp::create(b, loc, ValueRange(lane), head);
    b.setInsertionPointToStart(head);
    const int64_t count = (isA ? unit.m : unit.n) * perLine;
    Value more = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, number, i32(count));
    LLVM::CondBrOp::create(b, loc, more, body, after);
    b.setInsertionPointToStart(body);
    Value free = LLVM::UDivOp::create(b, loc, number, i32(perLine)),
          k = LLVM::URemOp::create(b, loc, number, i32(perLine));
    Value place = LLVM::AddOp::create(b, loc, LLVM::MulOp::create(b, loc, free, i32(line)),
                                      LLVM::MulOp::create(b, loc, k, i32(bytes)));
    // Vectors of 16 bytes are permuted within a line.
    Value flip = LLVM::AndOp::create(b, loc, LLVM::LShrOp::create(b, loc, place, i32(7)), i32(line / 16 - 1));
    place = LLVM::XOrOp::create(b, loc, place, LLVM::ShlOp::create(b, loc, flip, i32(4)));
    // The first element, and the step from one to the next along k.
    Value first = LLVM::MulOp::create(b, loc, k, i32(isA ? together : together * operand.cols));
    first = LLVM::AddOp::create(b, loc, first, isA ? LLVM::MulOp::create(b, loc, free, i32(operand.cols)) : free);
    if (together > 1) {
      pack(operand, source, first, isA ? 1 : operand.cols, together, plus(destination, place));
    } else {
      Value from = plus(source, LLVM::MulOp::create(b, loc, first, i32(bytes)));
      Value moved = LLVM::LoadOp::create(b, loc, b.getIntegerType(8 * bytes), from, /*alignment=*/1);
      LLVM::StoreOp::create(b, loc, moved, plus(destination, place), /*alignment=*/bytes);
    }
    LLVM::BrOp::create(b, loc, ValueRange(LLVM::AddOp::create(b, loc, number, i32(unitLanes(unit)))), head);
    b.setInsertionPointToStart(after);
  }
  /// `together` elements from `first` on, `step` apart, side by side: word by word.
  void pack(const UnitOperand &operand, Value source, Value first, int64_t step, int64_t together, Value destination) {
    constexpr int64_t wordBits = 32;
    const int64_t bits = bitWidth(operand.element);
    SmallVector<Value> words(8 * packBytes / wordBits, i32(0));
    auto add = [&](int64_t word, Value part) { words[word] = LLVM::OrOp::create(b, loc, words[word], part); };
    for (int64_t e = 0; e < together; ++e) {
      Value code = bitsOf(source, LLVM::AddOp::create(b, loc, first, i32(e * step)), bits);
      const int64_t at = e * bits, word = at / wordBits, shift = at % wordBits;
      add(word, LLVM::ShlOp::create(b, loc, code, i32(shift)));
      if (shift + bits > wordBits)
        add(word + 1, LLVM::LShrOp::create(b, loc, code, i32(wordBits - shift)));
    }
    for (auto [i, word] : llvm::enumerate(words))
      LLVM::StoreOp::create(b, loc, word, plus(destination, i32(int64_t(i) * wordBits / 8)),
                            /*alignment=*/wordBits / 8);
  }
  /// Element `index` of `bits` bits at `source`, in one byte or in two.
  Value bitsOf(Value source, Value index, int64_t bits) {
    Value bit = LLVM::MulOp::create(b, loc, index, i32(bits)), last = LLVM::AddOp::create(b, loc, bit, i32(bits - 1));
    auto byteAt = [&](Value position) -> Value {
      Value place = plus(source, LLVM::LShrOp::create(b, loc, position, i32(3)));
      Value byte = LLVM::LoadOp::create(b, loc, b.getI8Type(), place, /*alignment=*/1);
      return LLVM::ZExtOp::create(b, loc, b.getI32Type(), byte);
    };
    Value both = LLVM::OrOp::create(b, loc, byteAt(bit), LLVM::ShlOp::create(b, loc, byteAt(last), i32(8)));
    both = LLVM::LShrOp::create(b, loc, both, LLVM::AndOp::create(b, loc, bit, i32(7)));
    return LLVM::AndOp::create(b, loc, both, i32((int64_t(1) << bits) - 1));
  }
};

/// What surrounds a unit that adds up in a memory of the block.
class BlockUnit {
public:
  /// `images`: where those of scales or of the index may lie, then a barrier object and an address. `fragments`: of
  /// these operands, in memory.
  BlockUnit(Writer &writer, const BlockAccumulators &ops, const LaneOps &lanes, const TargetDescription &chip,
            Value images, ValueRange fragments)
      : w(writer), ops(ops), lanes(lanes), subgroup(chip.graph().lockstepLevel()->count),
        phase(w.plus(images, w.i32(imageBytes(w.unit)))), place(w.plus(phase, w.i32(8))) {
    int64_t needed = w.unit.c.layout.numElements(), offset = 0;
    if (const CopyEngine *engine = findsBesidesInBlock(w.unit) ? scaleEngine(w.unit, chip.graph()) : nullptr)
      for (auto [operand, fragment] : llvm::zip_equal(w.unit.besides(), fragments)) {
        const ScaleImage image = imageOf(w.unit, *operand, *engine);
        scales.push_back({operand, image, w.plus(images, w.i32(offset)), fragment, needed});
        needed += image.entries;
        offset += imageBytes(w.unit, *operand);
      }
    entries = accumulatorEntries(*chip.graph().named(w.unit.c.memory), needed).value_or(0);
  }

  /// Before the barrier.
  void begin() {
    for (const Scales &each : scales)
      ifBelow(each.image.lanes, [&] { findsIndexInBlock(w.unit) ? writeIndex(each) : writeImage(each); });
    ifBelow(subgroup, [&] { ops.takeAccumulators(w.b, w.loc, place, entries); });
    ifBelow(1, [&] { lanes.makePhase(w.b, w.loc, phase, 1); });
  }
  /// After it: the product of one instruction, as the lane's words.
  SmallVector<Value> multiply(LLVM::LLVMFuncOp callee, ValueRange described) {
    ops.beginAccesses(w.b, w.loc);
    Value address = LLVM::LoadOp::create(w.b, w.loc, w.b.getI32Type(), place);
    ifBelow(1, [&] {
      SmallVector<Value> operands(described);
      operands.push_back(address);
      for (const Scales &each : scales)
        operands.append({copied(each, address), w.i64(firstOf(each))});
      operands.push_back(LLVM::ConstantOp::create(w.b, w.loc, w.b.getI1Type(), w.b.getBoolAttr(false)));
      LLVM::CallOp::create(w.b, w.loc, callee, operands);
      ops.commitUnitsTo(w.b, w.loc, phase);
    });
    lanes.awaitPhase(w.b, w.loc, phase, w.i32(0));
    ops.beginAccesses(w.b, w.loc);
    Value row = LLVM::AndOp::create(w.b, w.loc, w.lane, w.i32(-subgroup));
    SmallVector<Value> words = ops.readAccumulators(w.b, w.loc, address, row, 0, w.unit.c.layout.numElements());
    words = ops.awaitReads(w.b, w.loc, words);
    ops.endAccesses(w.b, w.loc);
    lanes.barrier(w.b, w.loc);
    ops.beginAccesses(w.b, w.loc);
    ifBelow(subgroup, [&] { ops.freeAccumulators(w.b, w.loc, address, entries); });
    return words;
  }

private:
  struct Scales {
    const UnitOperand *operand;
    ScaleImage image;
    Value lines, fragment; // of the scratchpad; of global memory
    int64_t entry;
  };
  /// The last ones of a word, or entries of a copy, so that an instruction that takes those of another one shows.
  int64_t firstOf(const Scales &scales) const {
    return findsIndexInBlock(w.unit) ? scales.image.entriesOfAccess() - wordsOfIndex(w.unit)
                                     : scales.image.blocksOfWord - scales.image.blocksOfUnit;
  }
  /// The lane's words of the index, from its bytes of places.
  void writeIndex(const Scales &index) {
    const int64_t elements = index.operand->layout.numElements(), bits = w.unit.sparsity->placeBits();
    const int64_t words = wordsOfIndex(w.unit), inWord = elements / words;
    Value own = w.plus(index.fragment, LLVM::MulOp::create(w.b, w.loc, w.lane, w.i32(elements)));
    Value line = w.plus(index.lines, LLVM::MulOp::create(w.b, w.loc, w.lane, w.i32(index.image.access)));
    for (int64_t entry = 0; entry < index.image.entriesOfAccess(); ++entry) {
      const int64_t number = entry - firstOf(index);
      Value word = w.i32(0);
      for (int64_t i = 0; i < inWord && number >= 0; ++i) {
        Value place = LLVM::LoadOp::create(w.b, w.loc, w.b.getI8Type(), w.plus(own, w.i32(number * inWord + i)));
        place = LLVM::ZExtOp::create(w.b, w.loc, w.b.getI32Type(), place);
        place = LLVM::AndOp::create(w.b, w.loc, place, w.i32(w.unit.sparsity->group - 1));
        place = LLVM::ShlOp::create(w.b, w.loc, place, w.i32(i * bits));
        word = LLVM::OrOp::create(w.b, w.loc, word, place);
      }
      LLVM::StoreOp::create(w.b, w.loc, word, w.plus(line, w.i32(entry * ScaleImage::wordBytes)),
                            /*alignment=*/ScaleImage::wordBytes);
    }
  }
  /// The lane's words of an image, from its part of the fragment.
  void writeImage(const Scales &scales) {
    const ScaleImage &image = scales.image;
    const int64_t elements = scales.operand->layout.numElements(), bits = 8 * image.elementBytes;
    Value own = w.plus(scales.fragment, LLVM::MulOp::create(w.b, w.loc, w.lane, w.i32(elements * image.elementBytes)));
    Value line = w.plus(scales.lines, LLVM::MulOp::create(w.b, w.loc, w.lane, w.i32(image.access)));
    for (int64_t entry = 0; entry < image.entries; ++entry) {
      Value word = w.i32(0);
      for (int64_t block = 0; block < image.blocksOfUnit; ++block) {
        const int64_t element = entry * image.blocksOfUnit + block;
        if (element >= elements)
          continue;
        Value scale = LLVM::LoadOp::create(w.b, w.loc, w.b.getIntegerType(bits),
                                           w.plus(own, w.i32(element * image.elementBytes)), /*alignment=*/1);
        if (bits < 32)
          scale = LLVM::ZExtOp::create(w.b, w.loc, w.b.getI32Type(), scale);
        scale = LLVM::ShlOp::create(w.b, w.loc, scale, w.i32((firstOf(scales) + block) * bits));
        word = LLVM::OrOp::create(w.b, w.loc, word, scale);
      }
      LLVM::StoreOp::create(w.b, w.loc, word, w.plus(line, w.i32(image.place(entry * image.lanes, 0))),
                            /*alignment=*/ScaleImage::wordBytes);
    }
  }
  /// The address of the entries that the image is copied to.
  Value copied(const Scales &scales, Value address) {
    Value to = LLVM::AddOp::create(w.b, w.loc, address, w.i32(scales.entry));
    for (int64_t access = 0; access < scales.image.accesses(); ++access) {
      ScratchpadTile tile;
      tile.lineBytes = scales.image.access;
      tile.groupBytes = tile.blockBytes = linesOfGroup * tile.lineBytes;
      Value lines = lanes.describeTile(w.b, w.loc, scales.lines, {}, access * scales.image.accessBytes(), tile);
      blockScales(lanes)->copyScales(
          w.b, w.loc, lines, LLVM::AddOp::create(w.b, w.loc, to, w.i32(access * scales.image.entriesOfAccess())),
          scales.image.lanes, scales.image.access);
    }
    return to;
  }
  void ifBelow(int64_t count, llvm::function_ref<void()> work) {
    auto *inside = w.function.addBlock(), *after = w.function.addBlock();
    Value isBelow = LLVM::ICmpOp::create(w.b, w.loc, LLVM::ICmpPredicate::ult, w.lane, w.i32(count));
    LLVM::CondBrOp::create(w.b, w.loc, isBelow, inside, after);
    w.b.setInsertionPointToStart(inside);
    work();
    LLVM::BrOp::create(w.b, w.loc, ValueRange(), after);
    w.b.setInsertionPointToStart(after);
  }

  Writer &w;
  const BlockAccumulators &ops;
  const LaneOps &lanes;
  int64_t subgroup, entries = 0;
  Value phase, place;
  SmallVector<Scales, 2> scales;
};
} // namespace

llvm::Expected<OwningOpRef<ModuleOp>> conformance::groupUnitProgram(const MatrixUnit &unit, llvm::StringRef target,
                                                                    Type element, MLIRContext &context) {
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  (*module)->setAttr("tilewright.target", b.getStringAttr(target));
  auto found = laneOpsOf(*module);
  if (!found)
    return found.takeError();
  const LaneOps &ops = **found;
  auto global = LLVM::LLVMPointerType::get(&context, globalSpace);
  auto registers = VectorType::get(unit.c.layout.numElements(), element);
  b.setInsertionPointToEnd(module->getBody());
  Type i64 = b.getI64Type();
  const bool describesA = unit.a.residence == Residence::Scratchpad;
  SmallVector<Type> types{i64, i64, i64, i64, registers};
  if (!describesA)
    types = {VectorType::get(unit.a.layout.numElements(), elementType(unit.a.element, &context)), i64, i64, registers};
  const bool inBlock = accumulatesInBlock(unit);
  Type result = registers;
  if (unit.sparsity)
    types.push_back(VectorType::get(unit.sparsity->index.layout.numElements(), b.getI8Type()));
  if (inBlock) {
    types = {i64, i64, i64, i64, b.getI32Type()};
    for (size_t i = 0; i < unit.besides().size(); ++i)
      types.append({b.getI32Type(), i64});
    types.push_back(b.getI1Type());
    result = LLVM::LLVMVoidType::get(&context);
  }
  auto callee =
      LLVM::LLVMFuncOp::create(b, loc, "tilewright.unit." + unit.name, LLVM::LLVMFunctionType::get(result, types));
  auto none = LLVM::LLVMVoidType::get(&context);
  SmallVector<Type> pointers(3 + unit.besides().size(), global);
  auto function = LLVM::LLVMFuncOp::create(b, loc, unitEntry, LLVM::LLVMFunctionType::get(none, pointers));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Writer writer{b, loc, function, unit, ops.threadId(b, loc)};
  Value tileA = ops.scratchpad(b, loc, *module, unitScratchpadBytes(unit));
  Value tileB = writer.plus(tileA, writer.i32(tileBytes(unit, true)));
  if (describesA)
    writer.copy(true, entry->getArgument(0), tileA);
  writer.copy(false, entry->getArgument(1), tileB);
  std::optional<BlockUnit> ofBlock;
  if (inBlock) {
    auto chip = TargetRegistry::get().describe(target.str());
    if (!chip)
      return chip.takeError();
    const BlockAccumulators *blockOps = blockAccumulators(ops);
    if (!blockOps)
      return llvm::createStringError("unit " + unit.name +
                                     " adds up in a memory of the block, which the target's operations do not know "
                                     "(tilewright/BlockAccumulators.h)");
    if (!unit.besides().empty() && !blockScales(ops))
      return llvm::createStringError(
          "unit " + unit.name +
          " finds operands in a memory of the block, which the target's operations do not know "
          "(BlockScales in tilewright/BlockAccumulators.h)");
    ofBlock.emplace(writer, *blockOps, ops, **chip, writer.plus(tileB, writer.i32(tileBytes(unit, false))),
                    entry->getArguments().drop_front(3));
    ofBlock->begin();
  }
  ops.fenceEngines(b, loc);
  ops.barrier(b, loc);
  auto ofLane = [&](unsigned argument, const UnitOperand &operand) {
    int64_t bytes = operand.layout.numElements() * bitWidth(operand.element) / 8;
    return writer.plus(entry->getArgument(argument), LLVM::MulOp::create(b, loc, writer.lane, writer.i32(bytes)));
  };
  Value place = ofLane(2, unit.c);
  SmallVector<Value> operands;
  for (bool isA : {true, false}) {
    if (isA && !describesA) {
      operands.push_back(writer.load(ofLane(0, unit.a), cast<VectorType>(types.front())));
      continue;
    }
    ScratchpadTile tile;
    tile.lineBytes = lineBytes(unit, isA ? unit.a : unit.b);
    tile.groupBytes = tile.blockBytes = linesOfGroup * tile.lineBytes;
    Value described = ops.describeTile(b, loc, isA ? tileA : tileB, {}, 0, tile);
    if (!described)
      return llvm::createStringError("unit " + unit.name +
                                     " reads matrices in the scratchpad, which the target's operations do not describe "
                                     "(LaneOps::describeTile)");
    operands.append({described, writer.i64(tile.kInner)});
  }
  if (ofBlock) {
    writer.addTo(place, registers, ofBlock->multiply(callee, operands));
  } else {
    operands.push_back(writer.load(place, registers));
    if (unit.sparsity)
      operands.push_back(
          writer.load(ofLane(entry->getNumArguments() - 1, unit.sparsity->index), cast<VectorType>(types.back())));
    ops.beginUnits(b, loc);
    Value total = LLVM::CallOp::create(b, loc, callee, operands).getResult();
    ops.commitUnits(b, loc);
    writer.store(ops.waitUnits(b, loc, 0, total).front(), place);
  }
  LLVM::ReturnOp::create(b, loc, ValueRange());
  ops.finishLaunch(function, {unitLanes(unit), unitScratchpadBytes(unit), 0, unitLanes(unit)});
  return module;
}
