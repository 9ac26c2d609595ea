"""The plans of the shapes whose regret is measured, for a fixed chip, are those of the committed table.

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
CHIP = "cpu:zen4"


def program(m, n, k):
    a, b, c = f"tensor<{m}x{k}xf32>", f"tensor<{k}x{n}xf32>", f"tensor<{m}x{n}xf32>"
    return f"""func.func @compute(%A: {a}, %B: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %r = linalg.matmul ins(%A, %B : {a}, {b}) outs(%init : {c}) -> {c}
  return %r : {c}
}}
"""


def decisions(build):
    """Shape -> the plan's fields, without the modelled time."""
    shapes = json.loads((SOURCE / "test" / "benchmark" / "shapes.json").read_text())["f32"]["regret"]
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "product.mlir"
        for m, n, k in shapes:
            source.write_text(program(m, n, k))
            command = [str(build / "bin" / "tw-compile"), str(source), "--target", CHIP, "-o", f"{folder}/product.ll",
                       "--explain=json"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            text = done.stdout + done.stderr
            found = [one for one in json.loads(text[text.index("["):]) if one["decision"] == "contraction"]
            assert len(found) == 1, f"{m}x{n}x{k}: {len(found)} contractions"
            table[f"{m}x{n}x{k}"] = {key: value for key, value in found[0]["choice"].items() if key != "seconds"}
    return table


def test_decisions_are_those_of_the_table():
    from conftest import BUILD

    expected, found = json.loads(TABLE.read_text()), decisions(BUILD)
    assert found == expected, f"write {TABLE.name} anew if the change is meant"


if __name__ == "__main__":
    build = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD", SOURCE / "build" / "release"))
    TABLE.write_text(json.dumps(decisions(build), indent=1) + "\n")
    sys.exit(0)
