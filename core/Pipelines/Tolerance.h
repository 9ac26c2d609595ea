//===- Tolerance.h - What may differ between two runs -----------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tolerance of a float output with element type T, largest magnitude S of the
/// reference, and n operations that a result has passed through one behind the
/// other (the pass `count-roundings`: the length of its sums, not that of arrays):
///
///   |out - ref| <= eps(T') * (4 |ref| + 2 S) + eps(C) * (16 + min(2 n, 8 sqrt(n))) * S + step(T, ref)
///
/// T' is the narrowest float type among all arrays, C the type that T computes in
/// (f32, f64 for f64), eps(f64, f32, f16, bf16) = 2^-52, 2^-23, 2^-10, 2^-7.
///
/// n operations that err by u of their results each, err by at most gamma_n = n u / (1 - n u) of the sum of magnitudes,
/// and by lambda sqrt(n) u but for a chance of about 2 n exp(-lambda^2 / 2), where each error has the mean 0 whatever
/// the others are (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1; N. J. Higham and
/// T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5), 2019, theorem 2.4).
/// Here u = eps(C) / 2, lambda = 16, and gamma_n is taken four times, since units may cut off (2 u). Sums of values of
/// one sign have S as their sum of magnitudes; those of random signs have about sqrt(n) S, but err by a multiple of u
/// of it that does not grow with n (the same, Sharper Probabilistic Backward Error Analysis for Basic Linear Algebra
/// Kernels with Random Data, SIAM J. Sci. Comput. 42(5), 2020). Sums in f32 one term after the other came out at 0.035
/// of the tolerance, which leaves room for what follows a sum: a result that is small by chance, exp of it. Zeros pass
/// in no program: that takes n >= 2^40.
///
/// **Ill-conditioned programs.** The bound takes an error of u of a value to become one of about u of the result. A
/// soft-max of logits of some hundred makes hundreds of u of it, since the relative error of exp(x) is the absolute
/// error of x. So where an output is beyond the tolerance, the reference runs 4 times more, each input in f32 or f64
/// taken for one of its neighbours, up or down by chance. With m the most that an element moves in these,
///
///   tolerance' = tolerance + 16 m
///
/// A backward stable computation gives the exact results of inputs that are some u away (Higham, section 1.5), so to
/// first order its error has the distribution of these moves, a few times as wide: one rounding an operation beside one
/// an input. 16 is that factor of 2 over the chance that all of 4 moves of a normal distribution are less than 1/8 of
/// its deviation: 0.1^4. Well-conditioned programs move by about u, so that what is wrong there stays so. BERT's layers
/// with random weights (deviation of the logits 770 and 1150 to 1960, `test/benchmark/networks.py`): evaluated in f32
/// by NumPy they are at 2.1, 6.5 and 2.9 of the tolerance for three seeds, and in f64 with inputs moved so at 0.5, 8.2
/// and 7.6.
///
/// Where a unit of the compiled program rounds the elements that it reads (TF32 with --fp=fast: 2^-10), T' is at least
/// as wide as that.
///
/// 8-bit floats (eps 2^-3 and 2^-2) would make that useless: their values are exact
/// in f32, so that one counts in T' only where the program rounds to it and reads
/// the result again. An output of such a type may be the neighbour of the
/// reference's number: step(T, ref) = eps(T) |ref| + the smallest number of T; for
/// other types it is 0.
///
/// Integers are equal or wrong. NaN is always wrong, an infinity right where the
/// reference has the same; in an output of 8-bit floats, of which most have no
/// infinity, NaN is right where the reference has it.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PIPELINES_TOLERANCE_H
#define TILEWRIGHT_CORE_PIPELINES_TOLERANCE_H

#include "core/Runtime/Array.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

class Tolerance {
public:
  /// Of the outputs of `program` with these arrays; `roundings`: n; `operandSpacing`: of numbers to which its units
  /// round operands.
  Tolerance(mlir::ModuleOp program, const std::vector<Array> &arrays, double roundings, double operandSpacing = 0);

  /// |got - expected| / tolerance of one element of an output of `type` whose largest magnitude is `scale`; `error` is
  /// |got - expected|. `moved`: m, how far the reference moves with the last bits of its inputs. Above 1 is wrong.
  double ratio(ElementType type, double scale, double got, double expected, double &error, double moved = 0) const;

private:
  double narrowest = 0x1p-52;
  double growth; // min(2 n, 8 sqrt(n))
};

} // namespace tilewright

#endif // TILEWRIGHT_CORE_PIPELINES_TOLERANCE_H
