//===- LowerToLLVM.cpp - Everything that is left to the LLVM dialect ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Breaks vectors of several dimensions down to what LLVM has, then converts all
/// dialects in one full conversion: values that cross blocks keep their types
/// consistent only when branches and operations are converted together.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/Settings.h"
#include "core/Transforms/Lower/LLVM/ShareAddresses.h"
#include "core/Transforms/Lower/LLVM/TrackAllocations.h"
#include "core/Transforms/Lower/Math/BfloatBits.h"
#include "core/Transforms/Lower/Math/ExpandBfloats.h"
#include "core/Transforms/Lower/Math/NarrowDoubles.h"
#include "core/Transforms/Lower/Math/SingleArithmetic.h"
#include "core/Transforms/Passes.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Target/LLVMIR/TypeToLLVM.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tilewright/MachineGraph.h"
#include "tilewright/Target.h"
#include "tilewright/TargetDescription.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/LLVMContext.h"

namespace tilewright {
#define GEN_PASS_DEF_LOWERTOLLVM
#include "core/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace {

struct LowerToLLVM : tilewright::impl::LowerToLLVMBase<LowerToLLVM> {
  using LowerToLLVMBase::LowerToLLVMBase;

  void runOnOperation() override;
};

/// Rewrites vector operations without a direct counterpart in LLVM: contractions, transpositions, transfers, masks
/// and reductions of several dimensions.
LogicalResult lowerVectors(ModuleOp module) {
  MLIRContext *context = module.getContext();
  SmallVector<Operation *> ops; // no pattern asks for another one
  module.walk([&](Operation *op) {
    if (isa<vector::VectorDialect>(op->getDialect()))
      ops.push_back(op);
  });
  if (ops.empty())
    return success();
  RewritePatternSet patterns(context);
  vector::populateVectorToVectorCanonicalizationPatterns(patterns);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  vector::populateVectorContractLoweringPatterns(patterns, vector::VectorContractLowering::OuterProduct);
  vector::populateVectorMaskOpLoweringPatterns(patterns);
  vector::populateVectorShapeCastLoweringPatterns(patterns);
  vector::populateVectorInterleaveLoweringPatterns(patterns);
  vector::populateVectorTransposeLoweringPatterns(patterns, vector::VectorTransposeLowering::Shuffle1D);
  vector::populateVectorTransferLoweringPatterns(patterns, /*maxTransferRank=*/1);
  vector::populateVectorMultiReductionLoweringPatterns(patterns, vector::VectorMultiReductionLowering::InnerReduction);
  vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
  vector::populateVectorStepLoweringPatterns(patterns);
  vector::populateVectorRankReducingFMAPattern(patterns);
  vector::populateVectorGatherLoweringPatterns(patterns);
  vector::populateVectorOuterProductLoweringPatterns(patterns);
  vector::populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/true);
  vector::populateVectorFromElementsUnrollPatterns(patterns);
  vector::populateVectorToElementsUnrollPatterns(patterns);
  // Blocks stay what they are: LLVM joins and drops them.
  return applyOpPatternsGreedily(ops, std::move(patterns),
                                 GreedyRewriteConfig()
                                     .setStrictness(GreedyRewriteStrictness::ExistingAndNewOps)
                                     .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled));
}

/// Gives accesses of vectors the alignment of their elements where they name none. The conversion would do the same,
/// and make a context of LLVM for each of them.
void nameAlignments(ModuleOp module, const LLVMTypeConverter &converter) {
  llvm::LLVMContext context;
  LLVM::TypeToLLVMIRTranslator translator(context);
  llvm::SmallDenseMap<Type, int64_t> known;
  auto name = [&](auto access) {
    Type element = converter.convertType(access.getMemRefType().getElementType());
    if (access.getAlignment() || !element)
      return;
    auto [found, isNew] = known.try_emplace(element);
    if (isNew)
      found->second = translator.getPreferredAlignment(element, converter.getDataLayout());
    access.setAlignmentAttr(IntegerAttr::get(IntegerType::get(module.getContext(), 64), found->second));
  };
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<vector::LoadOp, vector::StoreOp, vector::MaskedLoadOp, vector::MaskedStoreOp>(name);
  });
}

/// Writes accesses of arrays with constant strides, of elements that LLVM has. The conversion would find the strides of
/// the array twice for each of them, by simplifying a sum that stands for its layout.
class AccessLowering {
public:
  AccessLowering(ModuleOp module, const LLVMTypeConverter &converter)
      : module(module), converter(converter), rewriter(module.getContext()) {}

  void run() {
    module.walk([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<memref::LoadOp, memref::StoreOp>([&](auto access) { write(access, access.getMemRef(), inside); })
          .Case<vector::LoadOp, vector::StoreOp>([&](auto access) { write(access, access.getBase(), unknown); });
    });
  }

private:
  /// What the address of an access promises of its sum.
  struct Promise {
    LLVM::GEPNoWrapFlags address;
    LLVM::IntegerOverflowFlags sum;
  };
  static constexpr Promise unknown{LLVM::GEPNoWrapFlags::none, LLVM::IntegerOverflowFlags::none};
  static constexpr Promise inside{LLVM::GEPNoWrapFlags::inbounds | LLVM::GEPNoWrapFlags::nuw,
                                  LLVM::IntegerOverflowFlags::nsw | LLVM::IntegerOverflowFlags::nuw};

  template <typename OpTy> void write(OpTy op, Value memref, Promise promise) {
    constexpr bool isLoad = llvm::is_one_of<OpTy, memref::LoadOp, vector::LoadOp>::value;
    auto type = cast<MemRefType>(memref.getType());
    Type value = isLoad ? op->getResult(0).getType() : op->getOperand(0).getType();
    const auto &strides = stridesOf(type);
    if (!strides || converter.convertType(value) != value)
      return;
    rewriter.setInsertionPoint(op);
    Value pointer = addressOf(op.getLoc(), type, *strides, memref, op.getIndices(), promise);
    const unsigned alignment = op.getAlignment().value_or(0);
    if constexpr (isLoad)
      rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, value, pointer, alignment, /*isVolatile=*/false,
                                                op.getNontemporal());
    else
      rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, op->getOperand(0), pointer, alignment, /*isVolatile=*/false,
                                                 op.getNontemporal());
  }

  /// Nullopt where one is not constant, or where elements are others in LLVM.
  const std::optional<SmallVector<int64_t>> &stridesOf(MemRefType type) {
    auto [found, isNew] = known.try_emplace(type);
    std::optional<SmallVector<int64_t>> &strides = found->second;
    if (!isNew || !type.getLayout().isIdentity() || type.getMemorySpace() ||
        converter.convertType(type.getElementType()) != type.getElementType() ||
        llvm::any_of(type.getShape().drop_front(type.getRank() ? 1 : 0), ShapedType::isDynamic))
      return strides;
    strides.emplace(type.getRank(), 1);
    for (int64_t d = type.getRank() - 1; d > 0; --d)
      (*strides)[d - 1] = (*strides)[d] * type.getDimSize(d);
    return strides;
  }

  Value addressOf(Location loc, MemRefType type, ArrayRef<int64_t> strides, Value memref, ValueRange indices,
                  Promise promise) {
    Value descriptor = converted(memref);
    Value base = LLVM::ExtractValueOp::create(rewriter, loc, descriptor, ArrayRef<int64_t>{alignedPointer}), sum;
    for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
      Value term = converted(index);
      if (stride != 1) {
        Value factor = LLVM::ConstantOp::create(rewriter, loc, term.getType(), rewriter.getIndexAttr(stride));
        term = LLVM::MulOp::create(rewriter, loc, term, factor, promise.sum);
      }
      sum = sum ? LLVM::AddOp::create(rewriter, loc, sum, term, promise.sum).getResult() : term;
    }
    if (!sum)
      return base;
    return LLVM::GEPOp::create(rewriter, loc, base.getType(), type.getElementType(), base, ArrayRef<LLVM::GEPArg>{sum},
                               promise.address);
  }

  /// The value as the conversion will write it; the cast goes with those of the conversion.
  Value converted(Value value) {
    Value &made = casts[value];
    if (!made) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointAfterValue(value);
      made = UnrealizedConversionCastOp::create(rewriter, value.getLoc(), converter.convertType(value.getType()), value)
                 .getResult(0);
    }
    return made;
  }

  static constexpr int64_t alignedPointer = 1; // in a descriptor

  ModuleOp module;
  const LLVMTypeConverter &converter;
  IRRewriter rewriter;
  llvm::DenseMap<Type, std::optional<SmallVector<int64_t>>> known;
  llvm::DenseMap<Value, Value> casts;
};

/// Writes calls of functions whose types are those of LLVM. The conversion would note operands, attributes and results
/// of each; a contraction has thousands of calls of one unit.
void lowerCalls(ModuleOp module, const LLVMTypeConverter &converter) {
  auto isKept = [&](Type type) { return converter.convertType(type) == type; };
  llvm::DenseMap<Attribute, bool> known;
  for (auto function : module.getOps<func::FuncOp>())
    known[FlatSymbolRefAttr::get(function.getSymNameAttr())] = function.getNumResults() <= 1 &&
                                                               llvm::all_of(function.getArgumentTypes(), isKept) &&
                                                               llvm::all_of(function.getResultTypes(), isKept);
  IRRewriter rewriter(module.getContext());
  module.walk([&](func::CallOp call) {
    if (!known.lookup(call.getCalleeAttr()) || call.getArgAttrsAttr() || call.getResAttrsAttr() || call.getNoInline() ||
        !call->getDiscardableAttrDictionary().empty())
      return;
    rewriter.setInsertionPoint(call);
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(call, call.getResultTypes(), call.getCalleeAttr(), call.getOperands());
  });
}

/// Whether `op` is one step of a reduction carried by a loop: an operand comes from a block argument, the result only
/// goes to branches.
bool isReductionStep(Operation *op) {
  return isa<LLVM::FAddOp, LLVM::FMulOp>(op) &&
         llvm::any_of(op->getOperands(),
                      [](Value operand) {
                        auto argument = dyn_cast<BlockArgument>(operand);
                        return argument && !argument.getOwner()->isEntryBlock();
                      }) &&
         llvm::all_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
}

/// The floating-point contract as flags: multiply-add contraction everywhere, re-association on reductions.
void allowContraction(ModuleOp module) {
  module.walk([](LLVM::FastmathFlagsInterface op) {
    LLVM::FastmathFlags flags = op.getFastmathAttr().getValue() | LLVM::FastmathFlags::contract;
    if (isReductionStep(op))
      flags = flags | LLVM::FastmathFlags::reassoc;
    op->setAttr(op.getFastmathAttrName(), LLVM::FastmathFlagsAttr::get(op.getContext(), flags));
  });
}

/// Whether addresses are shared here: back ends of SIMT targets do it themselves, and have fewer registers to hold
/// them.
bool sharesAddresses(ModuleOp module) {
  auto chip = tilewright::targetOf(module);
  if (!chip)
    llvm::consumeError(chip.takeError());
  return chip && !(*chip)->graph().startsLaunches();
}

} // namespace

void LowerToLLVM::runOnOperation() {
  ModuleOp module = getOperation();
  MLIRContext *context = &getContext();
  tilewright::narrowDoubles(module);
  tilewright::widenBfloatsBySingle(module);
  if (fuseBfloatsInSingle)
    tilewright::fuseInSingle(module, [](Type type) { return type.isBF16(); });
  if (failed(tilewright::expandBfloats(module))) // what narrowing leaves
    return signalPassFailure();
  if (failed(lowerVectors(module)))
    return signalPassFailure();

  mlir::LowerToLLVMOptions options(context);
  options.allocLowering = mlir::LowerToLLVMOptions::AllocLowering::Malloc;
  LLVMTypeConverter converter(context, options);
  nameAlignments(module, converter);
  AccessLowering(module, converter).run();
  lowerCalls(module, converter);
  RewritePatternSet patterns(context);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  target.addIllegalDialect<math::MathDialect>();

  // Ops of a target's own dialects stay as they are until the code is written.
  DialectRegistry owned;
  for (const tilewright::Target *each : tilewright::TargetRegistry::get().targets())
    each->registerDialects(owned);
  llvm::StringSet<> ownedNames;
  for (StringRef name : owned.getDialectNames())
    if (name != LLVM::LLVMDialect::getDialectNamespace()) {
      ownedNames.insert(name);
      target.addLegalDialect(name);
    }

  const bool reassociate = tilewright::Settings::of(module).mayReassociate();
  for (Dialect *dialect : context->getLoadedDialects()) {
    if (isa<vector::VectorDialect>(dialect)) {
      // The dialect's own hook cannot be told the floating-point contract.
      populateVectorToLLVMConversionPatterns(converter, patterns, reassociate, /*force32BitVectorIndices=*/true);
      continue;
    }
    if (ownedNames.contains(dialect->getNamespace()))
      continue;
    if (auto *hook = dialect->getRegisteredInterface<ConvertToLLVMPatternInterface>())
      hook->populateConvertToLLVMConversionPatterns(target, converter, patterns);
  }
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  populateMathToLibmConversionPatterns(patterns, /*benefit=*/0);
  ConversionConfig config;
  config.allowPatternRollback = false; // no pattern fails after it changed something
  if (failed(applyFullConversion(module, target, std::move(patterns), config)))
    return signalPassFailure();
  if (reassociate)
    allowContraction(module);
  SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  SmallVector<UnrealizedConversionCastOp> left;
  reconcileUnrealizedCasts(casts, &left);
  if (!left.empty()) {
    left.front().emitError("cannot be lowered: a value of type ") << left.front().getResult(0).getType() << " remains";
    return signalPassFailure();
  }
  tilewright::moveBfloatsAsBits(module);
  if (sharesAddresses(module))
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      tilewright::shareAddresses(function);
  tilewright::trackAllocations(module);
  // Only the C interface is seen from outside: two programs may be linked into one.
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isPrivate() && !function.isExternal())
      function.setLinkage(LLVM::Linkage::Internal);
    if (function->hasAttr(tilewright::nestAttr))
      function.setNoInline(true); // else the kernel is one large function again
  }
}
