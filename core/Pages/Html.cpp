//===- Html.cpp - Self-contained pages ------------------------------------===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The style, the frame of a page, and numbers as text.
///
//===----------------------------------------------------------------------===//

#include "core/Pages/Html.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace tilewright;

static constexpr const char *style = R"(
:root { color-scheme: light dark; --ink: #1c2530; --soft: #5b6876; --line: #d5dbe2; --paper: #ffffff; --panel:
  #f4f6f8;
  --accent: #1f6fb2; --accent2: #c8711a; --good: #2e8b57; --bad: #c0392b; --warn: #b8860b; --mute: #a9b3bd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #9aa7b4; --line: #36414c; --paper: #14191f;
  --panel: #1d242c; --accent: #6fb3ec; --accent2: #f0a458; --good: #5cc48a; --bad: #f07167; --warn: #e0b64a;
  --mute: #56626e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 78rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; } p { margin: .4rem 0; max-width: 60rem; }
.lead, .soft { color: var(--soft); } a { color: var(--accent); }
table { border-collapse: collapse; margin: .6rem 0; } .wide { overflow-x: auto; }
th, td { text-align: left; padding: .25rem .7rem; border-bottom: 1px solid var(--line); vertical-align: middle; }
th { font-weight: 600; color: var(--soft); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.dense { font-size: 13px; } .dense th, .dense td { padding: .2rem .4rem; } .dense th.n { white-space: normal; }
.row td { overflow-wrap: anywhere; } .row td.soft { overflow-wrap: normal; }
.tight th, .tight td { padding: .25rem .55rem; } .tight td { white-space: nowrap; }
.tight td.soft { white-space: normal; min-width: 11rem; } .tight td.name { white-space: normal; }
code, pre { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem; margin: .5rem
  0;
  overflow: auto; max-height: 34rem; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .7rem 1rem; margin:
  .7rem 0; }
.row { display: flex; flex-wrap: wrap; gap: 1rem; } .row > * { flex: 1 1 26rem; min-width: 0; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.tile { border: 1px solid var(--line); border-radius: 6px; padding: .5rem 1rem; min-width: 7rem; background:
  var(--panel); }
.tile b { display: block; font-size: 1.5rem; line-height: 1.2; } .passed { color: var(--good); } .failed { color:
  var(--bad); }
.refused { color: var(--warn); } .skipped { color: var(--soft); }
.dots { display: flex; flex-wrap: wrap; gap: 2px; max-width: 15rem; }
.dot { width: 11px; height: 11px; border-radius: 2px; display: block; background: var(--mute); }
.dot.passed { background: var(--good); } .dot.failed { background: var(--bad); outline: 2px solid var(--bad); }
.dot.refused { background: var(--warn); } .dot.skipped { background: none; border: 1px solid var(--mute); }
.bar { height: 9px; border-radius: 2px; background: var(--accent); min-width: 1px; } .bar.two { background:
  var(--accent2); }
.chosen { font-weight: 600; } .chosen td:first-child { border-left: 3px solid var(--good); }
details > summary { cursor: pointer; color: var(--accent); }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 12px; }
svg .soft { fill: var(--soft); } svg .tiny { font-size: 10px; }
svg .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
svg .cells rect { width: 34px; height: 18px; stroke: var(--paper); }
svg .cells text { font-size: 10px; text-anchor: middle; }
)";

std::string html::escape(llvm::StringRef text) {
  std::string valid = llvm::json::fixUTF8(text), result;
  for (char c : valid) {
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::string html::breakable(llvm::StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i] == ' ' ? "&nbsp;" : escape(text.substr(i, 1));
    const bool between = i > 0 && i + 1 < text.size() && !llvm::isDigit(text[i + 1]);
    result += between && (text[i] == '_' || text[i] == '.') ? "<wbr/>" : "";
  }
  return result;
}

std::string html::page(llvm::StringRef title, llvm::StringRef lead, const std::string &body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\">\n<title>" +
         escape(title) + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n<h1>" + escape(title) +
         "</h1>\n<p class=\"lead\">" + escape(lead) + "</p>\n" + body + "</body>\n</html>\n";
}

std::string html::section(llvm::StringRef id, llvm::StringRef heading, const std::string &body) {
  return ("<section id=\"" + id + "\">\n<h2>" + escape(heading) + "</h2>\n").str() + body + "</section>\n";
}

static std::string formatted(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

std::string html::bytes(int64_t bytes) {
  static constexpr const char *names[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  return formatted("%.4g", value) + names[unit];
}

std::string html::seconds(double seconds) {
  static constexpr const char *names[] = {" s", " ms", " us", " ns"};
  int unit = 0;
  for (; seconds < 1 && unit < 3; ++unit)
    seconds *= 1000;
  return formatted("%.3g", seconds) + names[unit];
}

std::string html::rate(double perSecond, llvm::StringRef unit) {
  static constexpr const char *prefixes[] = {" ", " k", " M", " G", " T", " P"};
  int prefix = 0;
  for (; perSecond >= 1000 && prefix < 5; ++prefix)
    perSecond /= 1000;
  return formatted("%.4g", perSecond) + prefixes[prefix] + unit.str();
}

std::string html::counted(int64_t count, llvm::StringRef word) {
  return std::to_string(count) + " " + word.str() + (count == 1 ? "" : "s");
}

std::string html::number(double value) {
  bool isLong = std::fabs(value) >= 1e4 && std::fabs(value) < 1e9; // clocks, bytes: without an exponent
  return formatted(isLong ? "%.0f" : "%.4g", value);
}
