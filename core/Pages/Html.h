//===- Html.h - Self-contained pages ----------------------------*- C++ -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Pages without scripts or anything loaded: one style, escaped text, and drawings as
/// SVG. Colours follow the reader's preference for light or dark.
///
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CORE_PAGES_HTML_H
#define TILEWRIGHT_CORE_PAGES_HTML_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace tilewright::html {

/// `text` with the characters that mean something in HTML replaced; other bytes that are no UTF-8 as well.
std::string escape(llvm::StringRef text);
/// The same, with places where a name may break: after a point or an underscore. "16 x 16 x 64" breaks nowhere.
std::string breakable(llvm::StringRef text);

/// A whole page around `body`, with `title` as its heading and `lead` (text) below.
std::string page(llvm::StringRef title, llvm::StringRef lead, const std::string &body);

/// A section with a heading; `id` for links.
std::string section(llvm::StringRef id, llvm::StringRef heading, const std::string &body);

/// "32 KiB", "1.5 MiB", "64 bytes".
std::string bytes(int64_t bytes);
/// "12.3 us".
std::string seconds(double seconds);
/// "4.37 Tflop/s": a rate with the prefix that keeps it short; `unit` is what comes after the prefix.
std::string rate(double perSecond, llvm::StringRef unit);
/// "1 decision", "3 decisions".
std::string counted(int64_t count, llvm::StringRef word);
/// Up to four digits: "0.25", "1234", "1.2e+09"; integers from 10000 on without an exponent: "33360".
std::string number(double value);

} // namespace tilewright::html

#endif // TILEWRIGHT_CORE_PAGES_HTML_H
