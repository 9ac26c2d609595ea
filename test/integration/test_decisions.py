"""The plans of the shapes whose regret is measured, for fixed chips, are those of the committed table: f32 on vectors, and
bfloat16 and bytes on tile registers, f32 on two cores.

A change of the cost model changes them on purpose: look at the regret of the new ones (test/benchmark/regret.py) and
write the table anew with `python test/integration/test_decisions.py`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("decisions.json")
#: Chip, group of shapes.json, list of it, element type and that of the sums.
TABLES = (("cpu:zen4", "f32", "regret", "f32", "f32"), ("cpu:sapphire-rapids", "bf16", "shapes", "bf16", "f32"),
          ("cpu:sapphire-rapids", "int8", "shapes", "i8", "i32"), ("cpu:granite-rapids", "f32", "regret", "f32", "f32"),
          ("cpu:granite-rapids", "bf16", "shapes", "bf16", "f32"), ("cpu:granite-rapids", "int8", "shapes", "i8", "i32"),
          ("cpu:granite-rapids", "threads", "shapes", "f32", "f32"), ("cpu:granite-rapids", "narrow", "shapes", "f32", "f32"))


def program(m, n, k, element, sums):
    a, b, c = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>", f"tensor<{m}x{n}x{sums}>"
    return f"""func.func @compute(%A: {a}, %B: {b}) -> {c} {{
  %zero = arith.constant {"0.0" if sums == "f32" else "0"} : {sums}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {sums}) outs(%empty : {c}) -> {c}
  %r = linalg.matmul ins(%A, %B : {a}, {b}) outs(%init : {c}) -> {c}
  return %r : {c}
}}
"""


def decisions(build):
    """Chip, type and shape -> the plan's fields, without the modelled time."""
    groups = json.loads((SOURCE / "test" / "benchmark" / "shapes.json").read_text())
    cases = [(chip, groups[group].get("common", {}).get("threads", 1), element, sums,
              *(one if isinstance(one, list) else (one["m"], one["n"], one["k"])))
             for chip, group, name, element, sums in TABLES for one in groups[group][name]]
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "product.mlir"
        for chip, threads, element, sums, m, n, k in cases:
            source.write_text(program(m, n, k, element, sums))
            command = [str(build / "bin" / "tw-compile"), str(source), "--target", chip, "--explain=json", "--threads", str(threads)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = [one for one in json.loads(done.stdout) if one["decision"] == "contraction"]
            if not found:  # left to vectors of the plain nest
                continue
            assert len(found) == 1, f"{m}x{n}x{k}: {len(found)} contractions"
            cores = f" {threads} threads" if threads > 1 else ""
            choice = {key: value for key, value in found[0]["choice"].items() if key != "seconds"}
            table[f"{chip} {element} {m}x{n}x{k}{cores}"] = choice
    return table


def test_decisions_are_those_of_the_table():
    from conftest import BUILD

    expected, found = json.loads(TABLE.read_text()), decisions(BUILD)
    assert found == expected, f"write {TABLE.name} anew if the change is meant"


if __name__ == "__main__":
    build = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", SOURCE / "build" / "release"))
    TABLE.write_text(json.dumps(decisions(build), indent=1) + "\n")
    sys.exit(0)
