# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The AArch64 unit records against the instructions themselves, under the emulator of foreign programs: one program
per unit multiplies fragments laid out as the record says and compares with what the record means."""

import json
import random
import shutil
import struct
import subprocess

import pytest

LLVM = "/usr/lib/llvm-22/bin"
CHIP = "cpu:neoverse-v1"
ROUNDS = 8

TYPES = {"f64": "double", "f32": "float", "f16": "half", "bf16": "bfloat", "i32": "i32", "i8": "i8", "u8": "i8"}
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i8": 1, "u8": 1}


def encode(kind, value):
    """The bytes of one element; every value of the tests is exact in every type."""
    if kind == "bf16":
        return struct.pack("<f", value)[2:]
    letter = {"f64": "d", "f32": "f", "f16": "e", "i32": "i", "i8": "b", "u8": "B"}[kind]
    return struct.pack("<" + letter, value if kind.startswith(("f", "b")) else int(value))


def positions(operand):
    """(row, column) of each element of the one lane, by the record's layout."""
    layout = operand["layout"]
    assert not layout["lanes"], "one thread holds the fragment"
    places = [(0, 0)]
    for row, col in layout["elements"]:
        places += [(r ^ row, c ^ col) for r, c in places]
    for count, row, col in layout["repeats"]:
        places = [(r + i * row, c + i * col) for i in range(count) for r, c in places]
    return places


def fragment(operand, matrix):
    return b"".join(encode(operand["element"], matrix[r][c]) for r, c in positions(operand))


def random_matrix(operand, rng):
    low = 0 if operand["element"].startswith("u") else -8
    return [[rng.randint(low, 8) for _ in range(operand["cols"])] for _ in range(operand["rows"])]


def literal(name, data):
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'@{name} = private constant [{len(data)} x i8] c"{text}", align 16\n'


def program(unit, rng):
    """LLVM IR of a program that exits with the number of the first round that disagrees, 0 if none does."""
    a, b, c = unit["a"], unit["b"], unit["c"]
    elements = b["rows"] * b["cols"]
    va = f"<{elements} x {TYPES[a['element']]}>"
    vb = f"<{elements} x {TYPES[b['element']]}>"
    vc = f"<{c['rows'] * c['cols']} x {TYPES[c['element']]}>"
    name = unit["emission"]["name"]
    short = lambda vector: "v" + vector[1:-1].replace(" x ", "").replace("double", "f64").replace(
        "bfloat", "bf16").replace("float", "f32").replace("half", "f16")
    if name == "llvm.intr.fma":
        callee, order = f"llvm.fma.{short(vc)}", ["A", "B", "C"]
    elif not name.startswith("llvm."):
        pytest.fail(f"{unit['name']}: no form that this test knows")
    else:
        callee, order = name, unit["emission"]["arguments"]
        if not name.endswith(".bfmmla"):  # the one of fixed type
            callee += f".{short(vc)}.{short(va)}"
    slots = {"A": (va, "%a"), "B": (vb, "%b"), "C": (vc, "%c")}
    data, blocks = "", ""
    for number in range(1, ROUNDS + 1):
        ma, mb, mc = random_matrix(a, rng), random_matrix(b, rng), random_matrix(c, rng)
        want = [[mc[i][j] + sum(ma[i][k] * mb[k][j] for k in range(unit["k"])) for j in range(unit["n"])]
                for i in range(unit["m"])]
        bytes_a = fragment(a, ma)
        if a["residence"] == "broadcast-scalar":
            bytes_a *= elements // (a["rows"] * a["cols"])
        data += literal(f"a{number}", bytes_a) + literal(f"b{number}", fragment(b, mb))
        data += literal(f"c{number}", fragment(c, mc)) + literal(f"w{number}", fragment(c, want))
        arguments = ", ".join(f"{slots[role][0]} {slots[role][1]}{number}" for role in order)
        bits = len(fragment(c, want)) * 8
        blocks += f"""
round{number}:
  %a{number} = load {va}, ptr @a{number}
  %b{number} = load {vb}, ptr @b{number}
  %c{number} = load {vc}, ptr @c{number}
  %r{number} = call {vc} @{callee}({arguments})
  %got{number} = bitcast {vc} %r{number} to i{bits}
  %want{number} = load i{bits}, ptr @w{number}
  %same{number} = icmp eq i{bits} %got{number}, %want{number}
  br i1 %same{number}, label %round{number + 1}, label %bad{number}
bad{number}:
  br label %leave
"""
    incoming = ", ".join(f"[{n}, %bad{n}]" for n in range(1, ROUNDS + 1))
    parameters = ", ".join(slots[role][0] for role in order)
    return f"""{data}
declare {vc} @{callee}({parameters})
define void @_start() {{
  br label %round1
{blocks}
round{ROUNDS + 1}:
  br label %leave
leave:
  %code = phi i64 {incoming}, [0, %round{ROUNDS + 1}]
  call void asm sideeffect "mov x8, #93\\0Asvc #0", "{{x0}},~{{x8}},~{{memory}}"(i64 %code)
  unreachable
}}
"""


@pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="qemu-aarch64 is not installed")
def test_units_agree_with_their_instructions(tool, tmp_path):
    chip = json.loads(tool("tw-targets", CHIP, "--json"))
    assert chip["units"]
    for unit in chip["units"]:
        rng = random.Random(unit["name"])
        source, target, binary = (tmp_path / f"unit.{suffix}" for suffix in ("ll", "o", "elf"))
        source.write_text(program(unit, rng))
        codegen = chip["codegen"]
        subprocess.run([f"{LLVM}/llc", "-O2", "-filetype=obj", f"-mtriple={codegen['triple']}", f"-mcpu={codegen['cpu']}",
                        f"-mattr={codegen['features']}", str(source), "-o", str(target)], check=True)
        subprocess.run([f"{LLVM}/ld.lld", "-static", str(target), "-o", str(binary)], check=True)
        status = subprocess.run(["qemu-aarch64", "-cpu", "max", str(binary)]).returncode
        assert status == 0, f"{unit['name']}: round {status} differs from the record"
