//===- TileDialect.cpp - The tile dialect, its types and attributes -------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Registration, and the layout attribute and fragment type: syntax and checks.
///
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile;

#include "dialects/Tile/TileDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"

//===-- Layout ------------------------------------------------------------===//

LayoutAttr LayoutAttr::get(MLIRContext *context, const Layout &layout) {
  SmallVector<int64_t> lanes, elements, repeats;
  for (const Position &basis : layout.lanes)
    lanes.append({basis.row, basis.col});
  for (const Position &basis : layout.elements)
    elements.append({basis.row, basis.col});
  for (const Repetition &repetition : layout.repeats)
    repeats.append({repetition.count, repetition.rowStep, repetition.colStep});
  return get(context, lanes, elements, repeats);
}

/// The layout that the parts of the attribute say.
static Layout layoutOf(ArrayRef<int64_t> lanes, ArrayRef<int64_t> elements, ArrayRef<int64_t> repeats) {
  Layout layout;
  for (size_t i = 0; i + 1 < lanes.size(); i += 2)
    layout.lanes.push_back({lanes[i], lanes[i + 1]});
  for (size_t i = 0; i + 1 < elements.size(); i += 2)
    layout.elements.push_back({elements[i], elements[i + 1]});
  for (size_t i = 0; i + 2 < repeats.size(); i += 3)
    layout.repeats.push_back({repeats[i], repeats[i + 1], repeats[i + 2]});
  return layout;
}

Layout LayoutAttr::getValue() const { return layoutOf(getLanes(), getElements(), getRepeats()); }

int64_t LayoutAttr::getNumElements() const {
  int64_t count = int64_t(1) << (getElements().size() / 2);
  for (size_t i = 0; i < getRepeats().size(); i += 3)
    count *= getRepeats()[i];
  return count;
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> lanes,
                                 ArrayRef<int64_t> elements, ArrayRef<int64_t> repeats) {
  if (lanes.size() % 2 || elements.size() % 2)
    return emitError() << "layout: `lanes` and `elements` are lists of (row, col) pairs, so their lengths are even";
  if (lanes.size() > 32 || elements.size() > 32)
    return emitError() << "layout: at most 16 bases each for lanes and elements";
  if (repeats.size() % 3)
    return emitError()
           << "layout: `repeats` is a list of (count, row step, col step), so its length is a multiple of 3";
  for (size_t i = 0; i < repeats.size(); i += 3)
    if (repeats[i] < 1)
      return emitError() << "layout: repetition " << i / 3 << " has count " << repeats[i] << ", must be at least 1";
  auto negative = [](int64_t value) { return value < 0; };
  if (llvm::any_of(lanes, negative) || llvm::any_of(elements, negative) || llvm::any_of(repeats, negative))
    return emitError() << "layout: rows, columns and steps cannot be negative";
  if (llvm::Error error = checkLayout(layoutOf(lanes, elements, repeats)))
    return emitError() << "layout: " << llvm::toString(std::move(error));
  return success();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> lanes, elements, repeats;
  auto list = [&](SmallVectorImpl<int64_t> &values) -> ParseResult {
    return failure(parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(values.emplace_back());
    }));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        StringRef keyword;
        SMLoc loc = parser.getCurrentLocation();
        if (parser.parseKeyword(&keyword))
          return failure();
        if (keyword == "lanes")
          return list(lanes);
        if (keyword == "elements")
          return list(elements);
        if (keyword == "repeats")
          return list(repeats);
        return parser.emitError(loc) << "unknown part '" << keyword << "' of a layout, known: lanes, elements, repeats";
      }))
    return {};
  return parser.getChecked<LayoutAttr>(parser.getContext(), lanes, elements, repeats);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  StringRef separator;
  auto list = [&](StringRef name, ArrayRef<int64_t> values) {
    if (values.empty())
      return;
    printer << separator << name << " = [";
    llvm::interleaveComma(values, printer);
    printer << "]";
    separator = ", ";
  };
  printer << "<";
  list("lanes", getLanes());
  list("elements", getElements());
  list("repeats", getRepeats());
  printer << ">";
}

//===-- Fragment ----------------------------------------------------------===//

SmallVector<Position> FragmentType::positions(int64_t lane) const {
  Layout layout = getLayout().getValue();
  SmallVector<Position> result;
  for (int64_t element = 0, end = getNumElements(); element < end; ++element)
    result.push_back(layout.at(lane, element));
  return result;
}

LogicalResult FragmentType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t cols,
                                   Type elementType, LayoutAttr layout, StringRef registers, int64_t number) {
  if (registers.empty() && number >= 0)
    return emitError() << "fragment: number " << number << " of no register class";
  if (rows < 1 || cols < 1)
    return emitError() << "fragment: " << rows << "x" << cols << " is empty, both extents must be at least 1";
  if (!elementType.isIntOrIndexOrFloat())
    return emitError() << "fragment: element type must be an integer, index or float, got " << elementType;
  int64_t held = layout.getNumLanes() * layout.getNumElements();
  if (rows > 4096 || cols > 4096 || held > (1 << 20))
    return emitError() << "fragment: " << rows << "x" << cols << " with " << held
                       << " elements over all lanes is no fragment of registers";
  if (held % (rows * cols))
    return emitError() << "fragment: the layout holds " << held << " elements, no multiple of the " << rows * cols
                       << " of a " << rows << "x" << cols << " matrix";
  Layout value = layout.getValue();
  SmallVector<int64_t> copies(rows * cols, 0);
  for (int64_t lane = 0; lane < value.numLanes(); ++lane)
    for (int64_t element = 0; element < value.numElements(); ++element) {
      Position position = value.at(lane, element);
      if (position.row >= rows || position.col >= cols)
        return emitError() << "fragment: the layout puts lane " << lane << ", element " << element << " at ("
                           << position.row << ", " << position.col << "), outside " << rows << "x" << cols;
      ++copies[position.row * cols + position.col];
    }
  for (int64_t i = 0; i < rows * cols; ++i)
    if (copies[i] != held / (rows * cols))
      return emitError() << "fragment: the layout holds element (" << i / cols << ", " << i % cols << ") " << copies[i]
                         << " times, expected " << held / (rows * cols);
  return success();
}

Type FragmentType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  LayoutAttr layout;
  std::string registers;
  int64_t number = -1;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseComma() || parser.parseAttribute(layout))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseString(&registers) || (succeeded(parser.parseOptionalColon()) && parser.parseInteger(number))))
    return {};
  if (parser.parseGreater())
    return {};
  if (shape.size() != 2) {
    parser.emitError(loc) << "a fragment has two extents, rows x cols, got " << shape.size();
    return {};
  }
  return parser.getChecked<FragmentType>(loc, parser.getContext(), shape[0], shape[1], elementType, layout, registers,
                                         number);
}

void FragmentType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getCols() << "x" << getElementType() << ", " << getLayout();
  if (isOpaque())
    printer << ", \"" << getRegisters() << "\"";
  if (getNumber() >= 0)
    printer << " : " << getNumber();
  printer << ">";
}

//===-- Arrangement -------------------------------------------------------===//

LogicalResult ArrangementAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t swizzleBits,
                                      int64_t swizzleBase, int64_t swizzleShift, int64_t swizzleAgain, int64_t padding,
                                      int64_t groups) {
  if (swizzleBits < 0 || swizzleBase < 0 || swizzleShift < 0 || swizzleAgain < 0 || padding < 0)
    return emitError() << "arrangement: swizzle fields and padding cannot be negative";
  if (swizzleBits > 0 && swizzleShift < swizzleBits)
    return emitError() << "arrangement: swizzleShift (" << swizzleShift << ") must be at least swizzleBits ("
                       << swizzleBits << "), or a bit would be XOR-ed with itself";
  if (swizzleAgain > 0 && (swizzleBits == 0 || swizzleAgain <= swizzleShift))
    return emitError() << "arrangement: swizzleAgain (" << swizzleAgain << ") must be above swizzleShift ("
                       << swizzleShift << ") of a swizzle";
  if (groups < 1)
    return emitError() << "arrangement: groups must be at least 1, got " << groups;
  return success();
}

//===-- Schedule ----------------------------------------------------------===//

ScheduleAttr ScheduleAttr::withPlacements(ArrayRef<PlacementAttr> placements) const {
  return get(getContext(), getLevel(), getMembers(), getOps(), getLoops(), placements, getStep(), getParts(),
             getPasses());
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  std::string level;
  int64_t members = 1, ops = 1, step = 0, parts = 1, passes = 1;
  SmallVector<TiledLoopAttr> loops;
  SmallVector<PlacementAttr> placements;
  auto list = [&](auto &into) {
    using Each = typename std::remove_reference_t<decltype(into)>::value_type;
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
      auto each = llvm::dyn_cast_or_null<Each>(Each::parse(parser, {}));
      if (each)
        into.push_back(each);
      return success(bool(each));
    });
  };
  SMLoc begin = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
        StringRef keyword;
        SMLoc loc = parser.getCurrentLocation();
        if (parser.parseKeyword(&keyword) || parser.parseEqual())
          return failure();
        if (keyword == "level")
          return parser.parseString(&level);
        if (keyword == "members")
          return parser.parseInteger(members);
        if (keyword == "ops")
          return parser.parseInteger(ops);
        if (keyword == "step")
          return parser.parseInteger(step);
        if (keyword == "parts")
          return parser.parseInteger(parts);
        if (keyword == "passes")
          return parser.parseInteger(passes);
        if (keyword == "loops")
          return list(loops);
        if (keyword == "placements")
          return list(placements);
        return parser.emitError(loc)
               << "unknown part '" << keyword
               << "' of a schedule, known: level, members, ops, step, parts, passes, loops, placements";
      }))
    return {};
  return parser.getChecked<ScheduleAttr>(begin, parser.getContext(), level, members, ops, loops, placements, step,
                                         parts, passes);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<level = \"" << getLevel() << "\", members = " << getMembers();
  if (getOps() != 1)
    printer << ", ops = " << getOps();
  if (getStep() != 0)
    printer << ", step = " << getStep();
  if (getParts() != 1)
    printer << ", parts = " << getParts();
  if (getPasses() != 1)
    printer << ", passes = " << getPasses();
  auto list = [&](StringRef name, auto values) {
    if (values.empty())
      return;
    printer << ", " << name << " = [";
    llvm::interleaveComma(values, printer, [&](auto each) { each.print(printer); });
    printer << "]";
  };
  list("loops", getLoops());
  list("placements", getPlacements());
  printer << ">";
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef level, int64_t members,
                                   int64_t ops, ArrayRef<TiledLoopAttr> loops, ArrayRef<PlacementAttr> placements,
                                   int64_t step, int64_t parts, int64_t passes) {
  if (level.empty())
    return emitError() << "schedule: must name a level of the chip, as in level = \"core\"";
  if (members < 0 || ops < 1)
    return emitError() << "schedule: members (" << members
                       << ") must be at least 1, or 0 for one of each tile, and ops (" << ops << ") at least 1";
  if (step < 0)
    return emitError() << "schedule: a step of " << step << " iterations; 0 is none, other steps have at least one";
  if (parts < 1)
    return emitError() << "schedule: reductions in " << parts << " parts; there is at least one";
  if (passes < 1 || (passes > 1 && step == 0))
    return emitError() << "schedule: " << passes << " passes in steps of " << step
                       << " iterations; there is at least one, and several have steps";
  llvm::SmallDenseSet<int64_t> seen{-1};
  bool spread = false;
  for (TiledLoopAttr each : loops) {
    if (each.getLoop() < 0 || each.getTile() < 1)
      return emitError() << "schedule: loop " << each.getLoop() << " with a tile of " << each.getTile()
                         << " iterations; loops count from 0, tiles have at least one";
    if (!seen.insert(each.getLoop()).second)
      return emitError() << "schedule: loop " << each.getLoop() << " is cut twice";
    if (each.getSpread() && spread && !placements.empty())
      return emitError() << "schedule: two loops are spread over the members of level \"" << level
                         << "\", and arrays are placed";
    spread |= each.getSpread();
  }
  if (members != 1 && !spread)
    return emitError() << "schedule: " << members << " members of level \"" << level
                       << "\" and no loop that is spread over them";
  for (PlacementAttr each : placements)
    if (each.getArray() < 0 || each.getStages() < 1 || !seen.contains(each.getAt()))
      return emitError() << "schedule: array " << each.getArray() << " is placed at loop " << each.getAt() << " in "
                         << each.getStages() << " stages; that loop must be one of `loops`, or -1";
  return success();
}

TiledLoopAttr ScheduleAttr::tiled(int64_t loop) const {
  auto found = llvm::find_if(getLoops(), [&](TiledLoopAttr each) { return each.getLoop() == loop; });
  return found == getLoops().end() ? TiledLoopAttr() : *found;
}

//===-- Dialect -----------------------------------------------------------===//

namespace {
/// Prints layouts under a name at the top of the module, as they are long and shared by many types.
struct TileAsmInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attr))
      return AliasResult::NoAlias;
    os << "layout";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttributes.cpp.inc"
      >();
  addInterfaces<TileAsmInterface>();
}
