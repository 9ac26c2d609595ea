//===- Run.cpp - Run, verify and measure a program ------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arrays for a signature, calls, comparison and timing.
///
//===----------------------------------------------------------------------===//

#include "core/Pipelines/Run.h"
#include "core/Analysis/IndexChecks.h"
#include "core/Machine/NativeCode.h"
#include "core/Pipelines/ErrorBound.h"

#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace tilewright;

namespace {

/// Whether an array of type `have` holds elements of `want`: integers of one width differ only in how they read, files
/// hold 8-bit floats as bytes.
bool sameStorage(ElementType have, ElementType want) {
  if (have == want || (isFloat8(want) && have == ElementType::U8))
    return true;
  return !isFloat(have) && !isFloat(want) && have != ElementType::Bool && want != ElementType::Bool &&
         sizeOf(have) == sizeOf(want);
}

/// The sizes of a run: those of the inputs, those that `given` gives (all, or all that do not follow from data), those
/// that equalities determine. What is left to the program is 0; `open` says whether there is such a size.
llvm::Expected<std::vector<int64_t>> chooseSizes(const Signature &signature, llvm::ArrayRef<const Array *> inputs,
                                                 llvm::ArrayRef<int64_t> given, bool &open) {
  auto sizes = sizesOf(signature, inputs);
  if (!sizes)
    return sizes.takeError();
  std::vector<size_t> asked, made;
  for (unsigned i = 0; i < signature.numSizes; ++i)
    (signature.followsFromData(i) ? made : asked).push_back(i);
  bool all = given.size() == signature.numSizes;
  if (!given.empty() && !all && given.size() != asked.size()) {
    std::string without;
    if (!made.empty())
      without = llvm::formatv(" ({0} without those that follow from data)", asked.size()).str();
    return llvm::createStringError(llvm::formatv("'{0}' has {1} dynamic sizes{2}; --sizes gives {3}", signature.name,
                                                 signature.numSizes, without, given.size()));
  }
  for (auto [position, size] : llvm::enumerate(given)) {
    size_t index = all ? position : asked[position];
    int64_t &known = (*sizes)[index];
    if (known >= 0 && known != size)
      return llvm::createStringError(
          llvm::formatv("size {0} is {1} by --sizes, but the inputs say {2}", index, size, known));
    known = size;
  }
  for (size_t index : made)
    if ((*sizes)[index] < 0) {
      (*sizes)[index] = 0;
      open = true;
    }
  if (llvm::Error error = solveSizes(signature, *sizes))
    return error;
  return sizes;
}

/// An array for argument `index`; every element of a result is NaN, so that what is not written shows.
llvm::Expected<Array> makeArray(const Signature &signature, size_t index, llvm::ArrayRef<int64_t> sizes) {
  const SignatureArgument &argument = signature.arguments[index];
  ElementType type = *elementTypeOf(argument.elementType);
  std::vector<int64_t> shape = Signature::evaluate(argument.shape, sizes);
  if (!Array::fits(type, shape))
    return llvm::createStringError(llvm::formatv("argument {0} of '{1}' is too large", index, signature.name));
  Array array(type, shape);
  if (!array.allocated())
    return llvm::createStringError(llvm::formatv("no memory for argument {0}, {1}", index, array.describe()));
  if (argument.isResult)
    std::memset(array.data(), 0xff, static_cast<size_t>(array.bytes()));
  return array;
}

} // namespace

llvm::Expected<std::unique_ptr<Run>> Run::create(ModuleOp program, const RunOptions &options,
                                                 std::vector<Array> given) {
  std::unique_ptr<Run> run(new Run(program, options));
  OwningOpRef<ModuleOp> copy = program.clone();
  auto code = Executable::compile(*copy, 1, options.compile, 4, options.place);
  if (!code)
    return code.takeError();
  run->code = std::move(*code);
  const Signature &signature = run->code->signature();

  std::vector<const Array *> shown;
  size_t numInputs = 0;
  for (const SignatureArgument &argument : signature.arguments)
    numInputs += !argument.isResult;
  if (given.size() > numInputs)
    return llvm::createStringError(
        llvm::formatv("'{0}' has {1} inputs; {2} files were given", signature.name, numInputs, given.size()));
  for (const Array &array : given)
    shown.push_back(&array);
  bool open = false;
  auto sizes = chooseSizes(signature, shown, options.sizes, open);
  if (!sizes)
    return sizes.takeError();
  run->sizeValues = *sizes;

  size_t input = 0;
  for (const SignatureArgument &argument : signature.arguments) {
    std::optional<ElementType> type = elementTypeOf(argument.elementType);
    std::string typeText;
    llvm::raw_string_ostream(typeText) << argument.elementType;
    if (!type)
      return llvm::createStringError(
          llvm::formatv("argument {0} of '{1}' has element type {2}, which no array file holds", run->arguments.size(),
                        signature.name, typeText));
    if (!argument.isResult && input < given.size()) {
      Array &array = given[input];
      if (!sameStorage(array.type(), *type))
        return llvm::createStringError(llvm::formatv("input {0} is {1}; expected element type {2}{3}", input,
                                                     array.describe(), typeText,
                                                     *type == ElementType::BF16 ? " (a file named *.bf16.npy)"
                                                     : isFloat8(*type)          ? " (bytes, u1)"
                                                                                : ""));
      if (isFloat8(*type))
        array.readAs(*type);
      ++input;
      run->arguments.push_back(std::move(array));
      run->pristine.push_back(argument.isWritten ? run->arguments.back().clone() : Array());
      continue;
    }
    auto array = makeArray(signature, run->arguments.size(), *sizes);
    if (!array)
      return array.takeError();
    if (!argument.isResult)
      array->fillRandom(options.seed, input++);
    run->pristine.push_back(!argument.isResult && argument.isWritten ? array->clone() : Array());
    run->arguments.push_back(std::move(*array));
  }
  if (open) {
    if (llvm::Error error = run->learnSizes())
      return error;
    if (EmulatedProgram *emulated = run->code->emulated())
      emulated->resetCounters();
  }
  return run;
}

/// Calls the program until no result has another size than it makes of its data.
llvm::Error Run::learnSizes() {
  const Signature &signature = code->signature();
  for (unsigned left = signature.numSizes;; --left) {
    bool again = false;
    llvm::Error error = llvm::handleErrors(execute(), [&](std::unique_ptr<OtherSizes> other) -> llvm::Error {
      if (left == 0)
        return llvm::Error(std::move(other));
      sizeValues = other->sizes;
      again = true;
      return llvm::Error::success();
    });
    if (error || !again)
      return error;
    for (auto [index, argument] : llvm::enumerate(signature.arguments)) {
      if (!argument.isResult)
        continue;
      auto array = makeArray(signature, index, sizeValues);
      if (!array)
        return array.takeError();
      arguments[index] = std::move(*array);
    }
  }
}

llvm::Error Run::execute() {
  std::vector<void *> addresses;
  for (auto [array, original] : llvm::zip_equal(arguments, pristine)) {
    if (original.allocated())
      std::memcpy(array.data(), original.data(), static_cast<size_t>(array.bytes()));
    addresses.push_back(array.data());
  }
  return code->call(sizeValues, addresses);
}

llvm::Error Run::executeInAllModes() {
  std::vector<Array> first;
  for (const Array &array : arguments)
    first.push_back(array.clone());
  llvm::Error different = llvm::Error::success();
  code->emulated()->setCounting(false);
  for (const EmulatorMode &mode : code->emulated()->modes()) {
    code->emulated()->setMode(mode);
    if (llvm::Error error = execute())
      return llvm::joinErrors(std::move(different), std::move(error));
    for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(arguments, first))) {
      auto &[now, then] = pair;
      if (!different && std::memcmp(now.data(), then.data(), static_cast<size_t>(now.bytes())) != 0)
        different = llvm::createStringError(
            llvm::formatv("argument {0} differs when lanes and engines run in the order '{1}'", index, mode.str()));
    }
  }
  arguments = std::move(first);
  return different;
}

/// The arguments after another executable of the same program ran on the same inputs.
static llvm::Expected<std::vector<Array>> callOther(Executable &executable, llvm::ArrayRef<int64_t> sizes,
                                                    const std::vector<Array> &arguments,
                                                    const std::vector<Array> &pristine) {
  std::vector<Array> arrays;
  std::vector<void *> addresses;
  for (auto [argument, array, original] : llvm::zip_equal(executable.signature().arguments, arguments, pristine)) {
    arrays.push_back(argument.isResult ? Array(array.type(), array.shape())
                                       : (original.allocated() ? original : array).clone());
    if (!arrays.back().allocated())
      return llvm::createStringError("no memory for the arrays of the comparison");
    addresses.push_back(arrays.back().data());
  }
  if (llvm::Error error = executable.call(sizes, addresses))
    return error;
  return arrays;
}

/// `array` with elements of `type`.
static Array converted(const Array &array, ElementType type) {
  if (array.type() == type)
    return array.clone();
  Array result(type, array.shape());
  if (result.allocated())
    for (int64_t i = 0; i < array.count(); ++i)
      result.set(i, array.get(i));
  return result;
}

/// Runs the plain path in float64 once, with a bound beside each element.
llvm::Error Run::reference() {
  if (!expected.empty())
    return llvm::Error::success();
  CompileOptions plain = options.compile;
  plain.plain = plain.bounded = true;
  plain.operandSpacing = std::max(plain.operandSpacing, code->operandSpacing());
  if (!options.place.isHost())
    plain.target = options.referenceTarget;
  plain.threads = 1;
  plain.targetStages = 0;
  plain.dumpDirectory.clear();
  std::vector<int32_t> boundOf; // by argument of the function
  plain.afterStage = [&](unsigned stage, ModuleOp module) {
    for (func::FuncOp function : publicFunctions(module))
      if (auto positions = function->getAttrOfType<DenseI32ArrayAttr>(boundsAttr); positions && stage == 2)
        boundOf.assign(positions.asArrayRef().begin(), positions.asArrayRef().end());
  };
  OwningOpRef<ModuleOp> copy = program.clone();
  (*copy)->removeAttr(nativeCodeAttr);
  (*copy)->removeAttr(checkIndicesAttr); // the program itself has refused bad indices before
  auto executable = Executable::compile(*copy, 1, plain);
  if (!executable)
    return executable.takeError();

  // The arguments of the function, bounds, then each scalar result with its own.
  const Signature &signature = code->signature(), &shadow = (*executable)->signature();
  std::vector<Array> arrays(shadow.arguments.size());
  auto isScalarResult = [](const SignatureArgument &argument) { return argument.isResult && argument.isScalar; };
  for (auto [index, argument] : llvm::enumerate(signature.arguments)) {
    if (argument.isResult)
      continue;
    const Array &input = pristine[index].allocated() ? pristine[index] : arguments[index];
    arrays[argument.position] = converted(input, *elementTypeOf(shadow.arguments[argument.position].elementType));
  }
  std::vector<void *> addresses;
  for (auto [index, argument] : llvm::enumerate(shadow.arguments)) {
    Array &array = arrays[index];
    if (!array.allocated())
      array = Array(*elementTypeOf(argument.elementType), Signature::evaluate(argument.shape, sizeValues));
    if (!array.allocated())
      return llvm::createStringError("no memory for the arrays of the comparison");
    addresses.push_back(array.data());
  }
  if (llvm::Error error = (*executable)->call(sizeValues, addresses))
    return error;
  size_t scalars = boundOf.size() + llvm::count_if(boundOf, [](int32_t position) { return position >= 0; });
  for (const SignatureArgument &argument : signature.arguments) {
    size_t value = isScalarResult(argument) ? scalars + 2 * argument.position : argument.position;
    int64_t bound = isScalarResult(argument) ? static_cast<int64_t>(value) + 1 : boundOf[argument.position];
    expected.push_back(argument.isWritten ? std::move(arrays[value]) : Array());
    bounds.push_back(argument.isWritten && bound >= 0 ? std::move(arrays[bound]) : Array());
  }
  return llvm::Error::success();
}

std::vector<Comparison> Run::compare(const std::vector<Array> &got) const {
  std::vector<Comparison> comparisons;
  for (auto [index, argument] : llvm::enumerate(code->signature().arguments)) {
    if (!argument.isWritten)
      continue;
    const Array &a = got[index], &b = expected[index];
    Comparison result;
    std::vector<double> looseness;
    for (int64_t i = 0; i < a.count(); ++i) {
      double x = a.get(i), y = b.get(i), bound = bounds[index].allocated() ? bounds[index].get(i) : 0;
      Judgement judgement = judge(a.type(), x, y, bound);
      result.maxError = std::max(result.maxError, judgement.error);
      result.wrong += judgement.ratio > 1;
      result.unjudged += !judgement.isJudged;
      if (judgement.ratio > 0)
        looseness.push_back(1 / judgement.ratio);
      if (judgement.ratio > result.worst || result.worstIndex < 0) {
        result.worst = judgement.ratio;
        result.worstIndex = i;
        result.got = x;
        result.expected = y;
        result.bound = bound;
      }
    }
    if (!looseness.empty()) {
      auto middle = looseness.begin() + static_cast<ptrdiff_t>(looseness.size() / 2);
      std::nth_element(looseness.begin(), middle, looseness.end());
      result.looseness = *middle;
    }
    result.passed = result.wrong == 0;
    comparisons.push_back(result);
  }
  return comparisons;
}

llvm::Expected<std::vector<Comparison>> Run::verify() {
  if (llvm::Error error = reference())
    return error;
  return compare(arguments);
}

llvm::Expected<std::vector<std::vector<Comparison>>> Run::verifyStages() {
  if (!options.place.isHost())
    return llvm::createStringError("stages are compared on the host; a program elsewhere is checked with --verify");
  if (llvm::Error error = reference())
    return error;
  std::vector<std::vector<Comparison>> stages;
  for (unsigned stage = 1; stage <= 4; ++stage) {
    CompileOptions compile = options.compile;
    compile.dumpDirectory.clear();
    compile.referenceAffine = stage == 1;
    compile.plain = stage <= 2;
    compile.targetStages = stage;
    compile.tileLoops = true;
    if (stage < 4)
      compile.threads = 1;
    OwningOpRef<ModuleOp> copy = program.clone();
    // Stage 3 leaves parallel loops that run in any order: stage 5 takes them as they are.
    auto executable = Executable::compile(*copy, 1, compile, stage == 3 ? 3 : 4);
    if (!executable)
      return executable.takeError();
    auto arrays = callOther(**executable, sizeValues, arguments, pristine);
    if (!arrays)
      return arrays.takeError();
    stages.push_back(compare(*arrays));
  }
  stages.push_back(compare(arguments)); // the program itself
  return stages;
}

llvm::Expected<Benchmark> tilewright::measure(Executable &code, llvm::ArrayRef<int64_t> sizes,
                                              llvm::ArrayRef<void *> arguments, unsigned count, double seconds) {
  Benchmark result;
  int64_t calls = 1;
  for (;;) {
    double begin = secondsNow();
    auto time = code.seconds(sizes, arguments, calls);
    if (!time)
      return time.takeError();
    if (*time >= seconds || secondsNow() - begin >= 10 * seconds)
      break;
    calls = std::max(calls + 1, static_cast<int64_t>(static_cast<double>(calls) *
                                                     std::min(10.0, 1.2 * seconds / std::max(*time, 1e-9))));
  }
  for (unsigned i = 0; i < count; ++i) {
    auto time = code.seconds(sizes, arguments, calls);
    if (!time)
      return time.takeError();
    result.samples.push_back(*time / static_cast<double>(calls));
  }
  std::vector<double> sorted = result.samples;
  std::sort(sorted.begin(), sorted.end());
  size_t middle = sorted.size() / 2;
  result.median = sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return result;
}

llvm::Expected<Benchmark> Run::benchmark(unsigned count, double seconds) {
  std::vector<void *> addresses;
  for (Array &array : arguments)
    addresses.push_back(array.data());
  return measure(*code, sizeValues, addresses, count, seconds);
}

std::vector<const Array *> Run::inputs() const {
  std::vector<const Array *> arrays;
  for (auto [argument, array, original] : llvm::zip_equal(code->signature().arguments, arguments, pristine))
    if (!argument.isResult)
      arrays.push_back(original.allocated() ? &original : &array);
  return arrays;
}

std::vector<const Array *> Run::outputs() const {
  std::vector<const Array *> arrays;
  for (auto [argument, array] : llvm::zip_equal(code->signature().arguments, arguments))
    if (argument.isWritten)
      arrays.push_back(&array);
  return arrays;
}

std::vector<std::pair<const Array *, const Array *>> Run::references() const {
  std::vector<std::pair<const Array *, const Array *>> pairs;
  for (auto [index, argument] : llvm::enumerate(code->signature().arguments))
    if (argument.isWritten && index < expected.size())
      pairs.emplace_back(&expected[index], &bounds[index]);
  return pairs;
}

int64_t Run::bytes() const {
  int64_t total = 0;
  for (auto [argument, array] : llvm::zip_equal(code->signature().arguments, arguments))
    total += array.bytes() * (!argument.isResult && argument.isWritten ? 2 : 1);
  return total;
}
