//===- Reader.h - From operations to accesses -------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks a program in the order in which it runs, with what is known at each place.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_READER_H
#define TILEWRIGHT_CORE_PROOF_READER_H

#include "core/Proof/Program.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/Support/JSON.h"
#include <functional>

namespace tilewright::proof {

/// A memref: where its indices lie in an array.
struct View {
  unsigned array = 0;
  llvm::SmallVector<Linear> shape;
  /// Indices of the array; missing: the same.
  std::function<llvm::SmallVector<Linear>(llvm::ArrayRef<Linear>)> place;
  std::string unknown; // why nothing is known of it
};

class Reader {
public:
  explicit Reader(Program &program) : program(program), space(program.space) {}

  /// Reads the public function of a program, with its arrays of all sizes that they may have.
  void readEntry(mlir::func::FuncOp function);

private:
  // Reader.cpp: control flow.
  void readBlock(mlir::Block &block);
  void readOperation(mlir::Operation *op);
  void readFunction(mlir::func::FuncOp function, llvm::ArrayRef<View> views, llvm::ArrayRef<Linear> numbers);
  void readCall(mlir::func::CallOp call);
  void readIf(mlir::Operation *op, const Truth &condition, mlir::Region &yes, mlir::Region &no);
  struct Range {
    mlir::Value index;
    llvm::SmallVector<Linear> lower, upper; // the greatest, the least of them
    Linear step = 1;                        // positive
  };
  void readLoop(mlir::Operation *op, llvm::ArrayRef<Range> ranges, llvm::StringRef level, mlir::Region &body);
  bool readStructured(mlir::Operation *op);
  void readUnknownRegions(mlir::Operation *op);
  void within(const Truth &condition, llvm::function_ref<void()> body);
  void gap(mlir::Operation *op, const llvm::Twine &reason);
  Linear fresh(llvm::StringRef name, llvm::StringRef reason);

  // Numbers.cpp: integers and truth values.
  void readNumber(mlir::Operation *op);
  Linear numberOf(mlir::Value value);
  Linear numberOf(mlir::OpFoldResult value);
  llvm::SmallVector<Linear> numbersOf(mlir::ValueRange values);
  Truth truthOf(mlir::Value value);
  Truth compare(mlir::Operation *op);
  Linear divide(const Linear &value, const Linear &divisor, bool isSigned, bool isRemainder);
  Linear evaluate(mlir::AffineExpr expr, llvm::ArrayRef<Linear> dims, llvm::ArrayRef<Linear> symbols);
  llvm::SmallVector<Linear> evaluate(mlir::AffineMap map, llvm::ArrayRef<Linear> operands);
  Conjunction conditionsOf(mlir::IntegerSet set, llvm::ArrayRef<Linear> operands);

  // Views.cpp: memrefs.
  bool readView(mlir::Operation *op);
  View viewOf(mlir::Value memref);
  /// `source` with dimensions joined to `shape`, of known sizes; nullopt where that is no such view.
  std::optional<View> joined(const View &source, llvm::ArrayRef<Linear> shape);
  View arrayOf(mlir::Value memref, llvm::ArrayRef<Linear> dynamicSizes, llvm::StringRef name);

  // Touches.cpp: what operations touch.
  bool readAccess(mlir::Operation *op);
  struct Touch {
    mlir::Value memref;
    llvm::SmallVector<Linear> index;
    bool isWrite = false;
    Conditions conditions = {};
    bool isExact = true;
    mlir::Value token = {};
  };
  void touch(mlir::Operation *op, Touch touch);
  /// A number from 0 to below `extent`, one of element `position` of a vector or tile.
  Linear element(unsigned position, int64_t extent);
  void mask(mlir::Value mask, llvm::ArrayRef<Linear> elements, Touch &touch);
  bool readVectorAccess(mlir::Operation *op);
  bool readTileAccess(mlir::Operation *op);

  // Host.cpp: launches of a manifest.
  void readManifest(mlir::func::FuncOp function, llvm::StringRef text, llvm::ArrayRef<View> views);
  void readSteps(const llvm::json::Array &steps);
  void readLaunch(const llvm::json::Object &step);
  Linear expression(const llvm::json::Value *value);
  Truth truthOf(const llvm::json::Value *value);

  Program &program;
  Space &space;
  /// Of the function that is read.
  llvm::DenseMap<mlir::Value, Linear> numbers;
  llvm::DenseMap<mlir::Value, View> views;
  std::map<std::pair<unsigned, int64_t>, Variable> elements;
  Conditions conditions;
  bool isExact = true;
  std::vector<Step> time;
  int64_t clock = 0;
  unsigned groups = 0;
  // Of the manifest.
  llvm::SmallVector<Linear> sizes, grid;
  std::vector<View> buffers;
  std::vector<Linear> variables;
  mlir::ModuleOp module;
  mlir::Location place{mlir::Location(static_cast<mlir::LocationAttr::ImplType *>(nullptr))};
};

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_READER_H
