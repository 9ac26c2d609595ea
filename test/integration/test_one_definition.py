# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two classes of one name in one namespace are one to the linker: their inline members, such as destructors, are merged, so that
one of them is destroyed as the other. Compilers do not see it, and optimised code hides it where members are inlined."""

import collections
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKENS = re.compile(r"(?P<brace>[{}])|\bnamespace\b\s*(?P<namespace>[\w:]*)\s*(?={)"
                    r"|\b(?:struct|class|union)\s+(?:\[\[[\w:]+\]\]\s*)?(?P<type>[\w:]+)\s*(?:final\s*)?(?={|:[^:;]*{)")


def without_text(source):
    """`source` without comments, and with empty strings."""
    source = re.sub(r'R"(\w*)\(.*?\)\1"', '""', source, flags=re.S)
    return re.sub(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|//[^\n]*|/\*.*?\*/""", lambda m: '""' if m[1] else " ", source, flags=re.S)


def types_of(source):
    """Classes that other files of a library see: those of namespaces that have names."""
    scopes, opening, found = [], None, []
    for token in TOKENS.finditer(without_text(source)):
        if token["brace"] == "{":
            scopes.append(opening or "code")
            opening = None
        elif token["brace"]:
            scopes.pop()
        elif token["type"] is None:
            opening = "namespace " + token["namespace"]
        elif all(re.fullmatch(r"namespace .+", scope) for scope in scopes):
            found.append("::".join([scope.removeprefix("namespace ") for scope in scopes] + [token["type"]]))
    return found


@pytest.mark.parametrize("source, found", [
    ("namespace a { struct S { ~S(); }; class T : S {}; struct U; }", ["a::S", "a::T"]),
    ("namespace a::b { /* struct No {}; */ class S final : public T {}; }", ["a::b::S"]),
    ("namespace a { namespace { struct S {}; } void f() { struct T {}; } struct U { struct V {}; }; }", ["a::U"]),
    ('struct S {}; const char *x = "struct T {"; template <class T> void f(T t) {}', ["S"]),
])
def test_types_are_found(source, found):
    assert types_of(source) == found


def test_one_class_has_a_name():
    """In what libTilewright and the tools are made of."""
    files = subprocess.run(["git", "ls-files", "core", "dialects", "targets"], cwd=ROOT, capture_output=True, text=True, check=True)
    where = collections.defaultdict(set)
    for name in files.stdout.split():
        if name.endswith((".cpp", ".h")):
            for each in types_of((ROOT / name).read_text()):
                where[each].add(name)
    assert len(where) > 300
    assert {each: sorted(names) for each, names in where.items() if len(names) > 1} == {}
