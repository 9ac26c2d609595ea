//===- RingMutationTest.cpp - Rings that lack one step ------------------------ ===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Takes single steps, fences and arrangements out of products through rings: each
/// one is missed, by the emulator, the static checks, a wrong result or the counter of
/// conflicts.
///
//===----------------------------------------------------------------------===//

#include "LaunchFixture.h"
#include "core/Emulator/FenceCheck.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tilewright/LaneOps.h"
#include "tilewright/Target.h"

namespace ring_mutation_test {

using namespace tilewright;
using namespace tilewright::test;

namespace {

/// Ops whose removal must show, by number; `take` removes the one of number `which`, -1 none. Returns how many there
/// are. `only`: what their names contain.
int visitSteps(mlir::ModuleOp module, int which, std::string &what, llvm::StringRef only = "") {
  int count = 0;
  llvm::SmallVector<mlir::Operation *> steps;
  module.walk([&](mlir::Operation *op) {
    llvm::StringRef name = op->getName().getStringRef();
    auto assembly = llvm::dyn_cast<mlir::LLVM::InlineAsmOp>(op);
    bool waits = assembly && assembly.getAsmString().contains("wait");
    for (llvm::StringRef part : {"arrive", "try_wait", "commit", "barrier0", "wait_group", "cluster.wait",
                                 "fence.proxy", "mbarrier.init", "tcgen05.fence", "tcgen05.dealloc"})
      waits |= name.contains(part);
    waits |= name == "nvvm.barrier";
    if (only.empty() ? waits : name.contains(only))
      steps.push_back(op);
  });
  count = steps.size();
  if (which < 0)
    return count;
  mlir::Operation *op = steps[which];
  what = op->getName().getStringRef().str() + " " + std::to_string(which);
  mlir::OpBuilder builder(op);
  if (op->getNumResults() && !op->getResult(0).use_empty()) { // a wait that carries registers: they go past it
    mlir::Value result = mlir::LLVM::UndefOp::create(builder, op->getLoc(), op->getResult(0).getType());
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      result = mlir::LLVM::InsertValueOp::create(builder, op->getLoc(), result, value, int64_t(i));
    op->getResult(0).replaceAllUsesWith(result);
  }
  op->erase();
  return count;
}

/// Arrays of a run, of which the last one is the result, and what it must be.
struct Run {
  std::vector<Array> arrays;
  std::vector<double> expected;

  Run(std::vector<Array> arrays, std::vector<double> expected)
      : arrays(std::move(arrays)), expected(std::move(expected)) {}
  Run(const Product &p) : arrays{p.a, p.b, p.c, p.c}, expected(p.expected) {}
};

/// Whether in some mode something is found or a result is wrong; modes after the first such one are not run.
bool isWrong(const Compiled &compiled, const Run &run) {
  for (const EmulatorMode &mode : allModes(compiled.kernels->engines())) {
    Emulator device(compiled.kernels);
    device.mode = mode;
    device.counting = false;
    std::vector<Array> arrays = run.arrays;
    runOnce(compiled, device, {}, arrays);
    if (!device.findings().empty())
      return true;
    for (size_t i = 0; i < run.expected.size(); ++i)
      if (arrays.back().at(i) != run.expected[i])
        return true;
  }
  return false;
}

void eachStepIsNeeded(const std::string &chip, const std::string &text, const Run &p, const std::string &plan,
                      llvm::StringRef only = "", int least = 8) {
  int steps = 0;
  std::string what;
  Compiled whole =
      compileFor(text, chip, plan, [&](mlir::ModuleOp module) { steps = visitSteps(module, -1, what, only); });
  ASSERT_TRUE(usesRing(whole));
  EXPECT_FALSE(isWrong(whole, p));
  EXPECT_GE(steps, least);
  for (int which = 0; which < steps; ++which) {
    Compiled without =
        compileFor(text, chip, plan, [&](mlir::ModuleOp module) { visitSteps(module, which, what, only); });
    ASSERT_TRUE(without.kernels);
    EXPECT_TRUE(isWrong(without, p)) << chip << " without " << what;
  }
}

void eachStepIsNeeded(const std::string &chip, int64_t m, int64_t n, int64_t k, const std::string &plan) {
  const Gemm g = halfGemm(/*transB=*/true);
  std::mt19937 random(10);
  eachStepIsNeeded(chip, gemmText(g, m, n, k), Product(g, m, n, k, random), plan);
}

/// A product of f8E4M3FN with powers of two for 32 elements along k.
struct ScaledProduct {
  int64_t m, n, k;

  std::string text() const {
    auto type = [](int64_t rows, int64_t cols, const char *element) {
      return "tensor<" + std::to_string(rows) + "x" + std::to_string(cols) + "x" + element + ">";
    };
    const std::string a = type(m, k, "f8E4M3FN"), b = type(n, k, "f8E4M3FN"), c = type(m, n, "f32");
    const std::string s = type(m, k / 32, "f8E8M0FNU"), t = type(n, k / 32, "f8E8M0FNU");
    return "func.func @f(%a: " + a + ", %s: " + s + ", %b: " + b + ", %t: " + t + ") -> " + c +
           " {\n%z = arith.constant 0.0 : f32\n%e = tensor.empty() : " + c +
           "\n%i = linalg.fill ins(%z : f32) outs(%e : " + c + ") -> " + c +
           "\n%r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, "
           "affine_map<(i, j, k) -> (i, k floordiv 32)>, affine_map<(i, j, k) -> (j, k)>, "
           "affine_map<(i, j, k) -> (j, k floordiv 32)>, affine_map<(i, j, k) -> (i, j)>], "
           "iterator_types = [\"parallel\", \"parallel\", \"reduction\"]} ins(%a, %s, %b, %t : " +
           a + ", " + s + ", " + b + ", " + t + ") outs(%i : " + c + R"() {
    ^bb0(%x: f8E4M3FN, %u: f8E8M0FNU, %y: f8E4M3FN, %v: f8E8M0FNU, %o: f32):
      %0 = arith.extf %x : f8E4M3FN to f32
      %1 = arith.extf %u : f8E8M0FNU to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.extf %y : f8E4M3FN to f32
      %4 = arith.extf %v : f8E8M0FNU to f32
      %5 = arith.mulf %3, %4 : f32
      %6 = arith.mulf %2, %5 : f32
      %7 = arith.addf %o, %6 : f32
      linalg.yield %7 : f32
    } -> )" +
           c + "\nreturn %r : " + c + "\n}";
  }

  /// Sums are exact.
  Run run() const {
    std::mt19937 random(14);
    auto scales = [&](int64_t rows) {
      Array result(ElementKind::F8E8M0, rows * k / 32, nullptr);
      for (size_t i = 0; i < result.values.size(); ++i) {
        result.values[i] = double(1 << std::uniform_int_distribution<int>(0, 3)(random)) / 2;
        writeElement(result.kind, result.bytes.data(), int64_t(i), result.values[i]);
      }
      return result;
    };
    Array a(ElementKind::F8E4M3, m * k, &random), s = scales(m), b(ElementKind::F8E4M3, n * k, &random), t = scales(n),
                                                  c(ElementKind::F32, m * n, nullptr);
    std::vector<double> expected(m * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          expected[i * n + j] +=
              a.values[i * k + l] * s.values[(i * k + l) / 32] * b.values[j * k + l] * t.values[(j * k + l) / 32];
    return Run({a, s, b, t, c}, expected);
  }
};

/// A product of f16 whose A keeps two of four elements along k.
struct SparseProduct {
  int64_t m, n, k;

  std::string text() const {
    const std::string groups = std::to_string(m) + "x" + std::to_string(k / 4) + "x2";
    const std::string a = "tensor<" + groups + "xf16>", p = "tensor<" + groups + "xi8>";
    const std::string b = "tensor<" + std::to_string(n) + "x" + std::to_string(k) + "xf16>";
    const std::string c = "tensor<" + std::to_string(m) + "x" + std::to_string(n) + "xf32>";
    return "func.func @f(%a: " + a + ", %p: " + p + " {tilewright.ascending}, %b: " + b + ") -> " + c +
           " {\n%z = arith.constant 0.0 : f32\n%e = tensor.empty() : " + c +
           "\n%i = linalg.fill ins(%z : f32) outs(%e : " + c + ") -> " + c +
           "\n%r = linalg.generic {indexing_maps = [affine_map<(i, j, k, s) -> (i, k floordiv 4, s)>, "
           "affine_map<(i, j, k, s) -> (i, k floordiv 4, s)>, affine_map<(i, j, k, s) -> (j, k)>, "
           "affine_map<(i, j, k, s) -> (i, j)>], "
           "iterator_types = [\"parallel\", \"parallel\", \"reduction\", \"reduction\"]} ins(%a, %p, %b : " +
           a + ", " + p + ", " + b + ") outs(%i : " + c + R"() {
    ^bb0(%x: f16, %q: i8, %y: f16, %o: f32):
      %mask = arith.constant 3 : i8
      %place = arith.andi %q, %mask : i8
      %k = linalg.index 2 : index
      %low = arith.index_cast %k : index to i8
      %wanted = arith.andi %low, %mask : i8
      %here = arith.cmpi eq, %place, %wanted : i8
      %0 = arith.extf %x : f16 to f32
      %1 = arith.extf %y : f16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.select %here, %2, %z : f32
      %4 = arith.addf %o, %3 : f32
      linalg.yield %4 : f32
    } -> )" +
           c + "\nreturn %r : " + c + "\n}";
  }

  /// Sums are exact.
  Run run() const {
    std::mt19937 random(15);
    const int64_t kept = k / 2;
    Array a(ElementKind::F16, m * kept, &random), b(ElementKind::F16, n * k, &random),
        c(ElementKind::F32, m * n, nullptr);
    Array p(ElementKind::I8, m * kept, nullptr);
    for (int64_t i = 0; i < m * kept; i += 2) {
      const int first = std::uniform_int_distribution<int>(0, 2)(random);
      p.values[i] = first;
      p.values[i + 1] = std::uniform_int_distribution<int>(first + 1, 3)(random);
    }
    for (int64_t i = 0; i < m * kept; ++i)
      writeElement(p.kind, p.bytes.data(), i, p.values[i]);
    std::vector<double> expected(m * n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t e = 0; e < kept; ++e)
          expected[i * n + j] += a.values[i * kept + e] * b.values[j * k + e / 2 * 4 + int64_t(p.values[i * kept + e])];
    return Run({a, p, b, c}, expected);
  }
};

} // namespace

namespace {

/// Ops of `module` whose name contains `part`.
llvm::SmallVector<mlir::Operation *> opsNamed(mlir::ModuleOp module, llvm::StringRef part) {
  llvm::SmallVector<mlir::Operation *> found;
  module.walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef().contains(part))
      found.push_back(op);
  });
  return found;
}

/// What the static check says of the kernels of `module`.
std::string messageOf(mlir::ModuleOp module, const std::string &chipName) {
  auto chip = llvm::cantFail(TargetRegistry::get().describe(chipName));
  EmulationTable table;
  llvm::cantFail(TargetRegistry::get().target(chip->target()))->emulate(table);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(module.getContext(),
                                        [&](mlir::Diagnostic &diagnostic) { message += diagnostic.str() + "\n"; });
  bool sound = mlir::succeeded(checkEngineFences(module, chip, table));
  EXPECT_EQ(sound, message.empty()) << message;
  return message;
}

/// A product whose results leave by the engine, after stage 5.
void onLowered(const std::string &chip, const std::string &plan, llvm::function_ref<void(mlir::ModuleOp)> work) {
  const Gemm g = halfGemm(/*transB=*/true);
  compileFor(gemmText(g, 128, 128, 128), chip, forceTile(64, 128) + plan, work);
}

} // namespace

/// Each fence before engines, removed or put behind the barrier that follows it, is found by the static check alone.
TEST(Ring, EachFenceIsNeededStatically) {
  for (const std::string &chip : ringChips())
    for (const char *cluster : {",cluster=1", ",cluster=2"}) {
      int faults = 0;
      onLowered(chip, cluster, [&](mlir::ModuleOp module) {
        EXPECT_EQ(messageOf(module, chip), "");
        size_t fences = opsNamed(module, "fence.proxy").size();
        EXPECT_GE(fences, 2u) << "of the phase objects and of what leaves";
        for (size_t which = 0; which < fences; ++which) {
          auto without = mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
          opsNamed(*without, "fence.proxy")[which]->erase();
          EXPECT_NE(messageOf(*without, chip).find("is missing after the write"), std::string::npos) << chip << which;
          auto late = mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
          mlir::Operation *fence = opsNamed(*late, "fence.proxy")[which];
          for (mlir::Operation *next = fence->getNextNode(); next; next = next->getNextNode())
            if (next->getName().getStringRef().starts_with("nvvm.barrier")) {
              fence->moveAfter(next);
              EXPECT_NE(messageOf(*late, chip).find("stands after the barrier"), std::string::npos) << chip << which;
              ++faults;
              break;
            }
        }
      });
      EXPECT_GT(faults, 0);
    }
}

/// Each fence of the units' registers, removed or put where no sum has begun yet, is found by the static check alone:
/// the emulator gives units their registers at once.
TEST(Ring, EachFenceOfRegistersIsNeededStatically) {
  for (const std::string &chip : ringChips()) {
    size_t fences = 0;
    onLowered(chip, ",cluster=1", [&](mlir::ModuleOp module) {
      fences = opsNamed(module, "wgmma.fence").size();
      for (size_t which = 0; which < fences; ++which) {
        auto without = mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
        opsNamed(*without, "wgmma.fence")[which]->erase();
        EXPECT_NE(
            messageOf(*without, chip).find("a fence of units' registers is missing before the kernel's first unit"),
            std::string::npos)
            << chip << which;
        auto early = mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
        mlir::Operation *fence = opsNamed(*early, "wgmma.fence")[which];
        mlir::Block &entry = fence->getParentOfType<mlir::LLVM::LLVMFuncOp>().front();
        fence->moveBefore(&entry, entry.begin());
        EXPECT_NE(messageOf(*early, chip).find("a fence of units' registers is missing after an access by lanes"),
                  std::string::npos)
            << chip << which << messageOf(*early, chip);
      }
    });
    EXPECT_GT(fences, 0u) << chip;
  }
}

/// The swizzle of each map of tiles and of each description of a unit's operand: another one shows.
TEST(Ring, EachSwizzleIsNeeded) {
  const Gemm g = halfGemm(/*transB=*/true);
  const int64_t m = 64, n = 128, k = 128;
  std::mt19937 random(12);
  Product p(g, m, n, k, random);
  const std::string text = gemmText(g, m, n, k);
  for (const std::string &chip : ringChips()) {
    auto compile = [&](llvm::function_ref<void(mlir::ModuleOp)> edit) {
      return compileFor(text, chip, forceTile(64, 128) + ",cluster=1,stages=2", edit);
    };
    const std::string key = "\"swizzle\":";
    auto manifestOf = [](mlir::ModuleOp module) {
      auto manifests = module->getAttrOfType<mlir::ArrayAttr>(manifestsAttr);
      return mlir::cast<mlir::StringAttr>(manifests[0]).getValue().str();
    };
    // Of the maps: A, B, and what the result leaves by.
    std::vector<size_t> maps;
    std::vector<int64_t> descriptions;
    auto isDescription = [](int64_t bits) { return (bits >> 62) != 0 && ((bits >> 46) & 0xffff) == 0; };
    auto eachDescription = [&](mlir::ModuleOp module, llvm::function_ref<void(mlir::LLVM::ConstantOp, int64_t)> visit) {
      module.walk([&](mlir::LLVM::ConstantOp constant) {
        auto number = mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue());
        if (number && constant.getType().isInteger(64) && isDescription(number.getInt()))
          visit(constant, number.getInt());
      });
    };
    Compiled whole = compile([&](mlir::ModuleOp module) {
      std::string manifest = manifestOf(module);
      for (size_t at = manifest.find(key); at != std::string::npos; at = manifest.find(key, at + 1))
        maps.push_back(at + key.size());
      eachDescription(module, [&](mlir::LLVM::ConstantOp, int64_t bits) { descriptions.push_back(bits); });
    });
    ASSERT_TRUE(usesRing(whole));
    EXPECT_FALSE(isWrong(whole, p));
    EXPECT_EQ(maps.size(), 3u);
    EXPECT_GE(descriptions.size(), 1u);
    for (size_t which = 0; which < maps.size(); ++which)
      for (int64_t swizzle : {0, 32, 64, 128}) {
        bool same = false;
        Compiled other = compile([&](mlir::ModuleOp module) {
          std::string manifest = manifestOf(module);
          size_t end = manifest.find_first_not_of("0123456789", maps[which]);
          same = manifest.substr(maps[which], end - maps[which]) == std::to_string(swizzle);
          manifest.replace(maps[which], end - maps[which], std::to_string(swizzle));
          mlir::Builder builder(module.getContext());
          module->setAttr(manifestsAttr, builder.getArrayAttr({builder.getStringAttr(manifest)}));
        });
        ASSERT_TRUE(other.kernels);
        EXPECT_EQ(isWrong(other, p), !same) << chip << ": map " << which << " of " << swizzle << " bytes";
      }
    for (size_t which = 0; which < descriptions.size(); ++which)
      for (uint64_t mode : {0, 1, 2, 3}) {
        bool same = false;
        Compiled other = compile([&](mlir::ModuleOp module) {
          size_t number = 0;
          eachDescription(module, [&](mlir::LLVM::ConstantOp constant, int64_t bits) {
            if (number++ != which)
              return;
            int64_t changed = int64_t((uint64_t(bits) & ~(uint64_t(3) << 62)) | mode << 62);
            same = changed == bits;
            constant.setValueAttr(mlir::IntegerAttr::get(constant.getType(), changed));
          });
        });
        ASSERT_TRUE(other.kernels);
        EXPECT_EQ(isWrong(other, p), !same) << chip << ": description " << which << ", mode " << mode;
      }
  }
}

/// More steps than stages, two groups.
TEST(Ring, EachStepIsNeeded) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 128, 16, 256, forceTile(128, 16) + ",cluster=1,stages=3");
}

/// Results leave through two buffers in turn.
TEST(Ring, EachStepOfStoresIsNeeded) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 64, 128, 256, forceTile(64, 128) + ",stages=2");
}

/// Two blocks that share what they copy.
TEST(Ring, EachStepIsNeededInClusters) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 128, 16, 256, forceTile(64, 16) + ",cluster=2,stages=2");
}

/// What hands the ring on from one tile to the next.
TEST(Ring, EachStepIsNeededBetweenTiles) {
  for (const std::string &chip : ringChips())
    eachStepIsNeeded(chip, 128, 32, 192, forceTile(64, 16) + ",cluster=1,stages=2,workers=2");
}

/// Units that add up in a memory of the block: results through two buffers; and what hands accumulators on from one
/// tile to the next.
TEST(Ring, EachStepIsNeededWithAccumulatorsInBlocks) {
  eachStepIsNeeded("nvidia:B200", 128, 64, 256, forceTile(128, 64) + ",stages=2");
  eachStepIsNeeded("nvidia:B200", 256, 32, 192, forceTile(128, 16) + ",stages=2,workers=2");
}

/// Scales beside the accumulators: those of A, and of B.
TEST(Ring, EachCopyOfScalesIsNeeded) {
  const ScaledProduct p{128, 64, 384};
  eachStepIsNeeded("nvidia:B200", p.text(), p.run(), forceTile(128, 64) + ",stages=2", "tcgen05.cp", 2);
}

/// Places of a sparse A in the stages: a group passes a barrier before one of its lanes gives a stage back for the
/// others, which read places there.
TEST(Ring, EachBarrierOfASparseProductIsNeeded) {
  const SparseProduct p{64, 32, 192};
  eachStepIsNeeded("nvidia:H100", p.text(), p.run(), forceTile(64, 32) + ",cluster=1,stages=2", "nvvm.barrier", 2);
}

/// The index of a sparse A beside the accumulators, and all that orders the copy and the units around it.
TEST(Ring, EachCopyOfAnIndexIsNeeded) {
  const SparseProduct p{128, 64, 192};
  const std::string plan = forceTile(128, 64) + ",stages=2";
  eachStepIsNeeded("nvidia:B200", p.text(), p.run(), plan, "tcgen05.cp", 1);
  eachStepIsNeeded("nvidia:B200", p.text(), p.run(), plan);
}

/// Scales of all stages in the same entries: copies are in no order with the units that find those of the step before.
TEST(Ring, ScalesOfEachStageHaveEntriesOfTheirOwn) {
  const ScaledProduct p{128, 32, 512};
  int changed = 0;
  Compiled shared = compileFor(p.text(), "nvidia:B200", forceTile(128, 32) + ",stages=2", [&](mlir::ModuleOp module) {
    // Each step's entries are the number of its stage times those of one.
    constexpr int64_t entriesOfStage = 8;
    for (mlir::Operation *op : opsNamed(module, "llvm.mul")) {
      auto constant = op->getOperand(1).getDefiningOp<mlir::LLVM::ConstantOp>();
      auto number = constant ? mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : mlir::IntegerAttr();
      if (!number || number.getInt() != entriesOfStage || !op->getResult(0).getType().isInteger(32))
        continue;
      mlir::OpBuilder builder(op);
      mlir::Value none = mlir::LLVM::ConstantOp::create(builder, op->getLoc(), op->getResult(0).getType(),
                                                        builder.getI32IntegerAttr(0));
      op->getResult(0).replaceAllUsesWith(none);
      ++changed;
    }
  });
  ASSERT_TRUE(shared.kernels);
  EXPECT_GT(changed, 0);
  Emulator device(shared.kernels);
  device.mode = allModes(shared.kernels->engines()).front();
  std::vector<Array> arrays = p.run().arrays;
  runOnce(shared, device, {}, arrays);
  EXPECT_TRUE(llvm::any_of(device.findings(), [](const Finding &finding) {
    return finding.kind == FindingKind::Race && finding.message.find("overwrites scales") != std::string::npos;
  }));
}

} // namespace ring_mutation_test
