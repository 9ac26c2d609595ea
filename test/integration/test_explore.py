"""tw-explore: the session of docs/explore.md as it stands there; designs against chips whose records have their numbers; what is
summed up, computed again here; messages."""

import csv
import json
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, FULL, SOURCE
from page_sessions import run_session

sys.path.insert(0, str(SOURCE / "test/benchmark"))
import networks  # noqa: E402

PLUGIN = BUILD / "lib/tilewright/libtilewright-target-accelerator.so"
ACCELERATOR = [f"--load-target={PLUGIN}", "--target=accelerator:npu"]
LAYER = SOURCE / "templates/accelerator/test/layer.mlir"
GEMM = SOURCE / "examples/npu-rtl/programs/gemm-i8-256.mlir"
PAGE = SOURCE / "docs/explore.md"


def explore(tool, *arguments):
    return json.loads(tool("tw-explore", *arguments, "--json"))


def refusal(*arguments):
    done = subprocess.run([BUILD / "bin/tw-explore", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and done.stdout == "", done.stdout
    return done.stderr.strip()


def test_session_of_the_page(tmp_path):
    shutil.copy(LAYER, tmp_path / "layer.mlir")
    shutil.copy(GEMM, tmp_path / "gemm.mlir")
    run_session(PAGE, tmp_path, 4, TILEWRIGHT_TARGET_PATH=PLUGIN.parent)
    assert (tmp_path / "explore.html").stat().st_size > 10_000


#: Numbers of a record, as one would write them there, and the fields that they are.
RECORD = [("Level<\"core\", Parallel, 4>", "Level<\"core\", Parallel, 6>", "levels.core.count=6"),
          ("clockMHz = 1000", "clockMHz = 800", "clockMHz=800"),
          ("\"core\", 1048576, PerClock<128>", "\"core\", 524288, PerClock<64>",
           "memories.scratchpad.bytes=512K,memories.scratchpad.readBytesPerClock=64"),
          ("let bandwidth = PerClock<32>;", "let bandwidth = PerClock<48>;",
           "copies.DmaIn.bytesPerClock=48,copies.DmaOut.bytesPerClock=48"),
          ("MatrixUnit<32, 32, 32>", "MatrixUnit<16, 64, 32>", "units.systolic_*.m=16,units.systolic_*.n=64"),
          ("let issue = Cycles<32>;", "let issue = Cycles<24>;", "units.systolic_*.issue=24")]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The accelerator's plugin with all changes of RECORD written into its records."""
    from kit import COMPILERS
    folder = tmp_path_factory.mktemp("written")
    source = folder / "source"
    shutil.copytree(SOURCE / "templates/accelerator", source)
    changed = set()
    for name in ("Chips.td", "MatrixUnits.td"):
        text = (source / name).read_text()
        for before, after, _ in RECORD:
            if before in text:
                text = text.replace(before, after)
                changed.add(before)
        (source / name).write_text(text)
    assert len(changed) == len(RECORD)
    tables = folder / "Chips.inc"
    subprocess.run([BUILD / "bin/tw-tblgen", "-gen-tables", "-target=accelerator", "-I", SOURCE, "-I", source, source / "Chips.td",
                    "-o", tables], check=True)
    plugin = folder / "libtilewright-target-accelerator.so"
    llvm = re.search(r"^LLVM_DIR:PATH=(.*)/lib/cmake/llvm$", (BUILD / "CMakeCache.txt").read_text(), re.M).group(1)
    subprocess.run([COMPILERS["CXX"], "-std=c++20", "-shared", "-fPIC", "-O0", "-fno-exceptions",
                    "-DTILEWRIGHT_LOADABLE_TARGET", "-I", folder, "-I", SOURCE / "core/include", "-I", SOURCE,
                    "-isystem", f"{llvm}/include", source / "Plugin.cpp", "-o", plugin], check=True)
    return plugin


@pytest.mark.parametrize("program", [LAYER, GEMM], ids=lambda path: path.stem)
def test_a_design_is_planned_as_the_record_with_its_numbers(tool, written, program):
    """The decisions for a design, and the code, are those for a chip whose record has these numbers."""
    vary = [f"--vary={path}={value}" for _, _, fields in RECORD for path, value in (field.split("=") for field in fields.split(","))]
    design = json.loads(tool("tw-explore", program, *ACCELERATOR, *vary, "--explain=1"))
    by_record = json.loads(tool("tw-compile", program, f"--load-target={written}", "--target=accelerator:npu", "--explain=json"))
    assert design == by_record and any(each["decision"] == "contraction" for each in design)
    # And it is another plan than the chip's own.
    own = json.loads(tool("tw-compile", program, *ACCELERATOR, "--explain=json"))
    assert own != design


#: In CI each chip has a program, and one of each kind has the network.
PLANNED = [(target, program) for i, target in enumerate(["cpu:zen4", "nvidia:H100", "amd:MI300X", "accelerator:npu"])
           for j, program in enumerate(["feed-forward-f32", "attention-scores", "bert"])
           if FULL or (i % 2 == j if j < 2 else target != "nvidia:H100")]


@pytest.mark.parametrize("target, program", PLANNED)
def test_times_are_those_of_the_plans_of_tw_compile(tool, tmp_path, target, program):
    """Each kernel has the time of its decision: designs are planned without the lists of candidates that --explain has, and equal
    products once."""
    path = SOURCE / f"examples/{program}.mlir"
    if program == "bert":
        path = tmp_path / "bert.mlir"
        path.write_text(networks.bert(2, tokens=64, width=256, heads=4))
    report = explore(tool, path, ACCELERATOR[0], f"--target={target}", "--vary=clockMHz=900")
    for design, clock in zip(report["designs"], (None, 900)):
        words = [path, ACCELERATOR[0], f"--target={design['target']}"]
        clock = clock or json.loads(tool("tw-targets", ACCELERATOR[0], target, "--json"))["clockMHz"]
        plans = [(each.get("kernel"), each["location"], each["decision"], each["choice"].get("unit", ""),
                  pytest.approx(each["choice"].get("seconds", each["choice"].get("clocks", 0) / clock / 1e6)))
                 for each in json.loads(tool("tw-compile", *words, "--explain=json")) if "choice" in each]
        kernels = [tuple(each[key] for key in ("kernel", "location", "decision", "unit", "seconds"))
                   for each in design["programs"][0]["kernels"]]
        assert kernels and not [each for each in kernels if each not in plans]


def test_the_chip_may_be_left_out(tool):
    named, default = (explore(tool, LAYER, ACCELERATOR[0], f"--target={target}", "--vary=levels.core.count=2,4")
                      for target in ("accelerator:npu", "accelerator"))
    assert [each["seconds"] for each in named["designs"]] == [each["seconds"] for each in default["designs"]]


def test_one_field_at_a_time_changes_the_description(tool):
    """Each path changes the number that tw-targets --json has there, and what the record derives from it."""
    def chip(changes=""):
        return json.loads(tool("tw-targets", ACCELERATOR[0], f"accelerator:npu{changes}", "--json"))

    base = chip()
    groups = {"levels": "count", "memories": None, "copies": None, "units": None, "vectorOps": None}
    tried = 0
    for group in groups:
        owner = base[group][-1]
        for field, value in owner.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or field in ("operationsPerClock", "entries", "entryBytes"):
                continue
            name = owner["name"].removeprefix("accelerator.")
            done = subprocess.run([BUILD / "bin/tw-targets", ACCELERATOR[0], f"accelerator:npu@{group}.{name}.{field}={2 * value + 2}",
                                   "--json"], capture_output=True, text=True)
            tried += 1
            if done.returncode:  # a rule of the records
                assert "accelerator:npu@" in done.stderr and "unknown" not in done.stderr, done.stderr
                continue
            found = next(each for each in json.loads(done.stdout)[group] if each["name"] == owner["name"])
            assert found[field] == 2 * value + 2, (group, field)
    assert tried > 20
    registers = next(each for each in chip("@memory.vector.entries=64")["memories"] if each["name"] == "vector")
    assert registers["bytes"] == 64 * registers["entryBytes"]
    unit = next(each for each in chip("@unit.systolic_i8.k=64")["units"] if each["name"] == "accelerator.systolic_i8")
    assert (unit["a"]["cols"], unit["b"]["rows"], unit["c"]["rows"]) == (64, 64, 32)
    assert unit["operationsPerClock"] == 2 * 32 * 32 * 64 / 32


def test_sums_are_those_of_the_decisions(tool):
    """Seconds, bytes and busy units of one product, computed from its plan and its counts."""
    report = explore(tool, GEMM, *ACCELERATOR, "--vary=levels.core.count=2,4")
    for design, cores in zip(report["designs"], (4, 2, 4)):
        program, = design["programs"]
        kernel, = program["kernels"]
        choice = next(each for each in json.loads(tool("tw-compile", GEMM, ACCELERATOR[0], f"--target={design['target']}",
                                                       "--explain=json")) if each["decision"] == "contraction")["choice"]
        assert program["seconds"] == pytest.approx(choice["clocks"] / 1e9) and kernel["runs"] == 1
        assert program["operations"] == 2 * 256 ** 3
        # 512 products of 32 x 32 x 32 of 32 clocks each, shared by the cores, what loading B into the cells takes, and waits for banks.
        assert 512 * 32 / cores <= program["utilisation"] * choice["clocks"] <= 512 * (32 + 8 + 3) / cores
        # C is written once; A and B are read once for each tile of the other side.
        rows, columns = choice["tile"][:2]
        assert program["bytes"]["global written"] == 256 * 256 * 4
        assert program["bytes"]["global read"] == 256 * 256 * (-(-256 // rows) + -(-256 // columns))
        most = max(kernel["busy"].values())
        assert kernel["binds"] == ("latency" if most < kernel["seconds"] / 2 else max(kernel["busy"], key=kernel["busy"].get))
    # Design 2 is the chip as it is.
    assert report["designs"][2]["programs"] == report["designs"][0]["programs"]


def test_layers_that_share_a_kernel_count_as_often_as_they_are_called(tool):
    """Equal layers are planned once; their time counts each call."""
    report = explore(tool, SOURCE / "examples/mlp-f32.mlir", "--target=nvidia:H100")
    program, = report["designs"][0]["programs"]
    products = [kernel for kernel in program["kernels"] if kernel["decision"] == "contraction"]
    assert sum(kernel["runs"] * kernel["operations"] for kernel in products) == 3 * 2 * 256 * 1024 * 1024
    assert program["seconds"] == pytest.approx(sum(kernel["runs"] * kernel["seconds"] for kernel in program["kernels"]))


@pytest.mark.parametrize("target", ["cpu:zen4", "nvidia:H100", "amd:MI300X"])
def test_other_kinds_of_chips(tool, target):
    """Twice the clock and all bandwidths in bytes per clock: twice the speed, but for what is given in seconds."""
    report = explore(tool, SOURCE / "examples/feed-forward-f32.mlir", f"--target={target}", "--vary=clockMHz=1000,2000")
    slow, fast = report["designs"][1:]
    assert slow["seconds"] / fast["seconds"] == pytest.approx(2, rel=0.05)
    program, = fast["programs"]
    assert 0 < program["utilisation"] <= 1 and all(kernel["binds"] for kernel in program["kernels"])
    assert program["operations"] >= 2 * 2 * 128 * 768 * 3072  # of two products, and of nests that count theirs


def test_front(tool):
    """No design of the front is dominated; every other one is."""
    report = explore(tool, LAYER, *ACCELERATOR, "--vary=levels.core.count=1:8:x2", "--vary=memory.scratchpad.bytes=32K:512K:x2",
                     "--cost=levels.core.count", "--cost=memory.scratchpad.bytes/1024", "--jobs=3")
    points = {each["design"]: (each["seconds"], *each["costs"]) for each in report["designs"] if "seconds" in each}
    front = {each["design"] for each in report["designs"] if each["front"]}
    assert len(points) > 10 and 1 <= len(front) < len(points)

    def dominates(a, b):
        return all(x <= y for x, y in zip(a, b)) and a != b

    for number, point in points.items():
        dominated = any(dominates(other, point) for other in points.values())
        same = any(points[other] == point for other in front)
        assert (number in front and not dominated) or (number not in front and (dominated or same)), number


def test_each_program_is_its_own(tool):
    """Two programs together are the two alone."""
    both = explore(tool, LAYER, GEMM, *ACCELERATOR)["designs"][0]
    alone = [explore(tool, program, *ACCELERATOR)["designs"][0] for program in (LAYER, GEMM)]
    assert both["programs"] == [each["programs"][0] for each in alone]
    assert both["seconds"] == pytest.approx(sum(each["seconds"] for each in alone)) and alone[0]["seconds"] != alone[1]["seconds"]


def test_numbers_do_not_depend_on_threads(tool):
    arguments = [LAYER, GEMM, *ACCELERATOR, "--vary=levels.core.count=2:8:x2", "--vary=clockMHz=800,1000"]
    one, three = (explore(tool, *arguments, f"--jobs={jobs}") for jobs in (1, 3))
    assert one.pop("elapsed_seconds") > 0 and three.pop("elapsed_seconds") > 0
    assert one == three


def test_csv_and_page(tool, tmp_path):
    report = explore(tool, LAYER, GEMM, *ACCELERATOR, "--vary=levels.core.count=2,4", "--cost=levels.core.count",
                     f"--csv={tmp_path / 't.csv'}", f"--html={tmp_path / 'r.html'}")
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert len(rows) == 6
    for row in rows:
        design = report["designs"][int(row["design"])]
        program = next(each for each in design["programs"] if each["program"] == row["program"])
        assert float(row["seconds"]) == program["seconds"] and float(row["bytes global read"]) == program["bytes"]["global read"]
        assert row["front"] == str(int(design["front"])) and float(row["cost levels.core.count"]) == design["costs"][0]
    page = (tmp_path / "r.html").read_text()
    assert "<script" not in page and "http" not in page
    assert page.count("<svg") == 1 + 1 + len([each for each in report["designs"] if each["front"] or each["design"] == 0])


def test_fields_that_follow(tool):
    report = explore(tool, GEMM, *ACCELERATOR, "--vary=units.systolic_i8.m+units.systolic_i8.n=16,32",
                     "--set=units.systolic_i8.issue=units.systolic_i8.m", "--cost=units.systolic_i8.m*units.systolic_i8.n - 2*(3-1)")
    assert [each["costs"] for each in report["designs"]] == [[1020], [252], [1020]]
    assert "units.systolic_i8.issue=16" in report["designs"][1]["target"]


@pytest.mark.parametrize("options, message", [
    (["--vary=memory.scratchpd.bytes=1,2"], "unknown memory 'scratchpd'; did you mean 'scratchpad'? (known: accumulator, global, scratchpad, vector)"),
    (["--vary=memorie.scratchpad.bytes=1"], "unknown part of a chip 'memorie'; did you mean 'memories'? (known: clockMHz, levels, memories,"),
    (["--vary=levels.core.cont=2"], "unknown field of the level 'core' 'cont'; did you mean 'count'? (known: count)"),
    (["--cost=numbers.launch"], "'numbers.launch': this chip's record does not give the number"),
    (["--vary=memory.scratchpad=3"], "'memory.scratchpad': a field is named memories.NAME.FIELD"),
    (["--vary=clockMHz"], "--vary 'clockMHz': it says no field and values; write PATH=VALUE,VALUE or PATH=FIRST:LAST:xFACTOR"),
    (["--vary=clockMHz=1:2"], "the range '1:2' has no step; write FIRST:LAST:xFACTOR or FIRST:LAST:+STEP"),
    (["--vary=clockMHz=1:2:x1"], "the range '1:2:x1' never ends"),
    (["--vary=clockMHz=4:2:+1"], "the range '4:2:+1' ends before it begins"),
    (["--vary=clockMHz=fast"], "'fast' is no number; write 16, 1.5, 256K, 4M or 1G"),
    (["--vary=levels.core.count=1.5"], "'levels.core.count' is a whole number, not 1.5"),
    (["--cost=levels.core.count *"], "the expression 'levels.core.count *': a number or a field is missing"),
    (["--cost=(1"], "the expression '(1': a parenthesis is not closed"),
    (["--cost=levels.cores.count"], "unknown level 'cores'; did you mean 'core'?"),
    (["--set=clockMHz"], "--set 'clockMHz' gives no field a value; write PATH=EXPRESSION"),
    (["--vary=clockMHz=1:1000:+1", "--vary=levels.core.count=1:1001:+1"], "the axes span more than 1000000 designs"),
    (["--emit=9", "-o", "x.c"], "there is no design 9; the axes span designs 0 to 0"),
    (["--emit=0"], "--emit writes to the file of -o OUT, which is missing"),
    (["-o", "x.c"], "-o is where --emit writes to; give both"),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_messages(options, message):
    assert message in refusal(LAYER, *ACCELERATOR, *options)


def test_programs_that_cannot_be_compared(tmp_path):
    dynamic = SOURCE / "examples/transformer-block.mlir"
    assert "argument 0 of 'block' is a tensor<?x64xf32>" in refusal(dynamic, *ACCELERATOR)
    assert "No such file or directory" in refusal(tmp_path / "missing.mlir", *ACCELERATOR)
    bad = tmp_path / "bad.mlir"
    bad.write_text("func.func @f(%a: tensor<4xf32>) -> tensor<5xf32> { return %a : tensor<4xf32> }")
    assert "bad.mlir" in refusal(LAYER, bad, *ACCELERATOR)


def test_a_chip_with_other_numbers_is_a_target_of_every_command(tool, tmp_path):
    """Runs on the emulator of the changed chip, right against float64."""
    report = json.loads(tool("tw-run", GEMM, ACCELERATOR[0], "--target=accelerator:npu@levels.core.count=2,unit.systolic_i8.m=16",
                             "--device=emulator", "--verify", "--json"))
    assert report["verify"]["passed"] and report["emulation"]["kernels"]
    done = subprocess.run([BUILD / "bin/tw-run", GEMM, ACCELERATOR[0], "--target=accelerator:npu@levels.core.count=0"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "level 'core' has 0 members; it must have at least 1" in done.stderr
    done = subprocess.run([BUILD / "bin/tw-targets", ACCELERATOR[0], "accelerator:npu@cores"], capture_output=True, text=True)
    assert done.returncode == 1 and "write PATH=VALUE" in done.stderr
