"""Every operation that must compile does, and computes what NumPy computes in float64: on the host, and on emulated chips
that run lanes."""

import collections
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess

import pytest

from breadth import control, convolutions, memrefs, relayout, stencils, structured, tensors, tosa, types, views
from conftest import BUILD, FULL

MODULES = [structured, convolutions, relayout, stencils, tensors, control, memrefs, views, types, tosa]
CASES = [case for module in MODULES for case in module.cases() if FULL or not case.long]


#: Chips with lanes: one for each set of units.
LANE_CHIPS = ["nvidia:A100", "amd:MI300X", "nvidia:T4", "amd:RX9070", "nvidia:H100", "amd:MI350", "nvidia:RTX5090", "amd:RX7900",
              "amd:MI250"]
#: Programs that only the host runs, and what the others say.
HOST_ONLY = {"func.call-recursive": "which calls itself"}


def lane_cases():
    """Chip and name: in the full mode every case on every chip; else on one of them, in turn, every element-wise operation for each type,
    and of other operations the first and every fifth case."""
    seen, place = collections.Counter(), itertools.count()
    for case in CASES:
        operation = case.name.partition("-")[0]
        if FULL:
            yield from ((chip, case.name) for chip in LANE_CHIPS)
        elif operation in ("arith", "math") or seen[operation] % 5 == 0 or case.name in HOST_ONLY:
            yield LANE_CHIPS[next(place) % len(LANE_CHIPS)], case.name
        seen[operation] += 1


@pytest.fixture(scope="module")
def reasons(request):
    """What is wrong with each selected case, by name; they run side by side, on all cores."""
    tool = BUILD / "bin" / "tw-run"
    wanted = {(item.callspec.params.get("chip"), item.callspec.params["name"])
              for item in request.session.items if "name" in getattr(item, "fixturenames", ())}
    selected = [(chip, case) for case in CASES for chip in [None, *LANE_CHIPS] if (chip, case.name) in wanted]

    def run(one):
        chip, case = one
        return case.run(tool, *(["--target", chip, "--device", "emulator"] if chip else []))

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip([(chip, case.name) for chip, case in selected], pool.map(run, selected)))


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_program(reasons, name):
    assert reasons[None, name] is None, reasons[None, name]


@pytest.mark.parametrize("chip, name", lane_cases())
def test_on_lanes(reasons, chip, name):
    reason = reasons[chip, name]
    if name in HOST_ONLY:
        assert reason and HOST_ONLY[name] in reason, reason
    else:
        assert reason is None, reason


def test_names_are_distinct():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)


def defined(dialect):
    """The operations that the headers of a dialect declare."""
    cache = (BUILD / "CMakeCache.txt").read_text()
    prefix = pathlib.Path(re.search(r"^MLIR_DIR:PATH=(.*)/lib/cmake/mlir$", cache, re.M)[1])
    names = set()
    for header in (prefix / "include" / "mlir" / "Dialect" / dialect / "IR").glob("*.h.inc"):
        names |= set(re.findall(r'StringLiteral\("(\w+\.\w+)"\)', header.read_text()))
    assert names, f"no operations found for {dialect} under {prefix}"
    return names


#: Operations that no case has, and why.
LEFT_OUT = {
    "Linalg": set(),
    "Tensor": {"tensor.scatter"},  # upstream has no conversion; refused, see below
    "Tosa": {f"tosa.{name}" for name in tosa.REFUSED},
    "Arith": {"arith.scaling_extf", "arith.scaling_truncf"},  # of floats narrower than 16 bits, which are refused
    "Math": set(),
}


@pytest.mark.parametrize("dialect", LEFT_OUT)
def test_every_operation_has_a_case(dialect):
    used = set(re.findall(r"\b[a-z]+\.\w+", "\n".join(case.text for case in CASES)))
    assert defined(dialect) - used == LEFT_OUT[dialect]


REFUSALS = {
    "tosa.add_shape": """
  %s = "tosa.const_shape"() <{values = dense<[2]> : tensor<1xindex>}> : () -> !tosa.shape<1>
  %t = "tosa.add_shape"(%s, %s) : (!tosa.shape<1>, !tosa.shape<1>) -> !tosa.shape<1>
  %r = "tosa.reshape"(%a, %t) : (tensor<4xf32>, !tosa.shape<1>) -> tensor<4xf32>""",
    "tosa.custom": """
  %r = tosa.custom %a {operator_name = "f", domain_name = "d", implementation_attrs = ""} : (tensor<4xf32>) -> tensor<4xf32>""",
    "tensor.scatter": """
  %i = arith.constant dense<1> : tensor<4x1xindex>
  %r = tensor.scatter %a into %a[%i] scatter_dims([0]) unique : (tensor<4xf32>, tensor<4xf32>, tensor<4x1xindex>) -> tensor<4xf32>""",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name, tmp_path):
    source = tmp_path / "program.mlir"
    source.write_text(f"func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{{REFUSALS[name]}\n  return %r : tensor<4xf32>\n}}\n")
    done = subprocess.run([BUILD / "bin" / "tw-run", source], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("error:") == 1 and f"error: unsupported operation: '{name}'" in done.stderr, done.stderr
