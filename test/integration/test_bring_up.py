"""docs/bring-up.md, followed literally: every `sh` block of the page runs, in order, in one shell; the `text` block after it is
what it must print; lines and minutes of each milestone are what the page says."""

import json
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import FULL, SOURCE
from page_sessions import matches
from kit import COMPILERS, precompiled, prefix  # noqa: F401  (fixtures)

PAGE = SOURCE / "docs/bring-up.md"
MARK = "@@@@"


def milestones(walk):
    """(title, lines, minutes, [(commands, expected output or None)]) of each milestone whose number begins with `walk`."""
    page = re.split(r"^# ", PAGE.read_text(), flags=re.MULTILINE)
    part = next(part for part in page if re.search(rf"^## {walk}1\. ", part, flags=re.MULTILINE))
    parts = re.split(rf"^## ({walk}\d+\. .*)$", part, flags=re.MULTILINE)
    for title, body in zip(parts[1::2], parts[2::2]):
        promise = re.search(r"\*\*Lines: (\d+)\. Minutes: (\d+)\.\*\*", body)
        assert promise, f"{title}: no **Lines: N. Minutes: N.**"
        blocks = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", body, flags=re.MULTILINE | re.DOTALL)
        assert blocks, f"{title}: no commands"
        yield title, int(promise.group(1)), int(promise.group(2)), blocks


#: Lines of a scratchpad chip that runs GEMM + bias + ReLU: all, and those that the scaffolder did not write.
MOST_LINES, MOST_OWN_LINES = 250, 120


#: The C library of the page's other machine, which programs for it are linked with.
CROSS_LIBRARY = pathlib.Path("/usr/aarch64-linux-gnu/lib/crt1.o")
#: An interpreter with PyTorch, for the milestones that need one.
PYTHON = SOURCE / "build/venv-torch/bin/python"
#: Milestones for the full mode alone: in CI test/python/torch/test_registered_device.py has a chip with scratchpads.
LONG = () if FULL else ("S9.",)


@pytest.mark.parametrize("walk, kind, name, parts", [("", "simt", "acme", 9), ("S", "scratchpad", "orca", 9),
                                                     ("C", "simd", "kestrel", 3), ("N", "scratchpad", "lynx", 4)])
def test_page(prefix, precompiled, tmp_path, walk, kind, name, parts):  # noqa: F811
    count = f"{sys.executable} {SOURCE}/scripts/vendor-lines.py {tmp_path}/{name} --kind {kind} --json"
    script = ["set -euo pipefail", f"cd {tmp_path}", f"export TILEWRIGHT={prefix} PATH={prefix}/bin:$PATH"]
    script += [f"export {variable}={shlex.quote(value)}" for variable, value in {**COMPILERS, **precompiled}.items()]
    script += [f"export PYTHON={PYTHON} PYTHONPATH={SOURCE}/python TILEWRIGHT_SDK={prefix}"]
    pages = list(milestones(walk))
    assert len(pages) == parts
    pages = [page for page in pages if not page[0].startswith(LONG)]
    if not PYTHON.exists():
        pages = [page for page in pages if not any("$PYTHON" in commands for commands, _ in page[3])]
    if walk == "C" and platform.machine() == "aarch64":
        pytest.skip("the page's processor is this machine")
    if not shutil.which("qemu-aarch64") or not CROSS_LIBRARY.exists():
        pages = [page for page in pages if not any("qemu-aarch64" in commands for commands, _ in page[3])]
    for title, _, _, blocks in pages:
        script.append("SECONDS=0")
        for commands, _ in blocks:
            script += [f"echo '{MARK}block'", commands]
        script += [f"echo '{MARK}count'", count.replace("\n", " "), f"echo '{MARK}seconds'", "echo $SECONDS; times"]
    result = subprocess.run(["bash", "-c", "\n".join(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=1800)
    assert result.returncode == 0, result.stdout[-6000:]
    outputs = iter(re.split(rf"^{MARK}\w+\n", result.stdout, flags=re.MULTILINE)[1:])
    before, used = 0, 0
    for title, lines, minutes, blocks in pages:
        for commands, expected in blocks:
            output = next(outputs)
            problem = expected and matches(expected, output)
            assert not problem, f"{title}: {problem}\n{commands}\n{output}"
        report = json.loads(next(outputs))
        own = report["own_lines"]
        if kind == "scratchpad":
            assert own <= MOST_OWN_LINES and report["lines"] <= MOST_LINES, report
        assert own - before == lines, f"{title}: {own - before} lines, the page says {lines}"
        before = own
        elapsed, _, children = next(outputs).splitlines()[:3]
        processor = sum(60 * float(m) + float(s) for m, s in re.findall(r"(\d+)m([\d.]+)s", children))
        seconds, used = min(int(elapsed), processor - used), processor  # a busy machine is not the page's fault
        print(f"{title}: {seconds:.0f} s, the page says {minutes} minutes")
        assert seconds <= 60 * minutes or not FULL, f"{title}: {seconds:.0f} s, the page says {minutes} minutes"
