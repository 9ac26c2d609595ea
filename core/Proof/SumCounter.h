//===- SumCounter.h - Runs a program with counts in place of numbers -*- C++ -*-/
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Walks a program in the order in which it runs. Each floating-point number is the additions that it has behind it
/// (`Chain`), each integer what it is made of (`Form`), and its value in this iteration. Of a loop as many iterations
/// run as it takes to see by how much each of them adds, which is then done for the rest at once:
///
///   for k < 4000 { s += x[k] }      1, 2, 3 additions: one more in each iteration, 4000 in all
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PROOF_SUMCOUNTER_H
#define TILEWRIGHT_CORE_PROOF_SUMCOUNTER_H

#include "core/Proof/SumMemory.h"
#include "core/Proof/Sums.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace tilewright::proof {

class SumCounter {
public:
  SumCounter(mlir::ModuleOp module, int64_t size, std::map<std::string, std::string> nests);
  /// Counts in a public function; may be called for several.
  void countEntry(mlir::func::FuncOp function);
  Sums take();

private:
  /// An integer: what it is made of, its value where it is known, and the loops on which that depends (a bit each).
  struct Number {
    Form form;
    std::optional<int64_t> value;
    uint64_t loops = 0;
  };
  static constexpr unsigned parallelBit = 63;

  // SumCounter.cpp: control flow.
  void gap(mlir::Operation *op, const llvm::Twine &reason);
  void runBlock(mlir::Block &block);
  void runOperation(mlir::Operation *op);
  void runFunction(mlir::func::FuncOp function, llvm::ArrayRef<unsigned> arrays, llvm::ArrayRef<Number> numbers);
  void runCall(mlir::func::CallOp call);
  bool runStructured(mlir::Operation *op);
  void runBranch(mlir::Operation *op, const Number &number);
  struct Range {
    mlir::Value counter;
    Number first;
    std::optional<int64_t> trips;
    int64_t step = 1;
  };
  void runParallel(mlir::Operation *op, llvm::ArrayRef<Range> ranges, mlir::Block &body, size_t dimension = 0);
  void runLoop(mlir::Operation *op, const Range &range, mlir::Block &body, mlir::ValueRange inits);
  void runUnknown(mlir::Operation *op);
  struct State {
    std::vector<Chain> carried;
    std::vector<SumArray> arrays;
  };
  static bool stepsAreEqual(const State &a, const State &b, const State &c, unsigned counter);
  void goOn(State &last, const State &before, int64_t times, mlir::Block &body);
  void enter(mlir::Value counter, const Number &first, int64_t value, uint64_t bit);
  void close(mlir::Operation *op, mlir::Value counter, const Form &first, int64_t step, int64_t trips, bool isParallel);

  // SumNumbers.cpp: integers.
  const Number &numberOf(mlir::Value value);
  Number numberOf(mlir::OpFoldResult value);
  Number evaluate(mlir::AffineExpr expr, llvm::ArrayRef<Number> operands, unsigned numDims);
  std::vector<Number> evaluate(mlir::AffineMap map, mlir::ValueRange operands);
  void computeNumbers(mlir::Operation *op);
  unsigned atomOf(mlir::Value value);
  Form opaque(const void *kind, llvm::ArrayRef<Form> operands);
  bool isMadeOf(unsigned atom, llvm::function_ref<bool(mlir::Value)> is) const;
  std::optional<int64_t> tripsOf(const Number &first, const Number &end, int64_t step);
  static Number extreme(llvm::ArrayRef<Number> values, bool isLeast);

  // SumAccess.cpp: arrays, and the arithmetic of operations.
  bool runMemory(mlir::Operation *op);
  bool runAccess(mlir::Operation *op);
  bool runSum(mlir::Operation *op);
  void addition(mlir::Operation *op, Chain chain, int64_t additions, mlir::Operation *at = nullptr);
  unsigned newArray(std::vector<int64_t> shape);
  Chain read(mlir::Value memref, std::vector<Interval> where);
  void write(mlir::Value memref, std::vector<Interval> where, Chain chain);
  std::vector<Interval> whole(mlir::Value memref) const;
  static std::vector<Interval> intervals(llvm::ArrayRef<Number> indices, mlir::Type vector);
  static std::vector<Interval> box(llvm::ArrayRef<Number> indices, mlir::AffineMap elements,
                                   llvm::ArrayRef<int64_t> shape);
  std::vector<Number> numbersOf(mlir::ValueRange values);
  Chain chainOf(mlir::ValueRange values);
  unsigned placeOf(mlir::Operation *op);
  PlaceSums &place(unsigned index) { return places[index].second; }

  // SumHost.cpp: launches of a manifest.
  void runManifest(mlir::func::FuncOp function, llvm::StringRef text, llvm::ArrayRef<unsigned> arrays);
  void runSteps(const llvm::json::Array &steps);
  void runLaunch(const llvm::json::Object &step);
  std::optional<int64_t> expression(const llvm::json::Value *value);

  mlir::ModuleOp module;
  int64_t size;
  struct Atom {
    mlir::Value value;           // null: computed of others
    std::vector<unsigned> inner; // what it is computed of
  };
  std::vector<Atom> atoms;
  llvm::DenseMap<mlir::Value, unsigned> atomByValue;
  std::map<std::vector<int64_t>, unsigned> atomByOperands;
  llvm::DenseMap<mlir::Value, Number> numbers;
  llvm::DenseMap<mlir::Value, Chain> chains;
  AtomRanges counterRanges; // of counters whose loops run
  std::vector<SumArray> arrays;
  struct View {
    unsigned array = 0;
    bool isWhole = true; // indices are those of the array
  };
  llvm::DenseMap<mlir::Value, View> views;
  std::vector<std::pair<std::string, PlaceSums>> places;
  std::map<std::string, unsigned> placeByName;
  llvm::DenseMap<mlir::Location, unsigned> placeByLocation;
  std::map<std::string, std::string> nests; // Sums.h
  std::set<std::string> gaps;
  bool isSure = true;                       // false below a condition that is not known
  unsigned depth = 0;                       // loops around
  uint64_t usedLoops = 0;                   // on which bounds and conditions that were met depend
  uint64_t visited = 0;                     // operations
  std::vector<std::optional<int64_t>> grid; // of a launch
  std::vector<int64_t> hostSizes;
  std::vector<std::optional<int64_t>> hostVariables;
  std::vector<unsigned> hostArrays;
};

} // namespace tilewright::proof

#endif // TILEWRIGHT_CORE_PROOF_SUMCOUNTER_H
