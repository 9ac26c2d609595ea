//===- ExpandMath.cpp - Elementary functions without calls ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces math ops on floats and on vectors of floats by the arithmetic of
// MathExpansion. Half-width types compute in f32 and round once.
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Lower/Engines/UseVectorOps.h"
#include "core/Transforms/Lower/Math/MathExpansion.h"
#include "core/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_EXPANDMATH
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

/// What a function keeps in registers at once, beside constants: its argument, what that is reduced to, the integer
/// that it lacks, and the polynomial.
static constexpr int64_t liveValues = 4;

namespace {

/// The constant that all lanes of `value` have.
std::optional<double> splatConstant(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr))) {
    if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
      return splatConstant(broadcast.getSource());
    return std::nullopt;
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (!dense.isSplat())
      return std::nullopt;
    attr = dense.getSplatValue<Attribute>();
  }
  auto number = dyn_cast<FloatAttr>(attr);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// Whether `value` is `expected` as its own type rounds it (one unit of tolerance: programs print few digits).
bool isConstant(Value value, double expected) {
  auto found = splatConstant(value);
  if (!found)
    return false;
  unsigned precision = cast<FloatType>(getElementTypeOrSelf(value.getType())).getFPMantissaWidth();
  return std::abs(*found - expected) <= std::ldexp(std::abs(expected), 1 - static_cast<int>(std::min(precision, 32u)));
}

/// x where `value` is x / sqrt 2.
Value dividedByRootTwo(Value value) {
  if (auto mul = value.getDefiningOp<arith::MulFOp>()) {
    if (isConstant(mul.getRhs(), M_SQRT1_2))
      return mul.getLhs();
    if (isConstant(mul.getLhs(), M_SQRT1_2))
      return mul.getRhs();
  }
  if (auto div = value.getDefiningOp<arith::DivFOp>())
    if (isConstant(div.getRhs(), M_SQRT2))
      return div.getLhs();
  return {};
}

/// The factors of the product `value`, through nested multiplications.
void factors(Value value, SmallVectorImpl<Value> &found, unsigned depth = 0) {
  if (auto mul = value.getDefiningOp<arith::MulFOp>(); mul && depth < 4) {
    factors(mul.getLhs(), found, depth + 1);
    factors(mul.getRhs(), found, depth + 1);
    return;
  }
  found.push_back(value);
}

/// The operation whose result is x / 2 * (1 + erf(x / sqrt 2)), where `sum` is the parenthesis; null if none is.
Operation *matchGelu(Value sum, Value x) {
  SmallVector<Value> xFactors;
  factors(x, xFactors);
  for (Value product = sum;;) {
    if (!product.hasOneUse())
      return nullptr;
    auto mul = dyn_cast<arith::MulFOp>(*product.user_begin());
    if (!mul)
      return nullptr;
    SmallVector<Value> found;
    factors(mul.getResult(), found);
    auto remove = [&](Value value) {
      auto position = llvm::find(found, value);
      if (position == found.end())
        return false;
      found.erase(position);
      return true;
    };
    if (remove(sum) && llvm::all_of(xFactors, remove) && found.size() == 1 && isConstant(found[0], 0.5))
      return mul;
    product = mul.getResult();
  }
}

/// Powers with an exponent that needs no logarithm.
Value power(MathExpansion &e, OpBuilder &b, Location loc, Value x, double exponent) {
  bool reciprocal = exponent < 0;
  double magnitude = std::abs(exponent);
  if (magnitude != std::floor(magnitude) || magnitude > 16)
    return {};
  Value result = e.constant(1), square = x;
  for (auto n = static_cast<unsigned>(magnitude); n != 0; n >>= 1) {
    if (n & 1)
      result = matchPattern(result, m_Constant()) ? square : e.mul(result, square);
    if (n > 1)
      square = e.mul(square, square);
  }
  return reciprocal ? e.div(e.constant(1), result) : result;
}

template <typename Exponential> bool mayBeShort(Exponential op, const MathExpansion &e) {
  return e.hasShortExp() && bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
}

/// e^x by the chip's instruction for 2^x.
Value shortExp(MathExpansion &e, Value x) {
  auto difference = x.getDefiningOp<arith::SubFOp>();
  auto base = difference ? difference.getRhs().getDefiningOp<vector::ShuffleOp>() : vector::ShuffleOp();
  const bool repeats = base && base.getV1() == base.getV2() &&
                       4 * base.getV1VectorType().getNumElements() <= base.getResultVectorType().getNumElements();
  return repeats ? e.shortExp(difference.getLhs(), base) : e.shortExp(x);
}

/// The arithmetic of `op` on `v`; null where it is an instruction already.
Value expand(Operation *op, MathExpansion &e, ValueRange v, OpBuilder &b) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp exp) { return mayBeShort(exp, e) ? shortExp(e, v[0]) : e.exp(v[0]); })
      .Case([&](math::Exp2Op exp) { return mayBeShort(exp, e) ? e.shortExp2(v[0]) : e.exp2(v[0]); })
      .Case([&](math::ExpM1Op) { return e.expm1(v[0]); })
      .Case([&](math::LogOp) { return e.log(v[0]); })
      .Case([&](math::Log2Op) { return e.log(v[0], 2); })
      .Case([&](math::Log10Op) { return e.log(v[0], 10); })
      .Case([&](math::Log1pOp) { return e.log1p(v[0]); })
      .Case([&](math::TanhOp) { return e.tanh(v[0]); })
      .Case([&](math::SinhOp) { return e.sinh(v[0]); })
      .Case([&](math::CoshOp) { return e.cosh(v[0]); })
      .Case([&](math::ErfOp) { return e.erf(v[0]); })
      .Case([&](math::ErfcOp) { return e.erfc(v[0]); })
      .Case([&](math::RsqrtOp) { return e.rsqrt(v[0]); })
      .Case([&](math::SinOp) { return e.sin(v[0]); })
      .Case([&](math::CosOp) { return e.cos(v[0]); })
      .Case([&](math::TanOp) { return e.tan(v[0]); })
      .Case([&](math::AsinOp) { return e.asin(v[0]); })
      .Case([&](math::AcosOp) { return e.acos(v[0]); })
      .Case([&](math::AtanOp) { return e.atan(v[0]); })
      .Case([&](math::Atan2Op) { return e.atan2(v[0], v[1]); })
      .Case([&](math::AsinhOp) { return e.asinh(v[0]); })
      .Case([&](math::AcoshOp) { return e.acosh(v[0]); })
      .Case([&](math::AtanhOp) { return e.atanh(v[0]); })
      .Case([&](math::CbrtOp) { return e.cbrt(v[0]); })
      .Case([&](math::PowFOp pow) -> Value {
        auto exponent = splatConstant(pow.getRhs());
        Value few = exponent ? power(e, b, op->getLoc(), v[0], *exponent) : Value();
        return few ? few : e.pow(v[0], v[1]);
      })
      .Default([](Operation *) { return Value(); });
}

/// Whether `op` becomes arithmetic; rounding and sign operations are instructions already.
bool isExpanded(Operation *op) {
  if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1 ||
      isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::RoundEvenOp, math::RoundOp, math::TruncOp, math::SqrtOp,
          math::FmaOp, math::CopySignOp>(op))
    return false;
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0).getType()));
  return element && (element.getWidth() < 32 || element.isF32() || element.isF64()) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) { return getElementTypeOrSelf(type) == element; });
}

struct ExpandMath : tilewright::impl::ExpandMathBase<ExpandMath> {
  MathInstructions has;
  bool comparesOnce = false; // the core has vectors, and zeros need no order
  int64_t abreast = 1;       // functions of vectors whose values registers hold together

  /// Runs `build` on the type in which the function is computed; converts there and back.
  Value compute(OpBuilder &b, Location loc, Type type, ValueRange operands,
                llvm::function_ref<Value(MathExpansion &, ValueRange)> build) {
    Type element = getElementTypeOrSelf(type), wide = type;
    bool narrow = cast<FloatType>(element).getWidth() < 32;
    if (narrow)
      wide = isa<ShapedType>(type) ? Type(cast<ShapedType>(type).clone(b.getF32Type())) : Type(b.getF32Type());
    SmallVector<Value> values(operands);
    if (narrow)
      for (Value &value : values)
        value = arith::ExtFOp::create(b, loc, wide, value);
    MathExpansion expansion(b, loc, wide, has);
    Value result = build(expansion, values);
    return narrow && result ? arith::TruncFOp::create(b, loc, type, result) : result;
  }

  /// 1 + erf(y) is erfc(-y) and loses all digits for large negative y; with y = x / sqrt 2 even the rounding of y
  /// counts, so that the normal distribution and the GELU around it are taken as a whole.
  void expandOnePlusErf(math::ErfOp erf, SmallVectorImpl<Operation *> &replaced) {
    for (Operation *user : llvm::make_early_inc_range(erf->getUsers())) {
      auto sum = dyn_cast<arith::AddFOp>(user);
      if (!sum || !(isConstant(sum.getLhs(), 1.0) || isConstant(sum.getRhs(), 1.0)))
        continue;
      Value y = erf.getOperand(), x = dividedByRootTwo(y);
      Type type = sum.getType();
      if (Operation *gelu = x ? matchGelu(sum.getResult(), x) : nullptr) {
        OpBuilder b(gelu);
        gelu->getResult(0).replaceAllUsesWith(
            compute(b, gelu->getLoc(), type, x, [](MathExpansion &e, ValueRange v) { return e.gelu(v[0]); }));
        replaced.push_back(gelu);
        continue;
      }
      OpBuilder b(sum);
      sum.getResult().replaceAllUsesWith(compute(b, sum.getLoc(), type, x ? x : y, [&](MathExpansion &e, ValueRange v) {
        return x ? e.normalCdf2(v[0]) : e.erfc(e.mul(v[0], e.constant(-1)));
      }));
      replaced.push_back(sum);
    }
  }

  /// Erases `op` and the definitions that only it used.
  static void eraseDead(Operation *op) {
    if (!isOpTriviallyDead(op))
      return;
    SmallVector<Operation *> definitions;
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp(); definition && !llvm::is_contained(definitions, definition))
        definitions.push_back(definition);
    op->erase();
    for (Operation *definition : definitions)
      eraseDead(definition);
  }

  using Chain = SmallVector<Operation *>;

  /// Replaces `op` by what it returns.
  Chain expandOne(Operation *op) {
    OpBuilder b(op);
    Operation *before = op->getPrevNode();
    Value result = compute(b, op->getLoc(), op->getResult(0).getType(), op->getOperands(),
                           [&](MathExpansion &e, ValueRange v) { return expand(op, e, v, b); });
    Chain chain;
    if (!result)
      return chain;
    for (Operation *each = before ? before->getNextNode() : &op->getBlock()->front(); each != op;
         each = each->getNextNode())
      chain.push_back(each);
    op->getResult(0).replaceAllUsesWith(result);
    eraseDead(op);
    return chain;
  }

  /// Whether `next` follows `op`, computes the same of another vector, and does not wait for it.
  static bool isBeside(Operation *op, Operation *next) {
    return op->getNextNode() == next && op->getName() == next->getName() &&
           isa<VectorType>(op->getResult(0).getType()) && op->getResultTypes() == next->getResultTypes() &&
           !llvm::is_contained(next->getOperands(), op->getResult(0));
  }

  /// Orders chains of equal length, one behind the other, operation by operation: the window in which a core looks for
  /// what is ready holds more of each.
  static void interleave(ArrayRef<Chain> chains) {
    const size_t length = chains.front().size();
    if (chains.size() < 2 || length == 0 || !llvm::all_of(chains, [&](const Chain &c) { return c.size() == length; }))
      return;
    Operation *end = chains.back().back()->getNextNode();
    for (size_t at = 0; at < length; ++at)
      for (const Chain &chain : chains)
        chain[at]->moveBefore(end);
  }

  void runOnOperation() override {
    if (auto target = targetOf(getOperation())) {
      const bool isReproducible = Settings::of(getOperation()).isReproducible(); // the same form on all chips
      has.scale = (*target)->number(Number::LdexpF32).has_value();
      has.exp2 = !isReproducible && (*target)->number(Number::NativeExp2F32).has_value();
      has.maximum = (*target)->number(Number::NativeMaxF32).has_value();
      const int64_t registers = (*target)->caches().empty() ? 0 : (*target)->vectorRegisters().first;
      comparesOnce = !isReproducible && registers > 0;
      abreast = std::max<int64_t>(registers / liveValues, 1);
      for (const LaneInstruction &instruction : (*target)->laneInstructions())
        if (instruction.does == "exp2" && !isReproducible)
          has.shortExp2 = instruction;
      // What a vector unit does in one instruction is taken before its parts are expanded.
      if (auto module = dyn_cast<ModuleOp>(getOperation()))
        useVectorOps(module, **target);
    } else {
      llvm::consumeError(target.takeError()); // the generic form is right everywhere
    }
    SmallVector<math::ErfOp> erfs;
    getOperation()->walk([&](math::ErfOp erf) { erfs.push_back(erf); });
    for (math::ErfOp erf : erfs) {
      SmallVector<Operation *> replaced;
      expandOnePlusErf(erf, replaced);
      for (Operation *op : replaced)
        eraseDead(op);
    }

    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isExpanded(op))
        ops.push_back(op);
    });
    SmallVector<Chain> chains; // of the last operations, side by side
    for (auto [at, op] : llvm::enumerate(ops)) {
      const bool goesOn = at + 1 < ops.size() && isBeside(op, ops[at + 1]);
      chains.push_back(expandOne(op));
      if (goesOn && int64_t(chains.size()) < abreast)
        continue;
      interleave(chains);
      chains.clear();
    }
    getOperation()->walk([](math::CopySignOp op) { takeElement(op); });
    if (has.maximum)
      getOperation()->walk([](Operation *op) { keepWhole(op); });
    else if (comparesOnce)
      getOperation()->walk([](Operation *op) { compareOnce(op); });
  }

  /// A maximum or minimum that keeps a NaN, without an order of the zeros: LLVM writes the instruction that drops a
  /// NaN, and one comparison and selection for it, where comparisons alone are two beside the selection.
  static void compareOnce(Operation *op) {
    if (!isa<arith::MaximumFOp, arith::MinimumFOp>(op))
      return;
    auto type = dyn_cast<VectorType>(op->getResult(0).getType());
    if (!type || type.getRank() != 1 || !isa<Float32Type, Float64Type>(type.getElementType()))
      return;
    OpBuilder b(op);
    const bool isMaximum = isa<arith::MaximumFOp>(op);
    auto take = [&](auto created) { op->replaceAllUsesWith(created); };
    Value x = op->getOperand(0), y = op->getOperand(1);
    if (isMaximum)
      take(LLVM::MaximumOp::create(b, op->getLoc(), type, x, y, LLVM::FastmathFlags::nsz));
    else
      take(LLVM::MinimumOp::create(b, op->getLoc(), type, x, y, LLVM::FastmathFlags::nsz));
    op->erase();
  }

  /// A maximum or minimum that the chip has an instruction for does not become comparisons; one that keeps a NaN has a
  /// twin that drops it.
  static void keepWhole(Operation *op) {
    StringRef name = llvm::TypeSwitch<Operation *, StringRef>(op)
                         .Case([](arith::MaximumFOp) { return "llvm.maximum"; })
                         .Case([](arith::MinimumFOp) { return "llvm.minimum"; })
                         .Case([](arith::MaxNumFOp) { return "llvm.maxnum"; })
                         .Case([](arith::MinNumFOp) { return "llvm.minnum"; })
                         .Default(StringRef());
    if (name.empty() || !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
      return;
    OpBuilder b(op);
    op->replaceAllUsesWith(LLVM::CallIntrinsicOp::create(b, op->getLoc(), op->getResult(0).getType(),
                                                         b.getStringAttr(name), op->getOperands()));
    op->erase();
  }

  /// LLVM 22.1 crashes where it takes this op of vectors of one element apart.
  static void takeElement(math::CopySignOp op) {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.isScalable() || type.getNumElements() != 1)
      return;
    OpBuilder b(op);
    SmallVector<int64_t> first(type.getRank(), 0);
    auto element = [&](Value vector) -> Value { return vector::ExtractOp::create(b, op.getLoc(), vector, first); };
    Value sign = element(op.getRhs());
    Value result = math::CopySignOp::create(b, op.getLoc(), element(op.getLhs()), sign, op.getFastmathAttr());
    op.replaceAllUsesWith(vector::BroadcastOp::create(b, op.getLoc(), type, result).getResult());
    op.erase();
  }
};

} // namespace

ArithmeticWork tilewright::arithmeticOf(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<arith::BitcastOp>(op))
    return {};
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return {0, 1};
  if (!isExpanded(op))
    return {1, 0};
  // The function of a half-width number is computed in f32, after and before a conversion.
  const bool isNarrow = op->getResult(0).getType().getIntOrFloatBitWidth() < 32;
  OpBuilder b(op->getContext());
  const Type wide = isNarrow ? Type(b.getF32Type()) : op->getResult(0).getType();
  Block scratch;
  b.setInsertionPointToStart(&scratch);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    auto exponent = splatConstant(operand);
    operands.push_back(exponent
                           ? arith::ConstantOp::create(b, op->getLoc(), FloatAttr::get(wide, *exponent)).getResult()
                           : scratch.addArgument(wide, op->getLoc()));
  }
  MathExpansion expansion(b, op->getLoc(), wide, {});
  ArithmeticWork work{isNarrow ? 2.0 : 0.0, 0};
  if (!expand(op, expansion, operands, b))
    return {1, 0};
  // What stands in regions is for rare arguments.
  for (Operation &each : scratch)
    if (!each.getNumRegions()) {
      const ArithmeticWork own = arithmeticOf(&each);
      work.instructions += own.instructions;
      work.divisions += own.divisions;
    }
  scratch.dropAllReferences();
  return work;
}
