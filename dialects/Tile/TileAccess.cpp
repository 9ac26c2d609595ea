//===- TileAccess.cpp - tile.load and tile.store --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builders, syntax and checks of the accesses of fragments to memory.
///
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/OpImplementation.h"
#include <map>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile;

//===-- Shared by both ----------------------------------------------------===//

static SmallVector<int64_t> evaluate(AffineMap elements, Position position) {
  SmallVector<int64_t> offsets;
  Builder builder(elements.getContext());
  AffineExpr coordinates[] = {builder.getAffineConstantExpr(position.row), builder.getAffineConstantExpr(position.col)};
  for (AffineExpr result : elements.getResults())
    offsets.push_back(cast<AffineConstantExpr>(result.replaceDims(coordinates)).getValue());
  return offsets;
}

static std::pair<std::optional<int64_t>, std::optional<int64_t>> evaluateValid(FragmentType type,
                                                                               std::optional<AffineMap> validMap) {
  if (!validMap)
    return {type.getRows(), type.getCols()};
  auto constant = [](AffineExpr expr) -> std::optional<int64_t> {
    if (auto value = dyn_cast<AffineConstantExpr>(expr))
      return value.getValue();
    return std::nullopt;
  };
  return {constant(validMap->getResult(0)), constant(validMap->getResult(1))};
}

static LogicalResult verifyAccess(Operation *op, MemRefType memref, FragmentType fragment, AffineMap map,
                                  unsigned mapOperands, AffineMap elements, std::optional<AffineMap> validMap,
                                  unsigned validOperands) {
  int64_t rank = memref.getRank();
  if (fragment.getElementType() != memref.getElementType())
    return op->emitOpError() << "fragment and memref must have one element type, got " << fragment.getElementType()
                             << " and " << memref.getElementType();
  if (map.getNumResults() != rank)
    return op->emitOpError() << "the access has " << map.getNumResults() << " subscripts, the memref has rank " << rank;
  if (map.getNumInputs() != mapOperands)
    return op->emitOpError() << "the access map takes " << map.getNumInputs() << " operands, got " << mapOperands;
  if (elements.getNumDims() != 2 || elements.getNumSymbols() != 0 || elements.getNumResults() != rank)
    return op->emitOpError() << "`elements` must map (r, c) to one offset per dimension of the memref (" << rank
                             << "), got " << AffineMapAttr::get(elements);
  if (validMap && (validMap->getNumResults() != 2 || validMap->getNumInputs() != validOperands))
    return op->emitOpError() << "`valid` takes two extents (rows, cols)";
  if (!validMap && validOperands)
    return op->emitOpError() << "has operands of `valid` but no map for them";
  for (int64_t r : {int64_t(0), fragment.getRows() - 1})
    for (int64_t c : {int64_t(0), fragment.getCols() - 1})
      for (int64_t offset : evaluate(elements, {r, c}))
        if (offset < 0)
          return op->emitOpError() << "`elements` sends (" << r << ", " << c << ") to a negative offset";
  return success();
}

/// `[subscripts] elements map (valid(rows, cols))? (nontemporal)?`
static ParseResult parseAccess(OpAsmParser &parser, OperationState &result,
                               SmallVectorImpl<OpAsmParser::UnresolvedOperand> &mapOperands,
                               SmallVectorImpl<OpAsmParser::UnresolvedOperand> &validOperands) {
  AffineMapAttr map, elements, valid;
  if (parser.parseAffineMapOfSSAIds(mapOperands, map, "map", result.attributes) || parser.parseKeyword("elements") ||
      parser.parseAttribute(elements, "elements", result.attributes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("valid")))
    return parser.parseAffineMapOfSSAIds(validOperands, valid, "validMap", result.attributes,
                                         OpAsmParser::Delimiter::Paren);
  return success();
}

template <typename OpTy> static void printAccess(OpTy op, OpAsmPrinter &printer) {
  printer << op.getMemref() << "[";
  printer.printAffineMapOfSSAIds(op.getMapAttr(), op.getMapOperands());
  printer << "] elements " << op.getElementsAttr();
  if (op.getValidMapAttr()) {
    printer << " valid(";
    printer.printAffineMapOfSSAIds(op.getValidMapAttr(), op.getValidOperands());
    printer << ")";
  }
}

static constexpr StringRef hiddenAttributes[] = {"map", "elements", "validMap", "nontemporal", "operandSegmentSizes"};

//===-- load --------------------------------------------------------------===//

void LoadOp::build(OpBuilder &builder, OperationState &state, FragmentType type, Value memref, AffineMap map,
                   ValueRange mapOperands, AffineMap elements, AffineMap validMap, ValueRange validOperands) {
  build(builder, state, type, memref, mapOperands, AffineMapAttr::get(map), AffineMapAttr::get(elements),
        validMap ? AffineMapAttr::get(validMap) : AffineMapAttr(), validOperands);
}

SmallVector<int64_t> LoadOp::offsetsOf(Position position) { return evaluate(getElements(), position); }

std::pair<std::optional<int64_t>, std::optional<int64_t>> LoadOp::constantValid() {
  return evaluateValid(getType(), getValidMap());
}

LogicalResult LoadOp::verify() {
  int64_t last = -1;
  for (int64_t d : getBounded()) {
    if (d <= last || d >= getMemRefType().getRank())
      return emitOpError() << "`bounded` names dimensions of the memref, of which there are "
                           << getMemRefType().getRank() << ", each at most once and in order; got " << getBoundedAttr();
    last = d;
  }
  return verifyAccess(*this, getMemRefType(), getType(), getMap(), getMapOperands().size(), getElements(),
                      getValidMap(), getValidOperands().size());
}

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand memref;
  SmallVector<OpAsmParser::UnresolvedOperand> mapOperands, validOperands;
  MemRefType memrefType;
  FragmentType type;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseOperand(memref) || parseAccess(parser, result, mapOperands, validOperands) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(memrefType) || parser.parseArrow() ||
      parser.parseType(type) || parser.resolveOperand(memref, memrefType, result.operands) ||
      parser.resolveOperands(mapOperands, index, result.operands) ||
      parser.resolveOperands(validOperands, index, result.operands))
    return failure();
  result.addTypes(type);
  auto &segments = result.getOrAddProperties<Properties>().operandSegmentSizes;
  llvm::copy(ArrayRef<int32_t>{1, int32_t(mapOperands.size()), int32_t(validOperands.size())}, segments.begin());
  return success();
}

void LoadOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printAccess(*this, printer);
  printer.printOptionalAttrDict((*this)->getAttrs(), hiddenAttributes);
  printer << " : " << getMemref().getType() << " -> " << getType();
}

//===-- store -------------------------------------------------------------===//

void StoreOp::build(OpBuilder &builder, OperationState &state, Value value, Value memref, AffineMap map,
                    ValueRange mapOperands, AffineMap elements, AffineMap validMap, ValueRange validOperands,
                    bool nontemporal) {
  build(builder, state, value, memref, mapOperands, AffineMapAttr::get(map), AffineMapAttr::get(elements),
        validMap ? AffineMapAttr::get(validMap) : AffineMapAttr(), validOperands,
        nontemporal ? builder.getUnitAttr() : UnitAttr());
}

SmallVector<int64_t> StoreOp::offsetsOf(Position position) { return evaluate(getElements(), position); }

std::pair<std::optional<int64_t>, std::optional<int64_t>> StoreOp::constantValid() {
  return evaluateValid(getValue().getType(), getValidMap());
}

LogicalResult StoreOp::verify() {
  FragmentType fragment = getValue().getType();
  if (failed(verifyAccess(*this, getMemRefType(), fragment, getMap(), getMapOperands().size(), getElements(),
                          getValidMap(), getValidOperands().size())))
    return failure();
  std::map<std::vector<int64_t>, Position> seen;
  for (int64_t r = 0; r < fragment.getRows(); ++r)
    for (int64_t c = 0; c < fragment.getCols(); ++c) {
      SmallVector<int64_t> offsets = offsetsOf({r, c});
      auto [entry, isNew] = seen.try_emplace(std::vector<int64_t>(offsets.begin(), offsets.end()), Position{r, c});
      if (!isNew)
        return emitOpError() << "`elements` sends (" << entry->second.row << ", " << entry->second.col << ") and (" << r
                             << ", " << c << ") to the same address";
    }
  return success();
}

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand value, memref;
  SmallVector<OpAsmParser::UnresolvedOperand> mapOperands, validOperands;
  MemRefType memrefType;
  FragmentType type;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseOperand(value) || parser.parseComma() || parser.parseOperand(memref) ||
      parseAccess(parser, result, mapOperands, validOperands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("nontemporal")))
    result.addAttribute("nontemporal", parser.getBuilder().getUnitAttr());
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) || parser.parseComma() ||
      parser.parseType(memrefType) || parser.resolveOperand(value, type, result.operands) ||
      parser.resolveOperand(memref, memrefType, result.operands) ||
      parser.resolveOperands(mapOperands, index, result.operands) ||
      parser.resolveOperands(validOperands, index, result.operands))
    return failure();
  auto &segments = result.getOrAddProperties<Properties>().operandSegmentSizes;
  llvm::copy(ArrayRef<int32_t>{1, 1, int32_t(mapOperands.size()), int32_t(validOperands.size())}, segments.begin());
  return success();
}

void StoreOp::print(OpAsmPrinter &printer) {
  printer << " " << getValue() << ", ";
  printAccess(*this, printer);
  if (getNontemporal())
    printer << " nontemporal";
  printer.printOptionalAttrDict((*this)->getAttrs(), hiddenAttributes);
  printer << " : " << getValue().getType() << ", " << getMemref().getType();
}
