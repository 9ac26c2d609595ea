//===- MaskedAccesses.cpp - Accesses of a part of a vector ----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Pipelines/MaskedAccesses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <numeric>

namespace {

/// A masked load, or a masked store of `value`.
class MaskedAccess {
public:
  explicit MaskedAccess(llvm::IntrinsicInst &call)
      : call(call), isLoad(call.getIntrinsicID() == llvm::Intrinsic::masked_load),
        type(llvm::dyn_cast<llvm::FixedVectorType>(isLoad ? call.getType() : call.getArgOperand(0)->getType())) {}

  void write(const llvm::TargetTransformInfo &target);

private:
  llvm::Value *address() const { return call.getArgOperand(isLoad ? 0 : 1); }
  llvm::Value *mask() const { return call.getArgOperand(isLoad ? 1 : 2); }
  unsigned lanes() const { return type->getNumElements(); }
  llvm::Type *element() const { return type->getElementType(); }
  llvm::Align alignment() const { return call.getParamAlign(isLoad ? 0 : 1).valueOrOne(); }
  /// That of lane `lane`.
  llvm::Align alignmentOf(unsigned lane) const {
    return llvm::commonAlignment(alignment(), uint64_t(lane) * element()->getPrimitiveSizeInBits() / 8);
  }
  bool isLegal(const llvm::TargetTransformInfo &target) const {
    const unsigned space = address()->getType()->getPointerAddressSpace();
    return isLoad ? target.isLegalMaskedLoad(type, alignment(), space)
                  : target.isLegalMaskedStore(type, alignment(), space);
  }

  std::optional<llvm::SmallVector<bool>> knownMask() const;
  llvm::Value *firstLanes() const;
  void storeLane(unsigned lane);
  void inParts(unsigned count);
  void wholeOrByLanes(llvm::Value *count);

  llvm::IntrinsicInst &call;
  const bool isLoad;
  llvm::FixedVectorType *const type; // null: scalable
};

} // namespace

std::optional<llvm::SmallVector<bool>> MaskedAccess::knownMask() const {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask());
  if (!constant)
    return std::nullopt;
  llvm::SmallVector<bool> result;
  for (unsigned i = 0; i < lanes(); ++i) {
    llvm::Constant *bit = constant->getAggregateElement(i);
    if (!bit || !(bit->isZeroValue() || bit->isOneValue()))
      return std::nullopt;
    result.push_back(bit->isOneValue());
  }
  return result;
}

/// The value n of a mask that has the lanes below n: n > {0, 1, 2, ...}; null for another mask.
llvm::Value *MaskedAccess::firstLanes() const {
  auto *compare = llvm::dyn_cast<llvm::ICmpInst>(mask());
  if (!compare)
    return nullptr;
  llvm::Value *count = compare->getOperand(0), *steps = compare->getOperand(1);
  llvm::CmpInst::Predicate predicate = compare->getPredicate();
  if (llvm::isa<llvm::Constant>(count)) {
    std::swap(count, steps);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  auto *known = llvm::dyn_cast<llvm::Constant>(steps);
  if (predicate != llvm::CmpInst::ICMP_SGT || !known)
    return nullptr;
  for (unsigned i = 0; i < lanes(); ++i) {
    auto *step = llvm::dyn_cast_or_null<llvm::ConstantInt>(known->getAggregateElement(i));
    if (!step || !step->equalsInt(i))
      return nullptr;
  }
  return llvm::getSplatValue(count);
}

/// LLVM 22 writes a scalar store of one lane, too, when it selects instructions, but of a value that a truncation made
/// it then stores the lane before the truncation: bytes behind the array are overwritten.
void MaskedAccess::storeLane(unsigned lane) {
  llvm::IRBuilder<> builder(&call);
  llvm::Value *value = builder.CreateExtractElement(call.getArgOperand(0), lane);
  builder.CreateAlignedStore(value, builder.CreateConstGEP1_32(element(), address(), lane), alignmentOf(lane));
  call.eraseFromParent();
}

/// The first `count` lanes, in as few vectors as a sum of powers of two has terms.
void MaskedAccess::inParts(unsigned count) {
  llvm::IRBuilder<> builder(&call);
  llvm::Value *result = isLoad ? call.getArgOperand(2) : nullptr;
  for (unsigned begin = 0, size = llvm::bit_floor(count); begin < count;
       begin += size, size = llvm::bit_floor(count - begin)) {
    llvm::Value *place = builder.CreateConstGEP1_32(element(), address(), begin);
    auto *some = llvm::FixedVectorType::get(element(), size);
    llvm::SmallVector<int> order(isLoad ? lanes() : size);
    if (!isLoad) {
      std::iota(order.begin(), order.end(), int(begin));
      llvm::Value *part = builder.CreateShuffleVector(call.getArgOperand(0), order);
      builder.CreateAlignedStore(part, place, alignmentOf(begin));
      continue;
    }
    llvm::Value *loaded = builder.CreateAlignedLoad(some, place, alignmentOf(begin));
    // Widened, then taken in place of the lanes of the result.
    for (unsigned i = 0; i < lanes(); ++i)
      order[i] = i < size ? int(i) : llvm::PoisonMaskElem;
    llvm::Value *wide = builder.CreateShuffleVector(loaded, order);
    for (unsigned i = 0; i < lanes(); ++i)
      order[i] = i >= begin && i < begin + size ? int(lanes() + i - begin) : int(i);
    result = builder.CreateShuffleVector(result, wide, order);
  }
  if (isLoad)
    call.replaceAllUsesWith(result);
  call.eraseFromParent();
}

void MaskedAccess::wholeOrByLanes(llvm::Value *count) {
  llvm::IRBuilder<> atEntry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  llvm::Value *buffer = atEntry.CreateAlloca(type);
  llvm::IRBuilder<> builder(&call);
  llvm::Value *isWhole = builder.CreateICmpSGE(count, llvm::ConstantInt::get(count->getType(), lanes()));
  llvm::Instruction *whole = nullptr, *part = nullptr;
  llvm::MDNode *likely = llvm::MDBuilder(call.getContext()).createLikelyBranchWeights();
  llvm::SplitBlockAndInsertIfThenElse(isWhole, &call, &whole, &part, likely);

  builder.SetInsertPoint(whole);
  llvm::Value *all = isLoad ? builder.CreateAlignedLoad(type, address(), alignment()) : nullptr;
  if (!isLoad)
    builder.CreateAlignedStore(call.getArgOperand(0), address(), alignment());

  builder.SetInsertPoint(part);
  builder.CreateStore(call.getArgOperand(isLoad ? 2 : 0), buffer);
  llvm::Value *isAny = builder.CreateICmpSGT(count, llvm::ConstantInt::get(count->getType(), 0));
  llvm::Instruction *any = llvm::SplitBlockAndInsertIfThen(isAny, part, /*Unreachable=*/false);
  auto [body, lane] = llvm::SplitBlockAndInsertSimpleForLoop(count, any->getIterator());
  builder.SetInsertPoint(&*body);
  llvm::Value *inArray = builder.CreateGEP(element(), address(), lane);
  llvm::Value *inBuffer = builder.CreateGEP(element(), buffer, lane);
  const llvm::Align one = llvm::commonAlignment(alignment(), element()->getPrimitiveSizeInBits() / 8);
  llvm::Value *value = builder.CreateAlignedLoad(element(), isLoad ? inArray : inBuffer, one);
  builder.CreateAlignedStore(value, isLoad ? inBuffer : inArray, one);

  if (isLoad) {
    builder.SetInsertPoint(part);
    llvm::Value *some = builder.CreateLoad(type, buffer);
    builder.SetInsertPoint(&call);
    llvm::PHINode *result = builder.CreatePHI(type, 2);
    result->addIncoming(all, whole->getParent());
    result->addIncoming(some, part->getParent());
    call.replaceAllUsesWith(result);
  }
  call.eraseFromParent();
}

void MaskedAccess::write(const llvm::TargetTransformInfo &target) {
  if (!type)
    return;
  std::optional<llvm::SmallVector<bool>> known = knownMask();
  const auto ones = known ? unsigned(llvm::count(*known, true)) : 0;
  if (!isLoad && ones == 1)
    return storeLane(unsigned(std::distance(known->begin(), llvm::find(*known, true))));
  // Elements that are no whole bytes do not lie side by side as lanes; branches of threads in step are dear.
  if (isLegal(target) || element()->getPrimitiveSizeInBits() % 8 != 0 || !llvm::isPowerOf2_32(lanes()) ||
      target.hasBranchDivergence())
    return;
  if (known && ones > 0 && ones < lanes() &&
      llvm::all_of(llvm::ArrayRef(*known).take_front(ones), [](bool bit) { return bit; }))
    return inParts(ones);
  if (llvm::Value *lanesThere = known ? nullptr : firstLanes())
    wholeOrByLanes(lanesThere);
}

void tilewright::writeMaskedAccesses(llvm::Module &module, const llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    llvm::SmallVector<llvm::IntrinsicInst *> accesses;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_load ||
            call->getIntrinsicID() == llvm::Intrinsic::masked_store)
          accesses.push_back(call);
    if (accesses.empty())
      continue;
    const llvm::TargetTransformInfo target = machine.getTargetTransformInfo(function);
    for (llvm::IntrinsicInst *call : accesses)
      MaskedAccess(*call).write(target);
  }
}
