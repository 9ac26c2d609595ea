//===- TileOps.cpp - Operations of the tile dialect -----------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Making fragments, matrix units and the ops with regions: builders, syntax, checks.
///
//===----------------------------------------------------------------------===//

#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

//===-- index, broadcast, convert -----------------------------------------===//

LogicalResult IndexOp::verify() {
  if (getDimension() != 0 && getDimension() != 1)
    return emitOpError() << "dimension is 0 (rows) or 1 (columns), got " << getDimension();
  if (!getType().getElementType().isIntOrIndex())
    return emitOpError() << "gives integers or indices, got " << getType().getElementType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  FragmentType result = getType();
  auto source = dyn_cast<FragmentType>(getSource().getType());
  Type element = source ? source.getElementType() : getSource().getType();
  if (element != result.getElementType())
    return emitOpError() << "source and result must have one element type, got " << element << " and "
                         << result.getElementType();
  if (source && ((source.getRows() != 1 && source.getRows() != result.getRows()) ||
                 (source.getCols() != 1 && source.getCols() != result.getCols())))
    return emitOpError() << "cannot broadcast " << source.getRows() << "x" << source.getCols() << " to "
                         << result.getRows() << "x" << result.getCols() << ": extents must agree or be 1";
  return success();
}

LogicalResult ConvertOp::verify() {
  FragmentType source = getSource().getType(), result = getType();
  if (source.getRows() != result.getRows() || source.getCols() != result.getCols() ||
      source.getElementType() != result.getElementType())
    return emitOpError() << "changes the layout only, got " << source << " and " << result;
  return success();
}

FragmentType JoinOp::typeOf(FragmentType part, int64_t count) {
  return FragmentType::get(part.getRows(), count * part.getCols(), part.getElementType(),
                           sideBySide(part.getLayout().getValue(), part.getCols(), count));
}

void JoinOp::build(OpBuilder &builder, OperationState &state, ValueRange parts) {
  build(builder, state, typeOf(cast<FragmentType>(parts.front().getType()), parts.size()), parts);
}

LogicalResult JoinOp::verify() {
  if (getParts().size() < 2)
    return emitOpError() << "needs two fragments or more, got " << getParts().size();
  auto part = cast<FragmentType>(getParts().front().getType());
  if (part.isOpaque() || getType().isOpaque())
    return emitOpError() << "takes fragments in the registers of lanes, got " << part << " and " << getType();
  if (FragmentType expected = typeOf(part, getParts().size()); getType() != expected)
    return emitOpError() << "of " << getParts().size() << " " << part << " is a " << expected << ", got " << getType();
  return success();
}

LogicalResult SplitOp::verify() {
  if (getParts().size() < 2)
    return emitOpError() << "gives two fragments or more, got " << getParts().size();
  auto part = cast<FragmentType>(getParts().front().getType());
  if (part.isOpaque() || getWhole().getType().isOpaque())
    return emitOpError() << "takes fragments in the registers of lanes, got " << getWhole().getType() << " and "
                         << part;
  if (!llvm::all_of(getParts().getTypes(), [&](Type type) { return type == part; }))
    return emitOpError() << "gives fragments of one type";
  if (FragmentType expected = JoinOp::typeOf(part, getParts().size()); getWhole().getType() != expected)
    return emitOpError() << "into " << getParts().size() << " " << part << " takes a " << expected << ", got "
                         << getWhole().getType();
  return success();
}

FragmentType TransposeOp::typeOf(FragmentType input, int64_t count) {
  const bool areRows = input.getRows() == 1;
  const int64_t rows = areRows ? count : 1, cols = areRows ? 1 : count;
  return FragmentType::get(rows, cols, input.getElementType(), rowMajorLayout(rows, cols));
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs) {
  auto input = cast<FragmentType>(inputs.front().getType());
  SmallVector<Type> outputs(input.getRows() * input.getCols(), typeOf(input, inputs.size()));
  build(builder, state, outputs, inputs);
}

LogicalResult TransposeOp::verify() {
  const int64_t count = getInputs().size();
  if (!llvm::isPowerOf2_64(count))
    return emitOpError() << "takes as many fragments as a power of two, got " << count;
  auto input = cast<FragmentType>(getInputs().front().getType());
  const int64_t each = input.getRows() * input.getCols();
  if (input.getRows() != 1 && input.getCols() != 1)
    return emitOpError() << "takes rows (1 x c) or columns (r x 1), got " << input;
  if (!llvm::isPowerOf2_64(each) || input != FragmentType::get(input.getRows(), input.getCols(), input.getElementType(),
                                                               rowMajorLayout(input.getRows(), input.getCols())))
    return emitOpError() << "takes a power of two of elements in order on one lane, got " << input;
  if (!llvm::all_of(getInputs().getTypes(), [&](Type type) { return type == input; }))
    return emitOpError() << "takes fragments of one type";
  FragmentType expected = typeOf(input, count);
  if (int64_t(getOutputs().size()) != each ||
      !llvm::all_of(getOutputs().getTypes(), [&](Type type) { return type == expected; }))
    return emitOpError() << "of " << count << " " << input << " gives " << each << " " << expected;
  return success();
}

//===-- mma ---------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  FragmentType a = getA().getType(), b = getB().getType(), c = getC().getType();
  if (Value index = getIndex()) {
    FragmentType places = cast<FragmentType>(index.getType());
    if (places.getRows() != a.getRows() || places.getCols() != a.getCols() || !places.getElementType().isInteger(8))
      return emitOpError() << "the index of a " << a.getRows() << "x" << a.getCols()
                           << " a has its shape and elements of "
                           << "i8, got " << places.getRows() << "x" << places.getCols() << " of "
                           << places.getElementType();
    if (a.getCols() >= b.getRows())
      return emitOpError() << "with an index a keeps some of each group along k, but it has " << a.getCols()
                           << " columns, and b " << b.getRows() << " rows";
    if (!getScales().empty())
      return emitOpError() << "takes scales or an index, not both";
  } else if (a.getCols() != b.getRows())
    return emitOpError() << "a is m x k and b is k x n, but a has " << a.getCols() << " columns and b " << b.getRows()
                         << " rows";
  if (a.getRows() != c.getRows() || b.getCols() != c.getCols())
    return emitOpError() << "c must be " << a.getRows() << "x" << b.getCols() << " as a and b say, got " << c.getRows()
                         << "x" << c.getCols();
  if (getUnit().empty())
    return emitOpError() << "needs the name of a unit, as \"target.record\"";
  if (getScales().empty())
    return success();
  if (getScales().size() > 2)
    return emitOpError() << "takes scales of a, of b or of both, got " << getScales().size();
  auto ofA = cast<FragmentType>(getScales().front().getType()), ofB = cast<FragmentType>(getScales().back().getType());
  if (getScales().size() == 1) { // the record says of which operand
    const bool fitsA = ofA.getRows() == a.getRows() && a.getCols() % ofA.getCols() == 0;
    const bool fitsB = ofA.getCols() == b.getCols() && b.getRows() % ofA.getRows() == 0;
    if (!fitsA && !fitsB)
      return emitOpError() << "scales of a " << a.getRows() << "x" << a.getCols() << " a are " << a.getRows()
                           << " x s, of a " << b.getRows() << "x" << b.getCols() << " b s x " << b.getCols()
                           << ", with an s that divides " << a.getCols() << "; got " << ofA.getRows() << "x"
                           << ofA.getCols();
    return success();
  }
  const int64_t blocks = ofA.getCols();
  if (ofA.getRows() != a.getRows() || ofB.getCols() != b.getCols() || ofB.getRows() != blocks ||
      a.getCols() % blocks != 0)
    return emitOpError() << "scales of a " << a.getRows() << "x" << a.getCols() << " a and a " << b.getRows() << "x"
                         << b.getCols() << " b are " << a.getRows() << " x s and s x " << b.getCols()
                         << ", with an s that divides " << a.getCols() << "; got " << ofA.getRows() << "x" << blocks
                         << " and " << ofB.getRows() << "x" << ofB.getCols();
  if (!isa<FloatType>(ofA.getElementType()) || !isa<FloatType>(ofB.getElementType()) ||
      !isa<FloatType>(c.getElementType()))
    return emitOpError() << "has scales of " << ofA.getElementType() << " and " << ofB.getElementType()
                         << " for sums of " << c.getElementType() << "; all of them are floats";
  return success();
}

//===-- map ---------------------------------------------------------------===//

/// Fills `region` with one block of scalar arguments of the types `types`, and calls `body` in it.
static void buildBody(OpBuilder &builder, Location loc, Region *region, ArrayRef<Type> types,
                      function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locs(types.size(), loc);
  Block *block = builder.createBlock(region, {}, types, locs);
  if (body)
    body(builder, loc, block->getArguments());
}

void MapOp::build(OpBuilder &builder, OperationState &state, TypeRange results, ValueRange inputs,
                  function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  state.addTypes(results);
  state.addOperands(inputs);
  SmallVector<Type> types;
  for (Value input : inputs)
    types.push_back(cast<FragmentType>(input.getType()).getElementType());
  buildBody(builder, state.location, state.addRegion(), types, body);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
        return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                       parser.parseOperand(inputs.emplace_back()));
      }))
    return failure();
  FunctionType type;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(inputs, type.getInputs(), loc, result.operands))
    return failure();
  result.addTypes(type.getResults());
  for (auto [argument, input] : llvm::zip(arguments, type.getInputs())) {
    auto fragment = dyn_cast<FragmentType>(input);
    if (!fragment)
      return parser.emitError(loc) << "inputs are fragments, got " << input;
    argument.type = fragment.getElementType();
  }
  return parser.parseRegion(*result.addRegion(), arguments);
}

void MapOp::print(OpAsmPrinter &printer) {
  printer << "(";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()), printer, [&](auto pair) {
    printer.printRegionArgument(std::get<0>(pair), {}, /*omitType=*/true);
    printer << " = " << std::get<1>(pair);
  });
  printer << ")";
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : ";
  printer.printFunctionalType(getInputs().getTypes(), getResultTypes());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Checks that the terminator of `body` is a yield of scalars of the types `expected`.
static LogicalResult verifyYield(Operation *op, Block &body, ArrayRef<Type> expected) {
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return op->emitOpError() << "region must end in tile.yield";
  if (llvm::equal(yield.getValues().getTypes(), expected))
    return success();
  InFlightDiagnostic diag = yield.emitOpError() << "must yield (";
  llvm::interleaveComma(expected, diag);
  diag << "), one scalar of the element type per result, got (";
  llvm::interleaveComma(yield.getValues().getTypes(), diag);
  return diag << ")";
}

LogicalResult MapOp::verify() {
  if (getNumOperands() + getNumResults() == 0)
    return emitOpError() << "has neither inputs nor results";
  auto first = cast<FragmentType>(getNumOperands() ? getOperand(0).getType() : getResult(0).getType());
  SmallVector<Type> elements, yielded;
  auto check = [&](Type type, SmallVectorImpl<Type> &list) {
    auto fragment = cast<FragmentType>(type);
    list.push_back(fragment.getElementType());
    return fragment.getRows() == first.getRows() && fragment.getCols() == first.getCols() &&
           fragment.getLayout() == first.getLayout();
  };
  for (Type type : getOperandTypes())
    if (!check(type, elements))
      return emitOpError() << "inputs and results have one shape and layout, got " << first << " and " << type;
  for (Type type : getResultTypes())
    if (!check(type, yielded))
      return emitOpError() << "inputs and results have one shape and layout, got " << first << " and " << type;
  Block &body = getBody().front();
  if (!llvm::equal(body.getArgumentTypes(), elements))
    return emitOpError() << "region takes one scalar of the element type per input";
  for (Operation &op : body.without_terminator())
    if (!isMemoryEffectFree(&op) ||
        (!OpTrait::hasElementwiseMappableTraits(&op) && !op.hasTrait<OpTrait::ConstantLike>()))
      return emitOpError() << "region may hold element-wise mappable ops and constants only, found '" << op.getName()
                           << "'";
  return verifyYield(*this, body, yielded);
}

//===-- reduce ------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &builder, OperationState &state, FragmentType type, Value input, int64_t dimension,
                     function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  state.addTypes(type);
  state.addOperands(input);
  state.getOrAddProperties<Properties>().dimension = builder.getI64IntegerAttr(dimension);
  Type element = cast<FragmentType>(input.getType()).getElementType();
  buildBody(builder, state.location, state.addRegion(), {element, element}, body);
}

LogicalResult ReduceOp::verify() {
  FragmentType input = getInput().getType(), result = getType();
  if (getDimension() != 0 && getDimension() != 1)
    return emitOpError() << "dimension is 0 (combine rows) or 1 (combine columns), got " << getDimension();
  int64_t rows = getDimension() == 0 ? 1 : input.getRows(), cols = getDimension() == 1 ? 1 : input.getCols();
  if (result.getRows() != rows || result.getCols() != cols)
    return emitOpError() << "dimension " << getDimension() << " of " << input.getRows() << "x" << input.getCols()
                         << " gives " << rows << "x" << cols << ", got " << result.getRows() << "x" << result.getCols();
  Type element = input.getElementType();
  if (result.getElementType() != element)
    return emitOpError() << "result must have the element type of the input, " << element;
  Block &body = getBody().front();
  if (body.getNumArguments() != 2 || body.getArgument(0).getType() != element ||
      body.getArgument(1).getType() != element)
    return emitOpError() << "region takes two scalars of the element type " << element;
  return verifyYield(*this, body, {element});
}
