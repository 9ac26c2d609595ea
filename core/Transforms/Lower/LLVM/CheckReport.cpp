//===- CheckReport.cpp - What a check of a call has found -----------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Three numbers of a call that was refused.
///
//===----------------------------------------------------------------------===//

#include "core/Transforms/Lower/LLVM/CheckReport.h"
#include "core/Analysis/IndexChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

/// The message, the code and the extent.
static constexpr int32_t numFields = 3;
/// Where they begin in the page, in 8 bytes: the page itself begins with the size of the arena.
static constexpr int32_t fieldsAt = 1;

bool CheckReport::isNeeded(func::FuncOp body) {
  return body->walk([](tile::RequireSizeOp op) { return WalkResult(failure(op->hasAttr(messageAttr))); })
      .wasInterrupted();
}

CheckReport::CheckReport(func::FuncOp body, std::string name, func::FuncOp arena, int64_t pageBytes)
    : body(body), name(std::move(name)), pageBytes(pageBytes), loc(body.getLoc()),
      pointer(LLVM::LLVMPointerType::get(body.getContext())), i64(IntegerType::get(body.getContext(), 64)) {
  makeReport(arena);
  if (arena)
    makeTaker(arena);
}

static Value addressOfField(OpBuilder &builder, Location loc, Value slot, int32_t field) {
  return LLVM::GEPOp::create(builder, loc, slot.getType(), builder.getI64Type(), slot, ArrayRef<LLVM::GEPArg>{field});
}

void CheckReport::initialise(OpBuilder &builder, Location loc, Value page) {
  LLVM::StoreOp::create(builder, loc, LLVM::ZeroOp::create(builder, loc, page.getType()),
                        addressOfField(builder, loc, page, fieldsAt));
}

/// The address of the three fields; null where there is no memory for them.
Value CheckReport::slotOf(OpBuilder &builder, func::FuncOp arena) {
  if (!arena)
    return LLVM::AddressOfOp::create(builder, loc, pointer, name + failedCheckSuffix);
  Value none = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
  Value begin = func::CallOp::create(builder, loc, arena, none).getResult(0);
  int32_t back = fieldsAt - static_cast<int32_t>(pageBytes / int64_t(sizeof(int64_t)));
  Value null = LLVM::ZeroOp::create(builder, loc, pointer);
  Value isNull = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, begin, null);
  return LLVM::SelectOp::create(builder, loc, isNull, null, addressOfField(builder, loc, begin, back));
}

/// NAME.report(message, code, extent): never inlined, since it runs at the end of a call that failed.
void CheckReport::makeReport(func::FuncOp arena) {
  OpBuilder builder(body);
  if (!arena) {
    OpBuilder top = OpBuilder::atBlockBegin(body->getParentOfType<ModuleOp>().getBody());
    LLVM::GlobalOp::create(top, loc, LLVM::LLVMArrayType::get(i64, numFields), /*isConstant=*/false,
                           LLVM::Linkage::External, name + failedCheckSuffix, LLVM::ZeroAttr::get(body.getContext()));
  }
  report = func::FuncOp::create(builder, loc, name + ".report", builder.getFunctionType({pointer, i64, i64}, {}));
  report.setPrivate();
  builder.setInsertionPointToStart(report.addEntryBlock());
  Value slot = slotOf(builder, arena);
  Value null = LLVM::ZeroOp::create(builder, loc, pointer);
  Value isThere = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, slot, null);
  auto write = scf::IfOp::create(builder, loc, isThere, /*withElseRegion=*/false);
  func::ReturnOp::create(builder, loc);
  builder.setInsertionPointToStart(write.thenBlock());
  for (auto [field, value] : llvm::enumerate(report.getArguments()))
    LLVM::StoreOp::create(builder, loc, value, addressOfField(builder, loc, slot, static_cast<int32_t>(field)));
}

/// NAME_failure(found): gives the message and forgets it.
void CheckReport::makeTaker(func::FuncOp arena) {
  OpBuilder builder(body);
  auto take = func::FuncOp::create(builder, loc, name + failureSuffix, builder.getFunctionType({pointer}, {pointer}));
  builder.setInsertionPointToStart(take.addEntryBlock());
  Value slot = slotOf(builder, arena);
  Value null = LLVM::ZeroOp::create(builder, loc, pointer);
  Value isThere = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, slot, null);
  auto read = scf::IfOp::create(builder, loc, TypeRange(pointer), isThere, /*withElseRegion=*/true);
  func::ReturnOp::create(builder, loc, read.getResult(0));
  builder.setInsertionPointToStart(read.elseBlock());
  scf::YieldOp::create(builder, loc, null);
  builder.setInsertionPointToStart(read.thenBlock());
  for (int32_t field = 1; field < numFields; ++field) {
    Value number = LLVM::LoadOp::create(builder, loc, i64, addressOfField(builder, loc, slot, field));
    LLVM::StoreOp::create(builder, loc, number, addressOfField(builder, loc, take.getArgument(0), field - 1));
  }
  Value message = LLVM::LoadOp::create(builder, loc, pointer, slot);
  LLVM::StoreOp::create(builder, loc, null, slot);
  scf::YieldOp::create(builder, loc, message);
}

void CheckReport::write(OpBuilder &builder, tile::RequireSizeOp check) {
  auto message = check->getAttrOfType<StringAttr>(messageAttr);
  if (!message)
    return clear(builder, check.getLoc());
  auto module = body->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  std::string symbol;
  for (unsigned number = 0; symbol.empty() || module.lookupSymbol(symbol); ++number)
    symbol = name + ".check" + std::to_string(number);
  std::string text = message.getValue().str() + '\0';
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
  LLVM::GlobalOp::create(top, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, symbol,
                         builder.getStringAttr(text));
  auto number = [&](Value value) { return arith::IndexCastOp::create(builder, loc, i64, value).getResult(); };
  Value address = LLVM::AddressOfOp::create(builder, loc, pointer, symbol);
  func::CallOp::create(builder, loc, report,
                       ValueRange{address, number(check.getProduced()), number(check.getGiven())});
}

void CheckReport::clear(OpBuilder &builder, Location loc) {
  Value zero = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
  func::CallOp::create(builder, loc, report, ValueRange{LLVM::ZeroOp::create(builder, loc, pointer), zero, zero});
}
