# Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for the RTL: the LLVM IR of a module's kernels, with a call of the harness for every access to memory and for
every command, and the clocks of all other instructions beside them."""

import re
import subprocess

SPACES = {"tilewright_scratchpad": 0x10000000, "tilewright_accumulator": 0x20000000}
VECTOR_BITS = 512  # of a register of the core

TYPE = r"(?:<\d+ x [a-z0-9]+>|ptr addrspace\(\d+\)|[a-z]+\d*)"
ONE_CLOCK = set(
    "add sub mul sdiv udiv srem urem and or xor shl lshr ashr icmp fcmp select shufflevector fadd fsub fmul fdiv fneg"
    " fpext fptrunc fptosi fptoui sitofp uitofp trunc sext zext br ret switch".split()
)
BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}


class Refused(Exception):
    """What the chip or the harness cannot execute, in words."""


def bits(type_text):
    vector = re.fullmatch(r"<(\d+) x ([a-z0-9]+)>", type_text)
    if vector:
        return int(vector[1]) * bits(vector[2])
    if type_text.startswith("ptr"):
        return 64
    if type_text in BITS:
        return BITS[type_text]
    if re.fullmatch(r"i\d+", type_text):
        return int(type_text[1:])
    raise Refused(f"a value of the type '{type_text}' in memory")


def clocks(line):
    """What the core spends on an instruction that neither reads nor writes memory: one clock for each register."""
    text = re.sub(r"^%\S+ = ", "", line)
    name = re.sub(r"^(tail|musttail|notail) ", "", text).split(" ")[0]
    if name == "call":
        if " @npu_" in text and " @npu_block_x" not in text or " @tilewright.vector." in text or text.startswith("call void"):
            return 0  # the RTL takes the clocks
    elif name not in ONE_CLOCK:
        return 0
    sizes = [int(n) * bits(t) for n, t in re.findall(r"<(\d+) x (i\d+|half|bfloat|float|double)>", text)]
    return max(1, -(-max(sizes, default=0) // VECTOR_BITS))


def operands(text):
    """The operands of a call, as (type, value)."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    split = [re.fullmatch(r"(<\d+ x [a-z0-9]+>|ptr|i\d+) (?:align \d+ )?(.*)", part.strip()) for part in parts]
    return [(each[1], each[2]) for each in split]


def masked_access(result, name, values, number):
    """The same for vectors of which a mask says what is moved: element by element, each an access of the core."""
    reads = name in ("gather", "load")
    pointers, mask, data = values if reads else (values[1], values[2], values[0])
    count, element = re.fullmatch(r"<(\d+) x (\w+)>", data[0]).groups()
    slot = f"%npu.slot.{number}"
    slots = [f"{slot}.data = alloca {data[0]}, align 64", f"{slot}.mask = alloca <{count} x i8>, align 64",
             f"{slot}.at = alloca {pointers[0]}, align 64"]
    lines = [
        f"store {data[0]} {data[1]}, ptr {slot}.data, align 1",
        f"{slot}.bytes = zext {mask[0]} {mask[1]} to <{count} x i8>",
        f"store <{count} x i8> {slot}.bytes, ptr {slot}.mask, align 1",
        f"store {pointers[0]} {pointers[1]}, ptr {slot}.at, align 1",
        f"call void @npu_masked_{'read' if reads else 'write'}(ptr {slot}.data, ptr {slot}.at, ptr {slot}.mask, i32 {count},"
        f" i32 {bits(element) // 8}, i32 {int(pointers[0] == 'ptr')})",
    ]
    if reads:
        lines.append(f"{result} = load {data[0]}, ptr {slot}.data, align 1")
    return lines, slots


def access(line, number):
    """(instructions that replace a load or store, the stack slots that they need), or None."""
    load = re.fullmatch(rf"(%\S+) = load (?:volatile )?({TYPE}), (ptr(?: addrspace\(\d+\))?) (.*?)(?:, align \d+)?(?:, !.*)?", line)
    store = re.fullmatch(rf"store (?:volatile )?({TYPE}) (.*?), (ptr(?: addrspace\(\d+\))?) (.*?)(?:, align \d+)?(?:, !.*)?", line)
    if not load and not store:
        if masked := re.match(r"(?:(%\S+) = )?(?:tail )?call .*?@llvm\.masked\.(gather|scatter|load|store)\.[\w.]+\((.*)\)", line):
            return masked_access(masked[1], masked[2], operands(masked[3]), number)
        if re.match(r"(%\S+ = )?(load|store|atomicrmw|cmpxchg) ", line) or re.search(
            r"@llvm\.mem(cpy|move|set)", line
        ):
            raise Refused(f"the harness does not execute '{line}'")
        return None
    kind = load[2] if load else store[1]
    pointer_type, pointer = (load[3], load[4]) if load else (store[3], store[4])
    size = -(-bits(kind) // 8)
    slot = f"%npu.slot.{number}"
    lines = [f"%npu.address.{number} = ptrtoint {pointer_type} {pointer} to i64"]
    if load:
        lines.append(f"call void @npu_read(ptr {slot}, i64 %npu.address.{number}, i64 {size})")
        lines.append(f"{load[1]} = load {kind}, ptr {slot}, align 1")
    else:
        lines.append(f"store {kind} {store[2]}, ptr {slot}, align 1")
        lines.append(f"call void @npu_write(i64 %npu.address.{number}, ptr {slot}, i64 {size})")
    return lines, [f"{slot} = alloca {kind}, align 64"]


def rewrite_function(lines):
    """The lines of one function, from 'define' to '}'."""
    blocks, slots = [[]], []
    for number, line in enumerate(lines[1:-1]):
        text = line.strip()
        if not text or text.startswith(";"):
            continue
        if re.match(r"[-\w.$]+:", text):
            blocks.append([text])
            continue
        blocks[-1].append((text, number))
    out = []
    for block in blocks:
        cost, body, phis = 0, [], []
        for item in block:
            if isinstance(item, str):
                phis.append(item)
                continue
            text, number = item
            replaced = access(text, number)
            cost += 0 if replaced else clocks(text)
            if replaced:
                body += ["  " + each for each in replaced[0]]
                slots += ["  " + each for each in replaced[1]]
            else:
                (phis if " = phi " in text else body).append("  " + text)
        if cost:
            body.insert(0, f"  call void @npu_issue(i32 {cost})")
        out += phis + body
    return [lines[0]] + slots + out + ["}"]


def entry(define):
    """The function that takes a kernel's arguments from memory, where they lie one after the other."""
    name, parameters = re.match(r"define .*?@([-\w.$]+)\((.*)\)", define).groups()
    types = re.findall(rf"({TYPE})[^,]*?%\S+", parameters)
    lines, values, offset = [f"define void @entry.{name}(ptr %arguments) {{"], [], 0
    for number, kind in enumerate(types):
        lines.append(f"  %at{number} = getelementptr i8, ptr %arguments, i64 {offset}")
        lines.append(f"  %value{number} = load {kind}, ptr %at{number}, align 1")
        values.append(f"{kind} %value{number}")
        offset += -(-bits(kind) // 8)
    return lines + [f"  call void @{name}({', '.join(values)})", "  ret void", "}"]


def requantize(declare):
    """The definition of an instruction of the vector unit on N elements, as a call of the harness."""
    result, name, parameters = re.match(rf"declare ({TYPE}) (@\S+?)\((.*)\)", declare).groups()
    types = re.findall(TYPE, parameters)
    elements = int(name.rsplit(".", 1)[1])
    if "requantize" not in name or len(types) != 3:
        raise Refused(f"the chip has no vector instruction '{name[1:]}'")
    lines = [f"define internal {result} {name}({', '.join(f'{t} %v{i}' for i, t in enumerate(types))}) {{"]
    for i, kind in enumerate(types):
        lines += [f"  %p{i} = alloca {kind}, align 64", f"  store {kind} %v{i}, ptr %p{i}, align 1"]
    lines += [
        f"  %p = alloca {result}, align 64",
        f"  call void @npu_requantize(ptr %p, ptr %p0, ptr %p1, ptr %p2, i32 {elements}, i32 {int('float' in types[0])})",
        f"  %r = load {result}, ptr %p, align 1",
        f"  ret {result} %r",
        "}",
    ]
    return lines


def rewrite(text):
    """LLVM IR of a module's kernels as LLVM IR that runs against the RTL, and the names of its functions."""
    text = text.replace("tilewright.primitive.", "npu_")
    text = re.sub(r"tilewright\.unit\.[\w]+\.(\w+)", r"npu_\1", text)
    text = re.sub(r"(?m)^@tilewright_(scratchpad|accumulator) = .*\n", "", text)
    for name, address in SPACES.items():
        text = text.replace("@" + name, f"inttoptr (i64 {address} to ptr addrspace(3))")
    out, function, names = [], None, []
    for line in text.splitlines():
        if line.startswith("define "):
            function = [line]
        elif function is not None:
            function.append(line)
            if line == "}":
                out += rewrite_function(function)
                if function[0].startswith("define void"):
                    out += entry(function[0])
                    names.append(re.search(r"@([-\w.$]+)\(", function[0])[1])
                function = None
        elif line.startswith("declare ") and "@tilewright.vector." in line:
            out += requantize(line)
        else:
            out.append(line)
    out += ["declare void @npu_issue(i32)", "declare void @npu_read(ptr, i64, i64)", "declare void @npu_write(i64, ptr, i64)"]
    out.append("declare void @npu_requantize(ptr, ptr, ptr, ptr, i32, i32)")
    for name in ("read", "write"):
        out.append(f"declare void @npu_masked_{name}(ptr, ptr, ptr, i32, i32, i32)")
    return "\n".join(out) + "\n", names


def run_tool(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode:
        raise Refused(f"{command[0]}: {done.stderr.decode(errors='replace').strip()[:2000]}")
    return done.stdout


def build(module, folder, library):
    """Compiles a module after stage 5 into `folder`; returns (the shared library, names of its kernels)."""
    ir = run_tool(["mlir-translate-22", "--mlir-to-llvmir", "--allow-unregistered-dialect"], input=module).decode()
    text, names = rewrite(ir)
    source, output = folder / "kernels.ll", folder / "kernels.so"
    source.write_text(text)
    run_tool(
        ["clang-22", "-O1", "-shared", "-fPIC", "-Wno-override-module", "-Wl,--no-undefined", str(source), str(library)]
        + ["-lm", f"-Wl,-rpath,{library.parent}", "-o", str(output)]
    )
    return output, names
