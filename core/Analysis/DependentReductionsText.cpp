//===- DependentReductionsText.cpp - Dependent reductions in words --------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Statements, terms and certificates as `--explain` prints them.
///
//===----------------------------------------------------------------------===//

#include "core/Analysis/DependentReductions.h"
#include <functional>

using namespace mlir;
using namespace tilewright;

static std::string loopName(unsigned loop) { return std::string(1, char('i' + loop % 18)); }

std::string DependentReductions::nameOf(Value array) const {
  size_t at = llvm::find(arrays, array) - arrays.begin();
  if (at == arrays.size())
    arrays.push_back(array);
  return "a" + std::to_string(at);
}

void DependentReductions::nameArrays() const {
  llvm::DenseSet<const Term *> seen;
  std::function<void(const Term *)> visit = [&](const Term *term) {
    if (!seen.insert(term).second)
      return;
    if (term->kind == Term::Kind::Load || term->kind == Term::Kind::Outer)
      (void)nameOf(term->value);
    llvm::for_each(term->operands, visit);
  };
  for (const ReductionStatement &statement : statements) {
    (void)nameOf(statement.memref);
    visit(statement.term);
  }
}

std::string DependentReductions::text(AffineMap map) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::ListSeparator comma;
  for (unsigned d = 0; d < map.getNumResults(); ++d)
    if (std::optional<unsigned> loop = loopOfIndex(map, d))
      os << comma << loopName(*loop);
  return text.empty() ? text : "[" + text + "]";
}

std::string DependentReductions::text(const Term *term) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (term->kind) {
  case Term::Kind::Load:
    os << nameOf(term->value) << (term->part > 0 ? "." + std::to_string(term->part) : "") << this->text(term->map);
    return text;
  case Term::Kind::Constant:
    if (auto number = dyn_cast<FloatAttr>(term->attribute))
      os << number.getValueAsDouble();
    else if (auto integer = dyn_cast<IntegerAttr>(term->attribute))
      os << integer.getValue();
    else
      os << term->attribute;
    return text;
  case Term::Kind::Outer:
    os << "v" << nameOf(term->value);
    return text;
  case Term::Kind::Index:
    return loopName(term->loop);
  case Term::Kind::Op:
    break;
  }
  StringRef name = StringRef(term->name).split('.').second;
  static const llvm::StringMap<StringRef> infix{{"addf", " + "}, {"subf", " - "}, {"mulf", " * "}, {"divf", " / "}};
  if (auto found = infix.find(name); found != infix.end()) {
    os << "(" << this->text(term->operands[0]) << found->second << this->text(term->operands[1]) << ")";
    return text;
  }
  os << name << "(";
  llvm::interleaveComma(term->operands, os, [&](const Term *operand) { os << this->text(operand); });
  os << ")";
  return text;
}

std::string DependentReductions::text(const ReductionStatement &s) const {
  std::string text = nameOf(s.memref) + this->text(s.map) + " = ";
  if (s.combine) {
    text += s.combine->getName().stripDialect().str() + " over ";
    llvm::ListSeparator comma;
    for (unsigned loop : s.reduced)
      text += StringRef(comma).str() + loopName(loop);
    text += " of ";
  }
  return text + this->text(s.term);
}

std::string DependentReductions::pairsText(const ReductionStatement &s) const {
  std::string text;
  for (const SeparablePair &pair : s.pairs) {
    text += text.empty() ? (pair.isNegative ? "-" : "") : pair.isNegative ? " - " : " + ";
    text += pair.g ? this->text(pair.g) : "1";
    for (const SeparablePair::Factor &factor : pair.h)
      text += (factor.isDivisor ? " / " : " * ") + ("<" + this->text(factor.term) + ">");
    for (SeparablePair::Guard guard : pair.guards)
      text += (guard.isZeroIfTrue ? " unless " : " where ") + this->text(guard.where);
    for (unsigned base : pair.bases)
      text += " at base " + this->text(bases[base].value);
    if (pair.mean >= 0)
      text += " at mean " + this->text(means[pair.mean].value);
  }
  return text;
}
