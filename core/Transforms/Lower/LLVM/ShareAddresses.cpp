//===- ShareAddresses.cpp - Addresses share what they have in common ------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Indices as sums of terms with constant factors, and their values, one for each sum.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/LLVM/ShareAddresses.h"

#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/RegionGraphTraits.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/PostOrderIterator.h"

using namespace mlir;

namespace {

/// Operations that are followed from an index to its terms, and terms of a sum, at most: arrays have fewer dimensions.
constexpr unsigned mostOperations = 64, mostTerms = 16;

/// A value times a constant, modulo 2^64.
struct Term {
  Value value;
  uint64_t factor;
};

struct Sum {
  SmallVector<Term, 4> terms; // in order of definition, factors other than 0
  uint64_t constant = 0;
};

class AddressSharing {
public:
  explicit AddressSharing(LLVM::LLVMFuncOp function) : function(function), builder(function.getContext()) {}

  void run();

private:
  void number(Region &region);
  bool isBefore(Value one, Value other) const;
  void insertAfter(ArrayRef<Value> values);

  Sum sumOf(Value index, unsigned depth = 0);
  Sum added(const Sum &one, const Sum &other, uint64_t factor) const;
  Value constantOf(uint64_t value);
  Value valueOf(ArrayRef<Term> terms);
  void rewrite(LLVM::GEPOp address);

  LLVM::LLVMFuncOp function;
  OpBuilder builder;
  Region *region = nullptr; // of the address that is rewritten
  Location location = UnknownLoc::get(function.getContext());
  llvm::DenseMap<Block *, unsigned> numbers; // those of dominators are less
  llvm::DenseMap<Value, Sum> sums;
  llvm::DenseMap<std::pair<Region *, uint64_t>, Value> constants;
  llvm::DenseMap<std::tuple<Region *, Value, uint64_t>, Value> products;
  llvm::DenseMap<std::tuple<Region *, Value, Value>, Value> partialSums;
  llvm::DenseMap<std::tuple<Region *, Value, Value, Type>, Value> addresses;
};

} // namespace

void AddressSharing::number(Region &each) {
  if (each.empty())
    return;
  for (Block *block : llvm::ReversePostOrderTraversal<Region *>(&each)) {
    numbers.try_emplace(block, numbers.size());
    for (Operation &op : *block)
      for (Region &inner : op.getRegions())
        number(inner);
  }
}

/// Whether `one` is defined before `other`, where both dominate a common place.
bool AddressSharing::isBefore(Value one, Value other) const {
  Block *block = one.getParentBlock();
  if (block != other.getParentBlock())
    return numbers.lookup(block) < numbers.lookup(other.getParentBlock());
  Operation *op = one.getDefiningOp(), *otherOp = other.getDefiningOp();
  if (op && otherOp && op != otherOp)
    return op->isBeforeInBlock(otherOp);
  if (!op != !otherOp)
    return !op;
  auto position = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber();
  };
  return position(one) < position(other);
}

/// What is built stands after the last of `values`, and within the region of the address: what stands around it would
/// have to be handed to the threads of a parallel one.
void AddressSharing::insertAfter(ArrayRef<Value> values) {
  Value last = *llvm::max_element(values, [&](Value one, Value other) { return isBefore(one, other); });
  if (last.getParentRegion() == region)
    builder.setInsertionPointAfterValue(last);
  else
    builder.setInsertionPointToStart(&region->front());
}

Sum AddressSharing::added(const Sum &one, const Sum &other, uint64_t factor) const {
  Sum sum;
  sum.constant = one.constant + factor * other.constant;
  const Term *left = one.terms.begin(), *right = other.terms.begin();
  while (left != one.terms.end() || right != other.terms.end()) {
    Term next;
    if (right == other.terms.end() || (left != one.terms.end() && left->value == right->value))
      next = *left++;
    else if (left == one.terms.end() || isBefore(right->value, left->value))
      next = {right->value, 0};
    else
      next = *left++;
    if (right != other.terms.end() && right->value == next.value)
      next.factor += factor * right++->factor;
    if (next.factor)
      sum.terms.push_back(next);
  }
  return sum;
}

Sum AddressSharing::sumOf(Value index, unsigned depth) {
  if (auto known = sums.find(index); known != sums.end())
    return known->second;
  const Sum itself{{{index, 1}}, 0};
  Sum sum = itself;
  APInt constant;
  Operation *op = index.getDefiningOp();
  if (matchPattern(index, m_ConstantInt(&constant))) {
    sum = {{}, constant.getZExtValue()};
  } else if (op && depth < mostOperations) {
    auto operand = [&](unsigned i) { return sumOf(op->getOperand(i), depth + 1); };
    if (isa<LLVM::AddOp>(op))
      sum = added(operand(0), operand(1), 1);
    else if (isa<LLVM::SubOp>(op))
      sum = added(operand(0), operand(1), -1);
    else if (isa<LLVM::MulOp>(op))
      for (unsigned i : {0, 1})
        if (matchPattern(op->getOperand(i), m_ConstantInt(&constant)))
          sum = added({}, operand(1 - i), constant.getZExtValue());
    if (sum.terms.size() > mostTerms)
      sum = itself;
  }
  sums[index] = sum;
  return sum;
}

Value AddressSharing::constantOf(uint64_t value) {
  Value &known = constants[{region, value}];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&region->front());
    known = LLVM::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value));
  }
  return known;
}

Value AddressSharing::valueOf(ArrayRef<Term> terms) {
  Value sum;
  for (const Term &term : terms) {
    Value product = term.value;
    if (term.factor != 1) {
      Value &known = products[{region, term.value, term.factor}];
      if (!known) {
        Value factor = constantOf(term.factor);
        insertAfter({term.value, factor});
        known = LLVM::MulOp::create(builder, location, term.value, factor);
      }
      product = known;
    }
    if (!sum) {
      sum = product;
      continue;
    }
    Value &known = partialSums[{region, sum, product}];
    if (!known) {
      insertAfter({sum, product});
      known = LLVM::AddOp::create(builder, location, sum, product);
    }
    sum = known;
  }
  return sum;
}

void AddressSharing::rewrite(LLVM::GEPOp address) {
  if (address.getDynamicIndices().size() != 1 || address.getRawConstantIndices().size() != 1 ||
      !isa<LLVM::LLVMPointerType>(address.getType()))
    return;
  Value index = address.getDynamicIndices().front(), base = address.getBase();
  if (!index.getType().isInteger(64))
    return;
  Sum sum = sumOf(index);
  // A constant of an address has 32 bits, of which some are taken for marks.
  const int64_t constant = sum.constant;
  const bool isShort = llvm::isInt<24>(constant);
  if ((sum.terms.size() == 1 && sum.terms.front().factor == 1 && constant == 0) || (!isShort && sum.terms.empty()))
    return;
  region = address->getParentRegion();
  location = address.getLoc();
  const Type type = address.getType(), element = address.getElemType();
  Value made = base;
  if (Value value = valueOf(sum.terms)) {
    Value &known = addresses[{region, base, value, element}];
    if (!known) {
      insertAfter({base, value});
      known = LLVM::GEPOp::create(builder, location, type, element, base, ArrayRef<LLVM::GEPArg>{value});
    }
    made = known;
  }
  builder.setInsertionPoint(address);
  if (constant != 0) {
    LLVM::GEPArg last = isShort ? LLVM::GEPArg(int32_t(constant)) : LLVM::GEPArg(constantOf(constant));
    made = LLVM::GEPOp::create(builder, location, type, element, made, ArrayRef<LLVM::GEPArg>{last});
  }
  address.replaceAllUsesWith(made);
}

void AddressSharing::run() {
  SmallVector<LLVM::GEPOp> found;
  function.walk([&](Operation *op) {
    if (auto address = dyn_cast<LLVM::GEPOp>(op))
      found.push_back(address);
    SmallVector<OpFoldResult, 1> part;
    if (isa<LLVM::ExtractValueOp>(op) && succeeded(op->fold(part)) && part.size() == 1)
      if (auto value = dyn_cast<Value>(part.front()))
        op->getResult(0).replaceAllUsesWith(value);
  });
  if (found.empty())
    return;
  number(function.getBody());
  for (LLVM::GEPOp address : found)
    if (numbers.contains(address->getBlock())) // what is never reached dominates nothing
      rewrite(address);
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

void tilewright::shareAddresses(LLVM::LLVMFuncOp function) {
  if (!function.isExternal())
    AddressSharing(function).run();
}
