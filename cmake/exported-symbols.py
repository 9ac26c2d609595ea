#!/usr/bin/env python3
"""The version script of libTilewright: which symbols it exports, from the headers.

exported-symbols.py --source DIR --build DIR --major N --output EXPORTS.map [--everything OTHER.map] [--depfile FILE] -- COMPILER OPTIONS ...

A node says what a symbol is for:

    TILEWRIGHT_N           what the installed headers declare: core/include/tilewright, the tile dialect. For everyone.
    TILEWRIGHT_N_PRIVATE   what the commands of the same build use beside: the headers that core/Tools and targets include.
                           It may change with every build.

All else, LLVM's templates and its linker included, stays inside. OTHER.map exports the whole namespace as private: the units'
tests link a library of that kind.

Clang says what a declaration is called (-ast-dump=json). What is defined in a header is no symbol of the library: who includes
it has it.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl", "CXXConversionDecl"}
#: The variants of constructors and destructors in the Itanium ABI: Clang names one.
VARIANTS = {"CXXConstructorDecl": ("C1", "C2"), "CXXDestructorDecl": ("D0", "D1", "D2")}


class Reader:
    """Collects the symbols of declarations by the file that they stand in."""

    def __init__(self) -> None:
        self.symbols: dict[str, set[str]] = {}
        self.classes: dict[str, set[str]] = {}
        self.file = ""

    def location(self, node: dict) -> None:
        """Clang writes a file's name where it differs from the last that it wrote."""
        for part in ("spellingLoc", "expansionLoc"):
            if part in node:
                self.location(node[part])
        if "file" in node:
            self.file = os.path.abspath(node["file"])

    def declaration(self, node: dict, scope: tuple[str, ...]) -> None:
        self.location(node.get("loc", {}))
        file = self.file
        for end in ("begin", "end"):
            self.location(node.get("range", {}).get(end, {}))
        kind, inner, name = node.get("kind", ""), node.get("inner", []), node.get("name", "")
        if kind in ("ClassTemplateDecl", "FunctionTemplateDecl") or node.get("isImplicit"):
            inner = []
        elif kind in ("NamespaceDecl", "CXXRecordDecl", "ClassTemplateSpecializationDecl"):
            scope = scope + (name,)
            if kind == "CXXRecordDecl" and node.get("definitionData", {}).get("isPolymorphic"):
                self.classes.setdefault(file, set()).add("::".join(scope))
        elif self.is_symbol(kind, node):
            found = self.symbols.setdefault(file, set())
            found.add(node["mangledName"])
            if kind in VARIANTS:
                found.update(self.variants(node["mangledName"], VARIANTS[kind]))
        for each in inner:
            if isinstance(each, dict):
                self.declaration(each, scope)

    @staticmethod
    def is_symbol(kind: str, node: dict) -> bool:
        if "mangledName" not in node or node.get("inline") or node.get("explicitlyDeleted") or node.get("constexpr"):
            return False
        if kind == "VarDecl":
            return node.get("storageClass") in ("extern", "static")
        defined = any(each.get("kind") == "CompoundStmt" for each in node.get("inner", []) if isinstance(each, dict))
        return kind in FUNCTIONS and not defined and not node.get("pure") and not node.get("explicitlyDefaulted")

    @staticmethod
    def variants(symbol: str, names: tuple[str, ...]) -> set[str]:
        at = max(symbol.rfind(name + "E") for name in names)
        return {symbol[:at] + name + symbol[at + 2:] for name in names} if at >= 0 else set()


def documents(text: str):
    """The JSON documents of a filtered dump, one for each declaration that matched."""
    decoder, at = json.JSONDecoder(), 0
    while match := re.compile(r"\s*").match(text, at):
        at = match.end()
        if at >= len(text):
            return
        document, at = decoder.raw_decode(text, at)
        yield document


def private_headers(source: pathlib.Path) -> list[str]:
    """Headers of core that the commands and targets include and vendors do not have."""
    names = set()
    for path in [*source.glob("core/Tools/*.cpp"), *source.glob("core/Tools/*.h"), *source.glob("targets/*/*.cpp")]:
        names.update(re.findall(r'^#include "(core/(?!Tools/)[^"]+)"', path.read_text(), re.MULTILINE))
    return sorted(names)


def node(name: str, symbols: set[str], classes: set[str], patterns: list[str]) -> str:
    lines = [f"{name} {{", "  global:", *(f"    {symbol};" for symbol in sorted(symbols)), *(f"    {each};" for each in patterns)]
    if classes:
        lines.append('    extern "C++" {')
        for each in sorted(classes):
            lines += [f'      "{what} for {each}";' for what in ("vtable", "typeinfo", "typeinfo name")]
            lines.append(f"      non-virtual?thunk?to?{each}::*;")
        lines.append("    };")
    return "\n".join(lines)


#: With every class of the namespace, for tests of units.
EVERYTHING = """    tw*; tilewright_*;
    extern "C++" {
      tilewright::*;
      vtable?for?tilewright::*; typeinfo?for?tilewright::*; typeinfo?name?for?tilewright::*;
      non-virtual?thunk?to?tilewright::*;
      mlir::detail::TypeIDResolver?tilewright::*;
    };"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--major", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--everything", type=pathlib.Path)
    parser.add_argument("--depfile")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()

    interface = sorted(arguments.source.glob("core/include/tilewright/*.h"))
    headers = [f"tilewright/{path.name}" for path in interface] + ["dialects/Tile/TileDialect.h"]
    unit = arguments.output.with_suffix(".cpp")
    unit.write_text("".join(f'#include "{name}"\n' for name in headers + private_headers(arguments.source)))
    command = [*arguments.command, "-fsyntax-only", "-w", "-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=tilewright"]
    if arguments.depfile:
        command += ["-MD", "-MF", arguments.depfile, "-MT", str(arguments.output)]
    result = subprocess.run([*command, str(unit)], capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stderr)

    reader = Reader()
    for document in documents(result.stdout):
        reader.file = ""
        scope = () if document.get("name") == "tilewright" else ("",)
        reader.declaration(document, scope)

    public = [str(each) for base in (arguments.source, arguments.build) for each in (base / "core/include", base / "dialects")]
    symbols, private, classes, private_classes = set(), set(), set(), set()
    for file, found in reader.symbols.items():
        (symbols if file.startswith(tuple(public)) else private).update(found)
    for file, found in reader.classes.items():
        (classes if file.startswith(tuple(public)) else private_classes).update(found)
    # C's functions are those that their headers mark with TW_API: the rest is hidden when it is compiled.
    first, second = f"TILEWRIGHT_{arguments.major}", f"TILEWRIGHT_{arguments.major}_PRIVATE"
    text = node(first, symbols, classes, ["tw_*", "twc_*"])
    arguments.output.write_text(f"{text}\n  local: *;\n}};\n{node(second, private - symbols, private_classes - classes, [])}\n}};\n")
    if arguments.everything:
        arguments.everything.write_text(f"{text}\n  local: *;\n}};\n{second} {{\n  global:\n{EVERYTHING}\n}};\n")


main()
