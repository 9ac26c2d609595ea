//===- TileMemory.cpp - Buffers, copies and levels ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// tile.alloc, tile.copy, tile.fill and tile.parallel: builders, syntax, checks.
///
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile;

//===-- alloc, fill -------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  auto type = cast<MemRefType>(getMemref().getType());
  if (getDynamicSizes().size() != size_t(type.getNumDynamicDims()))
    return emitOpError() << "needs one size per dynamic dimension, " << type.getNumDynamicDims() << ", got "
                         << getDynamicSizes().size();
  if (!type.getLayout().isIdentity())
    return emitOpError() << "the memref must have the identity layout; say how elements are placed with `arrangement`";
  std::optional<ArrangementAttr> arrangement = getArrangement();
  if (!arrangement)
    return success();
  if (arrangement->getGroups() > 1 && type.getRank() < 2)
    return emitOpError() << "groups interleave rows, so the memref needs two dimensions";
  for (Operation *user : getMemref().getUsers())
    if (!isa<LoadOp, StoreOp, CopyOp, FillOp>(user)) {
      InFlightDiagnostic diag = emitOpError() << "an arranged buffer may be used by tile.load, tile.store, tile.copy "
                                                 "and tile.fill only";
      diag.attachNote(user->getLoc()) << "used by '" << user->getName() << "' here";
      return diag;
    }
  return success();
}

LogicalResult FillOp::verify() {
  if (getValue().getType() != getMemRefType().getElementType())
    return emitOpError() << "value must have the element type of the buffer, " << getMemRefType().getElementType()
                         << ", got " << getValue().getType();
  return success();
}

//===-- copy --------------------------------------------------------------===//

void CopyOp::build(OpBuilder &builder, OperationState &state, Value source, AffineMap sourceMap,
                   ValueRange sourceOperands, AffineMap sourceElements, Value destination, AffineMap destinationMap,
                   ValueRange destinationOperands, AffineMap destinationElements, ArrayRef<int64_t> shape,
                   AffineMap validMap, ValueRange validOperands, ArrayRef<int64_t> bounded) {
  build(builder, state, TokenType::get(builder.getContext()), source, sourceOperands, destination, destinationOperands,
        validOperands, AffineMapAttr::get(sourceMap), AffineMapAttr::get(sourceElements),
        AffineMapAttr::get(destinationMap), AffineMapAttr::get(destinationElements),
        builder.getDenseI64ArrayAttr(shape), validMap ? AffineMapAttr::get(validMap) : AffineMapAttr(), UnitAttr(),
        bounded.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(bounded), DenseI64ArrayAttr());
}

static LogicalResult verifySide(CopyOp op, StringRef side, MemRefType type, AffineMap map, unsigned operands,
                                AffineMap elements) {
  if (int64_t(map.getNumResults()) != type.getRank() || map.getNumInputs() != operands)
    return op.emitOpError() << "the " << side << " has rank " << type.getRank() << " and " << map.getNumResults()
                            << " subscripts";
  if (elements.getNumDims() != op.getShape().size() || elements.getNumSymbols() != 0 ||
      int64_t(elements.getNumResults()) != type.getRank())
    return op.emitOpError() << "`elements` of the " << side << " must map the " << op.getShape().size()
                            << " dimensions of the box to " << type.getRank() << " offsets, got "
                            << AffineMapAttr::get(elements);
  return success();
}

/// Dimensions of the source, of `rank`, in order.
static LogicalResult verifyBounds(CopyOp op, int64_t rank) {
  int64_t last = -1;
  for (int64_t d : op.getBounded()) {
    if (d <= last || d >= rank)
      return op.emitOpError() << "`bounded` names dimensions of the source, of which there are " << rank
                              << ", each at most once and in order; got " << op.getBoundedAttr();
    last = d;
  }
  if (op.getClipped() && last >= 0)
    return op.emitOpError() << "is `clipped` and `bounded`; points outside of the source are either left alone or zero";
  return success();
}

LogicalResult CopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType()), destination = cast<MemRefType>(getDestination().getType());
  if (source.getElementType() != destination.getElementType())
    return emitOpError() << "source and destination must have one element type, got " << source.getElementType()
                         << " and " << destination.getElementType();
  if (getShape().empty() || llvm::any_of(getShape(), [](int64_t extent) { return extent < 1; }))
    return emitOpError() << "`shape` needs one extent of at least 1 per dimension of the box";
  if (failed(verifySide(*this, "source", source, getSourceMap(), getSourceOperands().size(), getSourceElements())) ||
      failed(verifySide(*this, "destination", destination, getDestinationMap(), getDestinationOperands().size(),
                        getDestinationElements())))
    return failure();
  if (std::optional<AffineMap> valid = getValidMap();
      valid && (valid->getNumResults() != getShape().size() || valid->getNumInputs() != getValidOperands().size()))
    return emitOpError() << "`valid` needs one extent per dimension of the box, " << getShape().size();
  if (ArrayRef<int64_t> padTo = getPadTo();
      !padTo.empty() &&
      (padTo.size() != getShape().size() || llvm::any_of(padTo, [](int64_t points) { return points < 1; })))
    return emitOpError() << "`padTo` needs one positive number of points per dimension of the box, "
                         << getShape().size() << ", got " << getPadToAttr();
  return verifyBounds(*this, source.getRank());
}

ParseResult CopyOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand source, destination;
  SmallVector<OpAsmParser::UnresolvedOperand> sourceOperands, destinationOperands, validOperands;
  AffineMapAttr sourceMap, destinationMap, sourceElements, destinationElements, valid;
  MemRefType sourceType, destinationType;
  SmallVector<int64_t> shape;
  Builder &builder = parser.getBuilder();
  if (parser.parseOperand(source) ||
      parser.parseAffineMapOfSSAIds(sourceOperands, sourceMap, "sourceMap", result.attributes) ||
      parser.parseKeyword("elements") || parser.parseAttribute(sourceElements, "sourceElements", result.attributes) ||
      parser.parseKeyword("to") || parser.parseOperand(destination) ||
      parser.parseAffineMapOfSSAIds(destinationOperands, destinationMap, "destinationMap", result.attributes) ||
      parser.parseKeyword("elements") ||
      parser.parseAttribute(destinationElements, "destinationElements", result.attributes) ||
      parser.parseKeyword("shape") || parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(shape.emplace_back());
      }))
    return failure();
  result.addAttribute("shape", builder.getDenseI64ArrayAttr(shape));
  if (succeeded(parser.parseOptionalKeyword("valid")) &&
      parser.parseAffineMapOfSSAIds(validOperands, valid, "validMap", result.attributes, OpAsmParser::Delimiter::Paren))
    return failure();
  Type index = builder.getIndexType();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(sourceType) || parser.parseComma() ||
      parser.parseType(destinationType) || parser.resolveOperand(source, sourceType, result.operands) ||
      parser.resolveOperands(sourceOperands, index, result.operands) ||
      parser.resolveOperand(destination, destinationType, result.operands) ||
      parser.resolveOperands(destinationOperands, index, result.operands) ||
      parser.resolveOperands(validOperands, index, result.operands))
    return failure();
  result.addTypes(TokenType::get(builder.getContext()));
  auto &segments = result.getOrAddProperties<Properties>().operandSegmentSizes;
  llvm::copy(ArrayRef<int32_t>{1, int32_t(sourceOperands.size()), 1, int32_t(destinationOperands.size()),
                               int32_t(validOperands.size())},
             segments.begin());
  return success();
}

void CopyOp::print(OpAsmPrinter &printer) {
  printer << " " << getSource() << "[";
  printer.printAffineMapOfSSAIds(getSourceMapAttr(), getSourceOperands());
  printer << "] elements " << getSourceElementsAttr() << " to " << getDestination() << "[";
  printer.printAffineMapOfSSAIds(getDestinationMapAttr(), getDestinationOperands());
  printer << "] elements " << getDestinationElementsAttr() << " shape [";
  llvm::interleaveComma(getShape(), printer);
  printer << "]";
  if (getValidMapAttr()) {
    printer << " valid(";
    printer.printAffineMapOfSSAIds(getValidMapAttr(), getValidOperands());
    printer << ")";
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"sourceMap", "sourceElements", "destinationMap", "destinationElements", "shape",
                                 "validMap", "operandSegmentSizes"});
  printer << " : " << getSource().getType() << ", " << getDestination().getType();
}

//===-- multiply ----------------------------------------------------------===//

LogicalResult MultiplyOp::verify() {
  if (getShape().size() != 3 || llvm::any_of(getShape(), [](int64_t extent) { return extent < 1; }))
    return emitOpError() << "`shape` needs three positive extents: m, n, k";
  if (!getValid().empty() && getValid().size() != 3)
    return emitOpError() << "`valid` needs three extents, of m, n and k; got " << getValid().size();
  int64_t m = getShape()[0], n = getShape()[1], k = getShape()[2];
  struct Tile {
    StringRef name;
    Value memref;
    size_t indices;
    int64_t rows, cols;
  } tiles[] = {{"A", getA(), getAIndices().size(), m, k},
               {"B", getB(), getBIndices().size(), k, n},
               {"C", getC(), getCIndices().size(), m, n}};
  for (const Tile &tile : tiles) {
    auto type = cast<MemRefType>(tile.memref.getType());
    if (type.getRank() < 2 || int64_t(tile.indices) != type.getRank())
      return emitOpError() << "operand " << tile.name << " has rank " << type.getRank() << " and " << tile.indices
                           << " indices; it needs at least two and one index for each";
    ArrayRef<int64_t> extents = type.getShape().take_back(2);
    if (extents[0] < tile.rows || extents[1] < tile.cols)
      return emitOpError() << "operand " << tile.name << " has tiles of " << extents[0] << " x " << extents[1]
                           << "; the shape needs " << tile.rows << " x " << tile.cols;
  }
  return success();
}

//===-- parallel ----------------------------------------------------------===//

void ParallelOp::build(OpBuilder &builder, OperationState &state, AffineMap upperBounds, ValueRange boundOperands,
                       StringRef level, function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  state.addOperands(boundOperands);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.upperBounds = AffineMapAttr::get(upperBounds);
  properties.level = builder.getStringAttr(level);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(upperBounds.getNumResults(), builder.getIndexType());
  SmallVector<Location> locs(types.size(), state.location);
  Block *block = builder.createBlock(state.addRegion(), {}, types, locs);
  if (body)
    body(builder, state.location, block->getArguments());
  ensureTerminator(*state.regions.front(), builder, state.location);
}

LogicalResult ParallelOp::verify() {
  AffineMap bounds = getUpperBounds();
  if (bounds.getNumInputs() != getBoundOperands().size())
    return emitOpError() << "the bounds take " << bounds.getNumInputs() << " operands, got "
                         << getBoundOperands().size();
  if (bounds.getNumResults() == 0)
    return emitOpError() << "needs at least one index";
  Block &body = getBody().front();
  if (body.getNumArguments() != bounds.getNumResults() ||
      !llvm::all_of(body.getArgumentTypes(), [](Type type) { return type.isIndex(); }))
    return emitOpError() << "needs one index in the body per bound, " << bounds.getNumResults();
  if (getLevel().empty())
    return emitOpError() << "needs the name of a level of the chip";
  if (body.getTerminator()->getNumOperands() != 0)
    return emitOpError() << "the body yields nothing";
  return success();
}

ParseResult ParallelOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> indices;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  AffineMapAttr bounds;
  StringAttr level;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(indices, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("to") ||
      parser.parseAffineMapOfSSAIds(operands, bounds, "upperBounds", result.attributes,
                                    OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("level") || parser.parseAttribute(level, "level", result.attributes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperands(operands, index, result.operands))
    return failure();
  for (OpAsmParser::Argument &argument : indices)
    argument.type = index;
  if (parser.parseRegion(*result.addRegion(), indices))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(), result.location);
  return success();
}

void ParallelOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument, {}, /*omitType=*/true); });
  printer << ") to (";
  printer.printAffineMapOfSSAIds(getUpperBoundsAttr(), getBoundOperands());
  printer << ") level " << getLevelAttr();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"upperBounds", "level"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}
