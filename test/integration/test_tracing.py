"""tw-run --trace and the profilers of the runtime: the session of docs/tracing.md as it stands there; traces of every device are
well formed and agree with what is reported; activities come in order; messages."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from artifacts import DRIVERS, LAUNCH, artifact, program
from conftest import BUILD, SANITIZERS, SOURCE
from page_sessions import run_session

PLUGIN = BUILD / "lib/tilewright/libtilewright-target-accelerator.so"
NPU = [f"--load-target={PLUGIN}", "--target=accelerator:npu"]
HOST = f"exec:{sys.executable} {SOURCE}/test/integration/exec_device.py"
EMULATED = f"exec:{BUILD}/bin/tilewright-emulated-device"
LAYER = SOURCE / "templates/accelerator/test/layer.mlir"
PAGE = SOURCE / "docs/tracing.md"

PRODUCTS = """func.func @two(%a: tensor<96x128xf32>, %b: tensor<128x80xf32>, %c: tensor<80x64xf32>) -> tensor<96x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<96x80xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<96x80xf32>) -> tensor<96x80xf32>
  %p = linalg.matmul ins(%a, %b : tensor<96x128xf32>, tensor<128x80xf32>) outs(%z0 : tensor<96x80xf32>) -> tensor<96x80xf32>
  %e1 = tensor.empty() : tensor<96x64xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<96x64xf32>) -> tensor<96x64xf32>
  %q = linalg.matmul ins(%p, %c : tensor<96x80xf32>, tensor<80x64xf32>) outs(%z1 : tensor<96x64xf32>) -> tensor<96x64xf32>
  return %q : tensor<96x64xf32>
}
"""
#: The same with fewer rows, for emulators.
FEW = PRODUCTS.replace("96x", "32x")
#: Of each device: options, a program, the clock that measures kernels.
DEVICES = {
    "host": (["--threads=2"], PRODUCTS, "host clock"),
    "model": (["--target=cpu:sapphire-rapids", "--device=model"], FEW, "host clock"),
    "cores": ([*NPU, "--device=emulator"], LAYER.read_text(), "simulated clock"),
    "lanes": (["--target=nvidia:A100", "--device=emulator"], FEW, None),
    "exec": (["--device", HOST], PRODUCTS, "device clock"),
    "exec-launches": (["--target=amd:MI300X", "--device", f"{EMULATED} amd:MI300X"], FEW, "host clock"),
}


def well_formed(path):
    """The events of a trace by what they are; what the format asks for holds. Spans of a row lie beside or inside of each other."""
    trace = json.loads(path.read_text())
    assert trace["displayTimeUnit"] == "ns"
    rows, names, rows_named = {}, {}, set()
    for event in trace["traceEvents"]:
        assert event["ph"] in "XM" and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            if event["name"] == "process_name":
                names[event["pid"]] = event["args"]["name"]
            if event["name"] == "thread_name":
                rows_named.add((event["pid"], event["tid"]))
            continue
        assert event["dur"] >= 0 and event["ts"] >= -1e-6 and event["name"] and event["cat"]
        rows.setdefault((event["pid"], event["tid"]), []).append(event)
    assert set(rows) <= rows_named and {pid for pid, _ in rows} <= set(names)
    assert {str(pid) for pid in names} == set(trace["otherData"]["time_bases"])
    for row in rows.values():
        open_ends = []
        for event in sorted(row, key=lambda each: (each["ts"], -each["dur"])):
            slack = 1e-3 + 1e-9 * event["ts"]  # microseconds: doubles, of hours
            while open_ends and open_ends[-1] <= event["ts"] + slack:
                open_ends.pop()
            end = event["ts"] + event["dur"]
            assert not open_ends or end <= open_ends[-1] + slack, event
            open_ends.append(end)
    return trace, [event for row in rows.values() for event in row], names


def inside(event, other):
    return other["ts"] <= event["ts"] + 1e-3 and event["ts"] + event["dur"] <= other["ts"] + other["dur"] + 1e-3


@pytest.mark.parametrize("name", DEVICES)
def test_every_device_has_a_trace(tool, tmp_path, name):
    options, text, clock = DEVICES[name]
    source, path = tmp_path / "program.mlir", tmp_path / "trace.json"
    source.write_text(text)
    report = json.loads(tool("tw-run", source, *options, "--json", "--trace", path))
    trace, spans, names = well_formed(path)
    numbers = report["trace"]
    assert numbers["file"] == str(path) and numbers["spans"] == len(spans) and numbers.get("measured_by") == clock
    stages = [span for span in spans if span["cat"] == "compile"]
    assert [s["name"].split(":")[0] for s in stages][:6] == ["reading", *(f"stage {n}" for n in range(1, 6))]
    assert sum(s["dur"] for s in stages[1:]) * 1e-6 == pytest.approx(
        sum(report["compile"][f"{part}_seconds"] for part in ("pass", "llvm", "link")), rel=0.5)
    whole, = (span for span in spans if span["cat"] == "call")
    assert whole["args"]["seconds"] * 1e6 == pytest.approx(whole["dur"])
    of_call = [span for span in spans if span["pid"] == whole["pid"]]
    assert all(inside(span, whole) for span in of_call)
    kernels = ([span for span in spans if span["cat"] == "launch" and span["pid"] == whole["pid"]] or
               [span for span in spans if span["cat"] == "kernel" and "_nest_" not in span["name"]])
    assert len(kernels) == numbers["kernels"]
    if clock:
        assert sum(span["args"]["measured_seconds"] for span in kernels) == pytest.approx(numbers["measured_seconds"])
    compared = [span["args"] for span in kernels if "ratio" in span["args"]]
    assert len(compared) == numbers["compared"]
    for args in compared:
        assert args["ratio"] == pytest.approx(args["measured_seconds"] / args["predicted_seconds"])
    if compared:
        assert numbers["predicted_seconds"] == pytest.approx(sum(args["predicted_seconds"] for args in compared))
        assert numbers["ratio"] == pytest.approx(sum(args["measured_seconds"] for args in compared) / numbers["predicted_seconds"])
    assert bool(compared) == (name in ("host", "cores", "exec"))
    if name != "host" and name != "model":  # each array once in, each result back
        copies = [span for span in spans if span["cat"] == "copy" and span["name"] == "copy in"]
        assert len(copies) == len(report["inputs"]) + len(report["outputs"])
        assert [span["name"] for span in spans if span["cat"] == "copy"].count("copy out") == len(report["outputs"])


def test_threads_of_the_host(tool, tmp_path):
    """Each thread's part of a kernel lies inside the kernel's span on the calling thread."""
    source, path = tmp_path / "program.mlir", tmp_path / "trace.json"
    source.write_text(PRODUCTS.replace("96x", "768x"))
    tool("tw-run", source, "--threads=2", "--trace", path)
    _, spans, _ = well_formed(path)
    kernels, parts = ([span for span in spans if span["cat"] == cat] for cat in ("kernel", "part"))
    assert {part["tid"] for part in parts} == {span["tid"] for span in spans if span["cat"] in ("kernel", "part")}
    assert len({part["tid"] for part in parts}) == 2 and len({kernel["tid"] for kernel in kernels}) == 1
    for part in parts:
        assert any(kernel["name"] == part["args"]["kernel"] and inside(part, kernel) for kernel in kernels), part
    assert all(re.search(r'program\.mlir"?:\d+:\d+', span["args"]["location"]) for span in kernels)


def test_results_are_those_without_a_trace(tool, tmp_path):
    source = tmp_path / "program.mlir"
    source.write_text(PRODUCTS)
    for name, options in ("with", ["--trace", tmp_path / "trace.json"]), ("without", []):
        tool("tw-run", source, "--threads=2", *options, "--output", tmp_path / f"{name}.npy")
    assert (tmp_path / "with.npy").read_bytes() == (tmp_path / "without.npy").read_bytes()


def test_engines_of_cores(tool, tmp_path):
    """Launches of the simulated clock are as long as the last of their blocks; a core works or waits, one thing at a time."""
    path = tmp_path / "trace.json"
    report = json.loads(tool("tw-run", LAYER, *NPU, "--device=emulator", "--json", "--trace", path))
    trace, spans, names = well_formed(path)
    blocks = {pid for pid, name in names.items() if name.startswith("block ")}
    launches = [span for span in spans if span["cat"] == "launch" and "simulated" in names[span["pid"]]]
    assert all("simulated clock" in trace["otherData"]["time_bases"][str(pid)] for pid in blocks)
    events = [span for span in spans if span["pid"] in blocks]
    for launch in launches:
        ends = [span["ts"] + span["dur"] for span in events if inside(span, launch)]
        assert max(ends) == pytest.approx(launch["ts"] + launch["dur"])
    assert all(any(inside(event, launch) for launch in launches) for event in events)
    assert {span["cat"] for span in events} >= {"copy", "unit", "core", "wait"}
    for pid in blocks:
        own = sorted((span for span in events if span["pid"] == pid and span["cat"] in ("core", "wait")), key=lambda s: s["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-3 for a, b in zip(own, own[1:]))
    counted = sum(engine["busy_cycles"] for kernel in report["emulation"]["kernels"] for engine in kernel["engines"])
    assert sum(span["args"]["clocks"] for span in events if span["cat"] != "wait") == pytest.approx(counted)


def test_a_device_of_this_machine(tmp_path):
    """Through the driver of the tests: each launch is measured by its clock."""
    source, path = tmp_path / "program.mlir", tmp_path / "trace.json"
    source.write_text(PRODUCTS)
    done = subprocess.run(
        [BUILD / "bin/tw-run", source, "--target=nvidia:A100", "--device=gpu", "--json", "--trace", path], capture_output=True,
        text=True, timeout=300,
        env={**os.environ, "LD_LIBRARY_PATH": str(DRIVERS), "FAKE_ARCHITECTURE": "80", "FAKE_KERNEL_SECONDS": "2e-6"})
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)["trace"]
    _, spans, names = well_formed(path)
    launches = [span for span in spans if span["cat"] == "launch" and "device clock" in names[span["pid"]]]
    assert len(launches) == numbers["kernels"] == numbers["compared"] > 0 and numbers["measured_by"] == "device clock"
    assert all(span["dur"] == pytest.approx(2) and span["args"]["ratio"] > 0 for span in launches)
    assert numbers["measured_seconds"] == pytest.approx(2e-6 * len(launches))


def test_dynamic_sizes_have_no_predictions(tool, tmp_path):
    source, path = tmp_path / "program.mlir", tmp_path / "trace.json"
    source.write_text(PRODUCTS.replace("96x", "?x").replace("tensor.empty()", "tensor.empty(%n)").replace(
        "  %zero =", "  %c0 = arith.constant 0 : index\n  %n = tensor.dim %a, %c0 : tensor<?x128xf32>\n  %zero ="))
    report = json.loads(tool("tw-run", source, "--sizes=33", "--json", "--trace", path))
    trace, spans, _ = well_formed(path)
    assert report["trace"]["compared"] == 0 and trace["otherData"]["predictions"].startswith("none")
    assert not any("predicted_seconds" in span["args"] for span in spans)


@pytest.mark.parametrize("path, message", [("/nowhere/trace.json", "/nowhere/trace.json"), ("", "")])
def test_bad_paths(tmp_path, path, message):
    """One error, no file; an empty name is none at all."""
    source = tmp_path / "program.mlir"
    source.write_text(PRODUCTS)
    done = subprocess.run([BUILD / "bin/tw-run", source, f"--trace={path}", "--output", tmp_path / "out.npy"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=300)
    if not path:
        assert done.returncode == 0
        return
    assert done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["program.mlir"]


def test_failures_leave_no_trace(tmp_path):
    source = tmp_path / "program.mlir"
    source.write_text(PRODUCTS)
    done = subprocess.run([BUILD / "bin/tw-run", source, "--device=exec:exit 3", "--trace", tmp_path / "trace.json"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and not (tmp_path / "trace.json").exists()


#-- Profilers -----------------------------------------------------------------


@pytest.fixture(scope="module")
def profiler(tmp_path_factory):
    path = tmp_path_factory.mktemp("profiler") / "profiler.so"
    subprocess.run(["clang-22", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{SOURCE}/core/include",
                    SOURCE / "examples/profiler/profiler.c", "-o", path], check=True)
    return path


def launch(path, profiler, tmp_path, **environment):
    return subprocess.run([LAUNCH, path, "--size", "100"], capture_output=True, text=True, timeout=60, cwd=tmp_path, env={
        **os.environ, "LD_LIBRARY_PATH": str(DRIVERS), "FAKE_KERNELS": str(DRIVERS / "kernels.so"),
        "TILEWRIGHT_PROFILER": str(profiler), **environment})


def test_activities_come_in_order(profiler, tmp_path):
    done = launch(artifact(tmp_path / "four.tw", [program()]), profiler, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "begin copy in: 400 bytes", "end copy in", "begin copy in: 400 bytes", "end copy in",
        "begin four",
        "  begin twice: grid 4 x 1 x 1 of 64 threads", "  end twice",
        "  begin twice: grid 4 x 1 x 1 of 64 threads", "  end twice",
        "end four",
        "begin wait", "end wait",
        "begin copy out: 400 bytes", "end copy out",
        "2 kernels, 3 copies"]


def test_launches_are_measured_on_demand(profiler, tmp_path):
    """By the device's clock, beside the manifest's prediction."""
    steps = program()["launches"]
    steps[0]["predicted"] = {"nanoseconds": 1500, "bytes": 800}
    path = artifact(tmp_path / "four.tw", [program(launches=steps)])
    done = launch(path, profiler, tmp_path, PROFILER_MEASURES="1", FAKE_KERNEL_SECONDS="0.002")
    assert done.returncode == 0, done.stderr
    ends = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith("end twice")]
    assert ends == ["end twice: 2000.000 us, predicted 1.500 us", "end twice: 2000.000 us"]


def test_artifacts_carry_predictions(tool, profiler, tmp_path):
    """What tw-compile writes for a launch is what tw-run compares it with."""
    source, path = tmp_path / "program.mlir", tmp_path / "program.tw"
    source.write_text(FEW)
    tool("tw-compile", source, "--target=nvidia:A100", "-o", path)
    report = json.loads(tool("tw-run", source, "--target=nvidia:A100", "--device=emulator", "--json", "--trace", tmp_path / "trace.json"))
    _, spans, _ = well_formed(tmp_path / "trace.json")
    counted = [memory["read_bytes"] + memory["written_bytes"] for kernel in report["emulation"]["kernels"]
               for memory in kernel["memories"] if memory["memory"] == "global"]
    assert [int(moved) for moved in re.findall(rb'"predicted":{"bytes":(\d+)', path.read_bytes())] == counted
    expected = [span["args"]["predicted_seconds"] * 1e6 for span in spans if span["cat"] == "launch"]
    done = subprocess.run([LAUNCH, path], capture_output=True, text=True, timeout=60, env={
        **os.environ, "LD_LIBRARY_PATH": str(DRIVERS), "FAKE_ARCHITECTURE": "80", "TILEWRIGHT_PROFILER": str(profiler)})
    assert done.returncode == 0, done.stderr
    told = [float(number) for number in re.findall(r"end two_launch_\d+, predicted ([\d.]+) us", done.stderr)]
    assert len(told) == 2 and told == pytest.approx(expected, abs=1.1e-3)


def test_failures_end_their_activities(profiler, tmp_path):
    done = launch(artifact(tmp_path / "four.tw", [program()]), profiler, tmp_path, FAKE_FAIL="cuLaunchKernel:719")
    assert done.returncode == 1
    lines = [line.strip() for line in done.stderr.splitlines()]
    assert "end twice: failed with status 3" in lines and "end four: failed with status 3" in lines
    assert sum(line.startswith("begin") for line in lines) == sum(line.startswith("end") for line in lines)


def test_programs_of_tw_run_are_told(tool, profiler, tmp_path):
    """The emulator's launches go through the same runtime; a trace listens beside the profiler."""
    source = tmp_path / "program.mlir"
    source.write_text(FEW)
    done = subprocess.run([BUILD / "bin/tw-run", source, "--target=nvidia:A100", "--device=emulator", "--trace",
                           tmp_path / "trace.json"], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "TILEWRIGHT_PROFILER": str(profiler)})
    assert done.returncode == 0, done.stderr
    _, spans, _ = well_formed(tmp_path / "trace.json")
    launches = [span["name"] for span in spans if span["cat"] == "launch"]
    told = re.findall(r"^  begin (\w+): grid", done.stderr, re.MULTILINE)
    assert told == launches and "begin two\n" in done.stderr


BAD = {
    "missing": (None, "TILEWRIGHT_PROFILER: the profiler cannot be loaded: "),
    "no entry": ("int unrelated;", "has no function 'tilewright_profiler' (tilewright_runtime.h)"),
    "refuses": ("const void *tilewright_profiler(unsigned v) { (void)v; return 0; }", "has no profiler for version 1 of this library"),
    "newer": ("static struct { unsigned v, m; void *c, *b, *e, *x; } p = {2, 0, 0, &p, &p, 0};\n"
              "const void *tilewright_profiler(unsigned v) { return v ? &p : 0; }",
              "the profiler is of version 2; this library"),
    "empty": ("static struct { unsigned v, m; void *c, *b, *e, *x; } p = {1, 0, 0, 0, 0, 0};\n"
              "const void *tilewright_profiler(unsigned v) { return v ? &p : 0; }",
              "a profiler needs the functions 'begin' and 'end'"),
}


@pytest.mark.parametrize("name", BAD)
def test_profilers_that_are_refused(tmp_path, name):
    text, message = BAD[name]
    library = tmp_path / "bad.so"
    if text:
        (tmp_path / "bad.c").write_text(text)
        subprocess.run(["clang-22", "-shared", "-fPIC", tmp_path / "bad.c", "-o", library], check=True)
    done = launch(artifact(tmp_path / "four.tw", [program()]), library, tmp_path)
    assert done.returncode == 1 and message in done.stderr and str(library) in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1


def test_c_program_listens(tmp_path):
    """Functions of the library, without an environment: several profilers, ends in the opposite order, removal."""
    source = tmp_path / "app.c"
    source.write_text(r"""
      #include "tilewright/tilewright_runtime.h"
      #include <stdio.h>
      static void begin(void *c, const tw_activity *a) { printf("%s>%s %d\n", (char *)c, a->name, (int)a->number); }
      static void end(void *c, const tw_activity *a) { printf("%s<%s %d\n", (char *)c, a->name, (int)a->number); }
      static void closed(void *c) { printf("%s closed\n", (char *)c); }
      int main(void) {
        tw_error error;
        tw_device *device;
        tw_profiler one = {TW_PROFILER_VERSION, 0, "one", begin, end, closed}, two = one, bad = one;
        two.context = "two";
        bad.version = 7;
        if (tw_profiler_add(&bad, &error) != TW_BAD_VERSION || tw_profiler_add(0, &error) != TW_BAD_ARGUMENT)
          return 1;
        if (tw_device_open("nvidia:H100", 0, &device, &error))
          return fprintf(stderr, "%s\n", error.message), 2;
        if (tw_profiler_add(&one, &error) || tw_profiler_add(&two, &error) || tw_device_wait(device, 0, &error))
          return 3;
        tw_profiler_remove(&one);
        tw_profiler_remove(&one); /* once is enough */
        if (tw_device_wait(device, 0, &error))
          return 4;
        tw_profiler_remove(&two);
        if (tw_device_wait(device, 0, &error))
          return 5;
        tw_device_close(device);
        return 0;
      }""")
    subprocess.run(["clang-22", "-std=c11", "-Wall", "-Wextra", "-Werror", *SANITIZERS, f"-I{SOURCE}/core/include", source,
                    "-o", tmp_path / "app", f"-L{BUILD}/lib", "-ltilewright-runtime"], check=True)
    done = subprocess.run([tmp_path / "app"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/lib:{DRIVERS}"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["one>wait 1", "two>wait 1", "two<wait 1", "one<wait 1", "one closed",
                                            "two>wait 2", "two<wait 2", "two closed"]


def test_session_of_the_page(tmp_path):
    shutil.copy(LAYER, tmp_path / "layer.mlir")
    shutil.copy(SOURCE / "examples/mlp-f32.mlir", tmp_path / "mlp.mlir")
    run_session(PAGE, tmp_path, 4, TILEWRIGHT_TARGET_PATH=PLUGIN.parent, TILEWRIGHT=SOURCE, CC="clang-22")
