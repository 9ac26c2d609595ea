//===- DependentReductionsTest.cpp - Chains and their states -------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Analysis/DependentReductions.h"
#include "core/Analysis/MaskedSteps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace dependent_reductions_test {

using namespace mlir;
using namespace mlir::affine;
using namespace tilewright;

namespace {

/// A nest over rows i, elements j of a row and, where `inner` says so, columns d; `body` computes %e.
struct Text {
  std::string text;

  /// `to[i] = combine over j of %e`; `start` is what it begins with.
  Text &reduce(const std::string &to, const std::string &body, const std::string &combine = "arith.addf",
               const std::string &start = "%zero") {
    text += "affine.for %i = 0 to 4 { affine.store " + start + ", " + to + "[%i] : memref<4xf32> }\n";
    text += "affine.for %i = 0 to 4 { affine.for %j = 0 to 20 {\n" + body + "%acc = affine.load " + to +
            "[%i] : memref<4xf32>\n%next = " + combine + " %acc, %e : f32\naffine.store %next, " + to +
            "[%i] : memref<4xf32> } }\n";
    return *this;
  }
  /// `to[i] = %e`
  Text &row(const std::string &to, const std::string &body) {
    text += "affine.for %i = 0 to 4 {\n" + body + "affine.store %e, " + to + "[%i] : memref<4xf32> }\n";
    return *this;
  }
  /// `p[i, j] = %e`
  Text &local(const std::string &body) {
    text += "affine.for %i = 0 to 4 { affine.for %j = 0 to 20 {\n" + body +
            "affine.store %e, %p[%i, %j] : memref<4x20xf32> } }\n";
    return *this;
  }
  /// `o[i, d] = sum over j of %e`
  Text &product(const std::string &body) {
    text += "affine.for %i = 0 to 4 { affine.for %d = 0 to 6 { affine.store %zero, %o[%i, %d] : memref<4x6xf32> } }\n";
    text += "affine.for %i = 0 to 4 { affine.for %d = 0 to 6 { affine.for %j = 0 to 20 {\n" + body +
            "%acc = affine.load %o[%i, %d] : memref<4x6xf32>\n%next = arith.addf %acc, %e : f32\n"
            "affine.store %next, %o[%i, %d] : memref<4x6xf32> } } }\n";
    return *this;
  }
};

const std::string x = "%x = affine.load %xs[%i, %j] : memref<4x20xf32>\n";
const std::string y = "%y = affine.load %ys[%i, %j] : memref<4x20xf32>\n";
const std::string p = "%q = affine.load %p[%i, %j] : memref<4x20xf32>\n";
const std::string v = "%v = affine.load %vs[%j, %d] : memref<20x6xf32>\n";
std::string result(const std::string &name) {
  return "%" + name + "v = affine.load %" + name + "[%i] : memref<4xf32>\n";
}

class DependentReductionsTest : public testing::Test {
protected:
  void find(const Text &text, bool mayReassociate = true) {
    context
        .loadDialect<AffineDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, memref::MemRefDialect>();
    std::string source =
        "func.func @f(%xs: memref<4x20xf32>, %ys: memref<4x20xf32>, %vs: memref<20x6xf32>, %r: memref<4xf32>,\n"
        "    %s: memref<4xf32>, %t: memref<4xf32>, %u: memref<4xf32>, %o: memref<4x6xf32>) {\n"
        "%zero = arith.constant 0.0 : f32\n%one = arith.constant 1.0 : f32\n%count = arith.constant 20.0 : f32\n%share "
        "= arith.constant 0.05 : f32\n"
        "%small = arith.constant 0.125 : f32\n%least = arith.constant 0xFF800000 : f32\n"
        "%most = arith.constant 0x7F800000 : f32\n%p = memref.alloc() : memref<4x20xf32>\n" +
        text.text + "return }";
    module = parseSourceString<ModuleOp>(source, &context);
    ASSERT_TRUE(bool(module)) << source;
    auto function = *module->getOps<func::FuncOp>().begin();
    SmallVector<Operation *> ops;
    for (Operation &op : function.front().without_terminator())
      ops.push_back(&op);
    reason.clear();
    chain = DependentReductions::find(ops, [](Operation *) { return true; }, mayReassociate, reason);
  }
  /// States of each reduction over the common loop, in their order.
  std::vector<size_t> ranks() const {
    std::vector<size_t> ranks;
    if (chain)
      for (const ReductionStatement &s : chain->statements)
        if (s.isState)
          ranks.push_back(chain->rankOf(s));
    return ranks;
  }
  std::string certificate() const { return chain ? chain->pairsText(chain->statements.back()) : reason; }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<DependentReductions> chain;
  std::string reason;
};

using Ranks = std::vector<size_t>;

} // namespace

TEST_F(DependentReductionsTest, RmsNormThenProduct) {
  find(Text()
           .reduce("%r", x + "%e = arith.mulf %x, %x : f32\n")
           .row("%s", result("r") + "%n = arith.divf %rv, %count : f32\n%e = math.rsqrt %n : f32\n")
           .local(x + result("s") + "%e = arith.mulf %x, %sv : f32\n")
           .product(p + v + "%e = arith.mulf %q, %v : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 1})) << reason;
  EXPECT_TRUE(chain && chain->bases.empty());
  EXPECT_EQ(chain->statements.back().pairs[0].h.size(), 1u); // 1 / rms leaves the sum
}

TEST_F(DependentReductionsTest, ExponentialsAtTheMaximum) {
  find(Text()
           .reduce("%r", x + "%e = arith.addf %x, %zero : f32\n", "arith.maximumf", "%least")
           .local(x + result("r") +
                  "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %rv : f32\n%e = math.exp %n : f32\n")
           .reduce("%s", p + "%e = arith.mulf %q, %one : f32\n")
           .product(p + v + result("s") + "%n = arith.divf %q, %sv : f32\n%e = arith.mulf %n, %v : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 1, 1})) << reason;
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->bases.size(), 1u); // shared by both
  EXPECT_EQ(certificate(), "(a2[i, j] * a5[j, k]) / <a3[i]> at base a0[i]");
}

TEST_F(DependentReductionsTest, ExponentsWithAFactor) {
  find(Text()
           .reduce("%r", x + "%e = arith.mulf %x, %one : f32\n", "arith.minimumf", "%most")
           .reduce("%s", x + result("r") +
                             "%z = arith.mulf %x, %one : f32\n%n = arith.subf %rv, %z : f32\n"
                             "%m = arith.mulf %n, %small : f32\n%e = math.exp2 %m : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 1})) << reason;
  ASSERT_TRUE(chain && chain->bases.size() == 1);
  EXPECT_TRUE(chain->bases[0].isMinimum);
  EXPECT_TRUE(chain->bases[0].factor);
}

TEST_F(DependentReductionsTest, SoftMaxGradient) {
  // sum of P (dP - D) K, P = exp(s - m) / l with rows' m and l; D = sum of P dP.
  find(Text()
           .reduce("%r", x + y + "%e = arith.mulf %x, %y : f32\n")
           .local(x + y + result("r") + "%n = arith.subf %y, %rv : f32\n%e = arith.mulf %x, %n : f32\n")
           .product(p + v + "%e = arith.mulf %q, %v : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 2})) << reason;
}

TEST_F(DependentReductionsTest, VarianceAtTheMean) {
  find(Text()
           .reduce("%r", x + "%e = arith.addf %x, %zero : f32\n")
           .row("%s", result("r") + "%e = arith.divf %rv, %count : f32\n")
           .reduce("%t", x + result("s") +
                             "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %sv : f32\n"
                             "%e = arith.mulf %n, %n : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 3})) << reason;
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->means.size(), 1u);
}

TEST_F(DependentReductionsTest, PowersOfDistances) {
  auto power = [&](const std::string &body) {
    find(Text()
             .reduce("%r", x + "%e = arith.addf %x, %zero : f32\n")
             .row("%s", result("r") + "%e = arith.divf %rv, %count : f32\n")
             .reduce("%t", x + y + result("s") +
                               "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %sv : f32\n"
                               "%m = arith.mulf %n, %n : f32\n" +
                               body));
    return ranks();
  };
  EXPECT_EQ(power("%e = arith.mulf %m, %n : f32\n"), (Ranks{1, 4})) << reason;
  EXPECT_EQ(power("%e = arith.mulf %m, %y : f32\n"), (Ranks{1, 3})) << reason;
  EXPECT_EQ(power("%e = arith.mulf %m, %m : f32\n"), Ranks());
  EXPECT_TRUE(StringRef(reason).starts_with("a power of a distance from a mean above 3")) << reason;
}

TEST_F(DependentReductionsTest, LayerNormThenProduct) {
  find(Text()
           .reduce("%r", x + "%e = arith.addf %x, %zero : f32\n")
           .row("%s", result("r") + "%e = arith.mulf %rv, %share : f32\n")
           .reduce("%t", x + result("s") +
                             "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %sv : f32\n"
                             "%e = arith.mulf %n, %n : f32\n")
           .row("%u", result("t") + "%n = arith.divf %tv, %count : f32\n%e = math.rsqrt %n : f32\n")
           .local(x + result("s") + result("u") +
                  "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %sv : f32\n"
                  "%e = arith.mulf %n, %uv : f32\n")
           .product(p + v + "%e = arith.mulf %q, %v : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 3, 2})) << reason;
}

TEST_F(DependentReductionsTest, DistancesFromTheMeanUnderAMask) {
  find(Text()
           .reduce("%r", x + "%e = arith.addf %x, %zero : f32\n")
           .row("%s", result("r") + "%e = arith.divf %rv, %count : f32\n")
           .reduce("%t", x + y + result("s") +
                             "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %sv : f32\n"
                             "%c = arith.cmpf ogt, %y, %zero : f32\n"
                             "%e = arith.select %c, %y, %n : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 3})) << reason;
}

TEST_F(DependentReductionsTest, DistancesFromWhatIsNoMean) {
  // The sum, not the mean: a power of x - r is one of x and r each.
  find(Text()
           .reduce("%r", x + "%e = arith.mulf %x, %x : f32\n")
           .reduce("%s", x + result("r") +
                             "%n = arith.subf %x, %rv : f32\n%m = arith.mulf %n, %n : f32\n"
                             "%e = arith.mulf %m, %n : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 4})) << reason;
  find(Text()
           .reduce("%r", x + "%e = arith.mulf %x, %x : f32\n")
           .reduce("%s", x + result("r") +
                             "%n = arith.subf %x, %rv : f32\n%m = arith.mulf %n, %n : f32\n"
                             "%e = arith.mulf %m, %m : f32\n"));
  EXPECT_FALSE(chain);
  EXPECT_TRUE(StringRef(reason).starts_with("5 states, more than 4")) << reason;
}

TEST_F(DependentReductionsTest, ScaleAfterTheProduct) {
  find(Text()
           .reduce("%r", x + "%e = math.absf %x : f32\n", "arith.maximumf")
           .local(x + result("r") + "%e = arith.divf %x, %rv : f32\n")
           .product(p + v + "%e = arith.mulf %q, %v : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 1})) << reason;
}

TEST_F(DependentReductionsTest, MaximaOfMonotoneFunctions) {
  const std::string sum = x + "%e = arith.mulf %x, %x : f32\n";
  const std::string above = result("r") + "%e = arith.addf %rv, %small : f32\n";
  auto largest = [&](const std::string &body, const std::string &kind = "arith.maximumf",
                     const std::string &begin = "%least") {
    find(Text().reduce("%r", sum).row("%s", above).reduce("%t", x + result("s") + body, kind, begin));
    return ranks();
  };
  EXPECT_EQ(largest("%e = arith.subf %x, %sv : f32\n"), (Ranks{1, 2})) << reason; // the second is one
  EXPECT_EQ(largest("%e = arith.divf %x, %sv : f32\n"), (Ranks{1, 1})) << reason;
  EXPECT_EQ(largest("%e = arith.addf %x, %sv : f32\n", "arith.minimumf", "%most"), (Ranks{1, 2})) << reason;
  // Downwards, with a factor of unknown sign, and from another beginning.
  EXPECT_EQ(largest("%e = arith.subf %sv, %x : f32\n"), Ranks());
  EXPECT_EQ(largest("%n = arith.subf %sv, %one : f32\n%e = arith.mulf %x, %n : f32\n"), Ranks());
  EXPECT_EQ(largest("%e = arith.subf %x, %sv : f32\n", "arith.maximumf", "%zero"), Ranks());
  EXPECT_TRUE(StringRef(reason).starts_with("arith.maximumf of what depends on a result")) << reason;
}

TEST_F(DependentReductionsTest, MasksKeepTheirPlace) {
  find(Text()
           .reduce("%r", x + "%e = arith.mulf %x, %x : f32\n")
           .reduce("%s", x + y + result("r") +
                             "%c = arith.cmpf ogt, %y, %zero : f32\n%n = arith.divf %x, %rv : f32\n"
                             "%e = arith.select %c, %n, %zero : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 1})) << reason;
}

TEST_F(DependentReductionsTest, IndependentReductionsShareALoop) {
  find(Text().reduce("%r", x + "%e = arith.mulf %x, %x : f32\n").reduce("%s", x + "%e = math.absf %x : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 1})) << reason;
}

TEST_F(DependentReductionsTest, Refusals) {
  struct Case {
    std::string body, reason;
  };
  const std::string distance = x + result("r") + "%n = arith.subf %x, %rv : f32\n";
  for (const Case &each : {
           Case{distance + "%e = math.absf %n : f32\n", "math.absf of what depends on a result"},
           Case{distance + "%e = arith.maximumf %n, %zero : f32\n", "arith.maximumf of what depends on a result"},
           Case{distance + "%c = arith.cmpf ogt, %n, %zero : f32\n%e = arith.select %c, %x, %zero : f32\n",
                "a choice by a result of another reduction"},
           Case{distance + "%c = arith.fptosi %n : f32 to i8\n%e = arith.sitofp %c : i8 to f32\n",
                "a rounding of what"},
           Case{distance + "%e = math.roundeven %n : f32\n", "a rounding of what depends"},
           Case{distance + "%c = arith.truncf %n : f32 to f8E4M3FN\n%e = arith.extf %c : f8E4M3FN to f32\n",
                "fewer than 5 bits of exponent"},
           Case{distance + "%c = arith.truncf %n : f32 to f16\n%e = arith.extf %c : f16 to f32\n", "rounding of a sum"},
           Case{distance + "%e = math.exp %n : f32\n", "an exponential without a bound"},
           Case{distance + "%e = math.sqrt %n : f32\n", "math.sqrt of what depends"},
           Case{x + y + result("r") + "%n = arith.addf %y, %rv : f32\n%e = arith.divf %x, %n : f32\n",
                "a divisor that is a sum of both"},
       }) {
    find(Text().reduce("%r", x + "%e = arith.mulf %x, %x : f32\n").reduce("%s", each.body));
    EXPECT_FALSE(chain) << each.body;
    EXPECT_TRUE(StringRef(reason).contains(each.reason)) << reason << "\nexpected: " << each.reason;
  }
}

TEST_F(DependentReductionsTest, StrictKeepsSums) {
  Text text;
  text.reduce("%r", x + "%e = arith.mulf %x, %x : f32\n")
      .reduce("%s", x + result("r") + "%e = arith.divf %x, %rv : f32\n");
  find(text);
  EXPECT_TRUE(chain) << reason;
  find(text, /*mayReassociate=*/false);
  EXPECT_FALSE(chain);
  EXPECT_TRUE(StringRef(reason).starts_with("--fp=strict keeps each sum")) << reason;
}

TEST_F(DependentReductionsTest, SumsThatGoOnAreNotScaled) {
  // The second sum begins at 1: that is not to be divided.
  find(Text()
           .reduce("%r", x + "%e = arith.mulf %x, %x : f32\n")
           .reduce("%s", x + result("r") + "%e = arith.divf %x, %rv : f32\n", "arith.addf", "%one"));
  EXPECT_FALSE(chain);
  EXPECT_TRUE(StringRef(reason).starts_with("a sum that does not begin at zero")) << reason;
}

TEST_F(DependentReductionsTest, MaximaThatAreGuarded) {
  // Rows without a term: the maximum is -inf, and 0 is subtracted; the sum is 0, and 1 divides; a choice by it is zero.
  const std::string guarded = "%w = arith.cmpf oeq, %rv, %least : f32\n%m = arith.select %w, %zero, %rv : f32\n";
  auto soft = [&](const std::string &guard) {
    find(Text()
             .reduce("%r", x + "%e = arith.addf %x, %zero : f32\n", "arith.maximumf", "%least")
             .local(x + result("r") + guard +
                    "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %m : f32\n%e = math.exp %n : f32\n")
             .reduce("%s", p + "%e = arith.mulf %q, %one : f32\n")
             .product(p + v + result("s") +
                      "%w = arith.cmpf oeq, %sv, %zero : f32\n%n = arith.divf %q, %sv : f32\n"
                      "%g = arith.select %w, %zero, %n : f32\n%e = arith.mulf %g, %v : f32\n"));
    return ranks();
  };
  EXPECT_EQ(soft(guarded), (Ranks{1, 1, 1})) << reason;
  EXPECT_EQ(certificate(), "(a2[i, j] * a5[j, k]) / <a3[i]> unless cmpf(a3[i], 0.000000e+00) at base "
                           "select(cmpf(a0[i], -INF), 0.000000e+00, a0[i])");
  // The same where a nest of its own chooses.
  find(Text()
           .reduce("%r", x + "%e = arith.addf %x, %zero : f32\n", "arith.maximumf", "%least")
           .row("%t", result("r") + "%w = arith.cmpf oeq, %rv, %least : f32\n%e = arith.select %w, %zero, %rv : f32\n")
           .local(x + result("t") +
                  "%z = arith.addf %x, %zero : f32\n%n = arith.subf %z, %tv : f32\n%e = math.exp %n : f32\n")
           .reduce("%s", p + "%e = arith.mulf %q, %one : f32\n"));
  EXPECT_EQ(ranks(), (Ranks{1, 1})) << reason;
  EXPECT_EQ(certificate(), "(a3[i, j] * 1.000000e+00) at base select(cmpf(a0[i], -INF), 0.000000e+00, a0[i])");
  // What is subtracted otherwise would be another number at the base.
  EXPECT_EQ(soft("%w = arith.cmpf oeq, %rv, %zero : f32\n%m = arith.select %w, %one, %rv : f32\n"), Ranks());
  EXPECT_TRUE(StringRef(reason).starts_with("an exponential without a bound")) << reason;
}

namespace {
/// Soft-max of what `mask` selects of the scores, which computes %c of %i and %j.
Text maskedSoftMax(const std::string &mask, const std::string &other = "%least") {
  const std::string masked = x + mask + "%z = arith.select %c, %x, " + other + " : f32\n";
  return Text()
      .reduce("%r", masked + "%e = arith.addf %z, %zero : f32\n", "arith.maximumf", "%least")
      .local(masked + result("r") +
             "%same = arith.addf %z, %zero : f32\n%far = arith.subf %same, %rv : f32\n%e = math.exp %far : f32\n")
      .reduce("%s", p + "%e = arith.mulf %q, %one : f32\n")
      .product(p + v + "%e = arith.mulf %q, %v : f32\n");
}

std::string textOf(ArrayRef<AffineExpr> exprs) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(exprs, os, "; ");
  return text;
}
} // namespace

TEST_F(DependentReductionsTest, MasksLeaveOutSteps) {
  struct Case {
    std::string mask, conditions, first, end, firstFull, endFull; // in steps of 8; rows are loop 0, keys loop 1
  };
  for (const Case &each : {
           Case{"%c = arith.cmpi sle, %j, %i : index\n", "d0 - d1", "", "1", "", "0"},
           Case{"%c = arith.cmpi sgt, %j, %i : index\n", "-d0 + d1 - 1", "0", "", "1", ""},
           Case{"%n = arith.index_cast %j : index to i64\n%m = arith.index_cast %i : index to i64\n"
                "%c = arith.cmpi sge, %m, %n : i64\n",
                "d0 - d1", "", "1", "", "0"},
           Case{"%k = affine.apply affine_map<(d0) -> (d0 * 4 + 2)>(%i)\n%c = arith.cmpi slt, %j, %k : index\n",
                "d0 * 4 - d1 + 1", "", "2", "", "0"},
           Case{"%limit = arith.constant 11 : index\n%c = arith.cmpi sge, %j, %limit : index\n", "d1 - 11", "1", "",
                "2", ""},
       }) {
    find(maskedSoftMax(each.mask));
    ASSERT_TRUE(chain) << reason;
    Conditions conditions = liveConditions(*chain);
    EXPECT_EQ(textOf(conditions), each.conditions);
    StepBounds bounds = boundSteps(*chain, conditions, 8);
    EXPECT_TRUE(bounds.areExact);
    EXPECT_EQ(textOf(bounds.first), each.first);
    EXPECT_EQ(textOf(bounds.end), each.end);
    EXPECT_EQ(textOf(bounds.firstFull), each.firstFull);
    EXPECT_EQ(textOf(bounds.endFull), each.endFull);
  }
}

TEST_F(DependentReductionsTest, MasksThatLeaveOutNothing) {
  for (const std::string &mask : {
           std::string("%c = arith.cmpi ne, %j, %i : index\n"),
           std::string("%a = arith.cmpi sle, %j, %i : index\n%limit = arith.constant 4 : index\n"
                       "%b = arith.cmpi slt, %j, %limit : index\n%c = arith.ori %a, %b : i1\n"),
           std::string("%n = arith.muli %j, %j : index\n%c = arith.cmpi sle, %n, %i : index\n"),
       }) {
    find(maskedSoftMax(mask));
    ASSERT_TRUE(chain) << reason;
    EXPECT_TRUE(liveConditions(*chain).empty()) << mask;
  }
  // A number that is finite is a term like others.
  find(maskedSoftMax("%c = arith.cmpi sle, %j, %i : index\n", "%small"));
  ASSERT_TRUE(chain) << reason;
  EXPECT_TRUE(liveConditions(*chain).empty());
}

TEST_F(DependentReductionsTest, ConditionsDecideMasks) {
  find(maskedSoftMax(
      "%n = arith.cmpi sgt, %j, %i : index\n%limit = arith.constant true\n%c = arith.xori %n, %limit : i1\n"));
  ASSERT_TRUE(chain) << reason;
  Conditions conditions = liveConditions(*chain);
  ASSERT_EQ(conditions.size(), 1u);
  const Term *select = nullptr;
  for (const ReductionStatement &s : chain->statements)
    for (const Term *term = s.term; term && !select; term = term->operands.empty() ? nullptr : term->operands[0])
      if (term->name == "arith.select")
        select = term;
  ASSERT_TRUE(select);
  EXPECT_EQ(decidedBy(*chain, select->operands[0], conditions), true);
  AffineExpr violated = simplifyAffineExpr(-conditions.front() - 1, chain->loops.size(), chain->symbols.size());
  EXPECT_EQ(decidedBy(*chain, select->operands[0], violated), false);
  EXPECT_EQ(decidedBy(*chain, select->operands[0], {}), std::nullopt);
}

} // namespace dependent_reductions_test
