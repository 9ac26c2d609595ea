//===- NarrowFloats.cpp - Floats of 4 and 6 bits --------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Replaces the types in place; conversions and boundaries get what is missing.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Import/NarrowFloats.h"
#include "core/Analysis/ElementType.h"
#include "core/Transforms/Import/Decompositions.h"
#include "core/Transforms/Utils/SymbolUsers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tilewright;

namespace {

/// The narrow float among the elements of `type`, or null.
Type narrowIn(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isSubByteFloat(element) ? element : Type();
}

Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

/// What converts between the three forms of a number, of one or of a vector; of `narrow` elements.
class Codes {
public:
  Codes(OpBuilder &b, Location loc, Type narrow) : b(b), loc(loc), narrow(narrow) {}

  /// `value`, a wider float, rounded.
  Value round(Value value) {
    if (getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() <= 8)
      value = arith::ExtFOp::create(b, loc, like(value, b.getF32Type()), value);
    return arith::TruncFOp::create(b, loc, like(value, narrow), value);
  }
  /// A number of the narrow type as f8E4M3FN.
  Value hold(Value value) {
    Value single = arith::ExtFOp::create(b, loc, like(value, b.getF32Type()), value);
    return arith::TruncFOp::create(b, loc, like(value, b.getType<Float8E4M3FNType>()), single);
  }
  /// The same of the low bits of a byte, and back.
  Value fromByte(Value byte) {
    Value bits = arith::TruncIOp::create(b, loc, like(byte, bitsType()), byte);
    return hold(arith::BitcastOp::create(b, loc, like(byte, narrow), bits));
  }
  Value toByte(Value held) {
    Value bits = arith::BitcastOp::create(b, loc, like(held, bitsType()), round(held));
    return arith::ExtUIOp::create(b, loc, like(held, b.getI8Type()), bits);
  }

private:
  Type bitsType() { return b.getIntegerType(narrow.getIntOrFloatBitWidth()); }
  static Type like(Value value, Type element) { return withElement(value.getType(), element); }

  OpBuilder &b;
  Location loc;
  Type narrow;
};

/// A conversion from or to narrow floats, with the types that it had.
struct Conversion {
  Operation *op;
  Type from, to; // null: another type
};

/// What comes or goes over the boundary of a function.
struct Boundary {
  func::FuncOp function;
  SmallVector<Type> arguments, results; // null: another type
};

/// Whether `op` may have narrow floats as results: it moves, selects or converts numbers.
bool isMove(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return isa<linalg::GenericOp, linalg::MapOp, linalg::FillOp, linalg::CopyOp, linalg::TransposeOp,
               linalg::BroadcastOp>(op);
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "arith" || dialect == "math")
    return isa<arith::TruncFOp, arith::BitcastOp, arith::ConstantOp, arith::SelectOp>(op);
  if (dialect == "tosa")
    return isa<tosa::ConstOp, tosa::ReshapeOp, tosa::TransposeOp, tosa::SliceOp, tosa::ConcatOp, tosa::PadOp,
               tosa::TileOp, tosa::GatherOp, tosa::ReverseOp, tosa::IdentityOp>(op);
  return !isa<tensor::BitcastOp>(op);
}

/// f8E4M3FN in place of the narrow types in all types and constants below `module`.
void replaceTypes(ModuleOp module) {
  Type held = Float8E4M3FNType::get(module.getContext());
  auto converted = [](APFloat number) {
    bool inexact;
    number.convert(APFloat::Float8E4M3FN(), APFloat::rmNearestTiesToEven, &inexact);
    return number;
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement([=](FloatType type) { return isSubByteFloat(type) ? held : Type(type); });
  replacer.addReplacement([=](FloatAttr number) -> Attribute {
    return isSubByteFloat(number.getType()) ? FloatAttr::get(held, converted(number.getValue())) : number;
  });
  replacer.addReplacement([=](DenseFPElementsAttr numbers) -> std::optional<std::pair<Attribute, WalkResult>> {
    if (!isSubByteFloat(numbers.getElementType()))
      return std::nullopt;
    Attribute all = numbers.mapValues(held, [&](const APFloat &each) { return converted(each).bitcastToAPInt(); });
    return std::pair(all, WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
}

/// Mends a conversion whose types were replaced.
void mend(const Conversion &conversion) {
  Operation *op = conversion.op;
  OpBuilder b(op);
  Value in = op->getOperand(0), result = op->getResult(0);
  if (isa<arith::TruncFOp>(op)) {
    Codes codes(b, op->getLoc(), conversion.to);
    result.replaceAllUsesWith(codes.hold(codes.round(in)));
  } else if (isa<arith::ExtFOp>(op)) {
    if (in.getType() != result.getType())
      return;
    result.replaceAllUsesWith(in); // to f8E4M3FN, or to one of 6 bits
  } else {
    Value bits = conversion.from ? Codes(b, op->getLoc(), conversion.from).round(in) : in;
    Type type = withElement(result.getType(), conversion.to ? conversion.to : getElementTypeOrSelf(result.getType()));
    Value cast = arith::BitcastOp::create(b, op->getLoc(), type, bits);
    result.replaceAllUsesWith(conversion.to ? Codes(b, op->getLoc(), conversion.to).hold(cast) : cast);
  }
  op->erase();
}

/// `value`, an array or a number, in bytes (or from bytes).
Value inBytes(OpBuilder &b, Value value, Type narrow, bool fromBytes) {
  Location loc = value.getLoc();
  auto convert = [&](OpBuilder &nested, Location at, Value each) {
    Codes codes(nested, at, narrow);
    return fromBytes ? codes.fromByte(each) : codes.toByte(each);
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return convert(b, loc, value);
  Type element = fromBytes ? Type(b.getType<Float8E4M3FNType>()) : b.getI8Type();
  Value init = tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, value), element);
  return buildMap(b, loc, value, b.getMultiDimIdentityMap(type.getRank()), init,
                  [&](OpBuilder &nested, Location at, ValueRange args) {
                    linalg::YieldOp::create(nested, at, convert(nested, at, args[0]));
                  })
      .getResult(0);
}

/// `value`, from outside, is bytes; its users get numbers.
void readBytes(OpBuilder &b, Value value, Type narrow) {
  value.setType(withElement(value.getType(), b.getI8Type()));
  SmallVector<OpOperand *> uses = llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  Value numbers = inBytes(b, value, narrow, /*fromBytes=*/true);
  for (OpOperand *use : uses)
    use->set(numbers);
}

/// Bytes at the boundary of a public function, and in the calls of it.
void passBytes(const Boundary &boundary, const SymbolUsers &users) {
  func::FuncOp function = boundary.function;
  OpBuilder b = OpBuilder::atBlockBegin(&function.front());
  auto give = [&](Operation *op, ArrayRef<Type> narrow) {
    b.setInsertionPoint(op);
    for (auto [operand, type] : llvm::zip_equal(op->getOpOperands(), narrow))
      if (type)
        operand.set(inBytes(b, operand.get(), type, /*fromBytes=*/false));
  };
  for (auto [argument, type] : llvm::zip_equal(function.getArguments(), boundary.arguments))
    if (type)
      readBytes(b, argument, type);
  SmallVector<Type> results(function.getResultTypes());
  for (auto [result, type] : llvm::zip_equal(results, boundary.results))
    if (type)
      result = withElement(result, b.getI8Type());
  function.walk([&](func::ReturnOp end) { give(end, boundary.results); });
  function.setType(b.getFunctionType(function.front().getArgumentTypes(), results));
  for (Operation *user : users.getUsers(function))
    if (auto call = dyn_cast<func::CallOp>(user)) {
      give(call, boundary.arguments);
      b.setInsertionPointAfter(call);
      for (auto [result, type] : llvm::zip_equal(call.getResults(), boundary.results))
        if (type)
          readBytes(b, result, type);
    }
}

} // namespace

LogicalResult tilewright::holdNarrowFloats(ModuleOp module) {
  SmallVector<Conversion> conversions;
  SmallVector<Boundary> boundaries;
  bool isAny = false;
  auto result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      Boundary boundary{function, llvm::map_to_vector(function.getArgumentTypes(), narrowIn),
                        llvm::map_to_vector(function.getResultTypes(), narrowIn)};
      const bool isOdd = llvm::any_of(boundary.arguments, [](Type type) { return bool(type); }) ||
                         llvm::any_of(boundary.results, [](Type type) { return bool(type); });
      isAny |= isOdd;
      if (function.isPrivate() || function.isExternal() || !isOdd)
        return WalkResult::advance();
      for (BlockArgument argument : function.getArguments())
        if (isa<BaseMemRefType>(argument.getType()) && narrowIn(argument.getType())) {
          emitError(argument.getLoc()) << "unsupported type: argument " << argument.getArgNumber() << " of '"
                                       << function.getName() << "' of type " << argument.getType()
                                       << ", which callers cannot write in C; use a tensor, whose elements are passed "
                                          "as bytes";
          return WalkResult::interrupt();
        }
      boundaries.push_back(std::move(boundary));
      return WalkResult::advance();
    }
    for (Region &region : op->getRegions())
      for (Block &block : region)
        isAny |= llvm::any_of(block.getArgumentTypes(), [](Type type) { return bool(narrowIn(type)); });
    for (Type type : op->getResultTypes()) {
      if (!narrowIn(type))
        continue;
      isAny = true;
      if (!isMove(op)) {
        op->emitError("unsupported operation: '")
            << op->getName() << "' with a result of type " << type
            << "; floats of 4 and 6 bits are moved and converted: compute in f32, and round by arith.truncf";
        return WalkResult::interrupt();
      }
    }
    if (isa<arith::ExtFOp, arith::TruncFOp, arith::BitcastOp>(op))
      if (Type from = narrowIn(op->getOperand(0).getType()), to = narrowIn(op->getResult(0).getType()); from || to)
        conversions.push_back({op, from, to});
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!isAny && conversions.empty())
    return success();
  replaceTypes(module);
  for (const Conversion &conversion : conversions)
    mend(conversion);
  const SymbolUsers users(module);
  for (const Boundary &boundary : boundaries)
    passBytes(boundary, users);
  return success();
}
