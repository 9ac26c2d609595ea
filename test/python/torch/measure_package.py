"""From the file to the first result: ResNet-50 (f32, one image) as a package, in processes without PyTorch.

    build/venv-torch/bin/python test/python/torch/measure_package.py [RUNS]

Each run is a process of its own; the file is in the page cache. Seconds are medians and the least, memory is the largest of a process. A package with
its batch left open is measured beside the one for a batch of 1.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch.export import Dim

import tilewright.torch
from full_networks import resnet50

PYTHON = r"""
import re, sys, time
sys.modules["torch"] = None
import numpy, json
x = numpy.load(sys.argv[2])
def peak(): return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
before, start = peak(), time.perf_counter()
import tilewright
imported = time.perf_counter()
package = tilewright.load(sys.argv[1])
y = package(x)
first = time.perf_counter()
package(x)
print(json.dumps({"import": imported - start, "first": first - imported, "second": time.perf_counter() - first,
                  "peak": peak(), "before": before}))
"""


def launched(path, image):
    """Wall seconds, processor seconds and peak memory in bytes of tw-launch."""
    tool = pathlib.Path(os.environ["TILEWRIGHT_SDK"]) / "bin/tw-launch"
    done = subprocess.run(["/usr/bin/time", "-f", "%e %U %S %M", tool, path, "--input", image], capture_output=True, text=True, check=True)
    wall, user, system, peak = map(float, re.findall(r"[\d.]+", done.stderr)[-4:])
    return wall, user + system, peak * 1024


def measure(path, image, weights, runs):
    tools = [launched(path, image) for _ in range(runs)]
    python = [json.loads(subprocess.run([sys.executable, "-c", PYTHON, path, image], capture_output=True, text=True, check=True).stdout)
              for _ in range(runs)]

    def median(key):
        return statistics.median(one[key] for one in python)
    peak = max(t[2] for t in tools)
    print(f"  tw-launch, whole process: {statistics.median(t[0] for t in tools):.2f} s (least {min(t[0] for t in tools):.2f} s, processor {statistics.median(t[1] for t in tools):.2f} s), "
          f"{peak / 1e6:.0f} MB = {peak / weights:.2f} x weights")
    print(f"  Python: import {median('import'):.3f} s, load and first result {median('first'):.3f} s (least "
          f"{min(one['first'] for one in python):.3f} s; second {median('second'):.3f} s), "
          f"{(median('peak') - median('before')) * 1024 / 1e6:.0f} MB over numpy's {median('before') * 1024 / 1e6:.0f} = "
          f"{(median('peak') - median('before')) * 1024 / weights:.2f} x weights")


def main(runs):
    torch.manual_seed(0)
    model, arguments = resnet50()
    model, images = model.eval(), arguments(1)
    with tempfile.TemporaryDirectory() as folder:
        path, image = os.path.join(folder, "net.tw"), os.path.join(folder, "image.npy")
        np.save(image, images[0].numpy())
        for name, shapes in (("batch of 1", None), ("any batch", ({0: Dim("batch", max=64)},))):
            tilewright.torch.export(model, tuple(arguments(1 if shapes is None else 2)), path, dynamic_shapes=shapes)
            weights = sum(w.nbytes for w in model.state_dict().values())
            print(f"{name}: file {os.path.getsize(path) / 1e6:.1f} MB, weights {weights / 1e6:.1f} MB, {torch.get_num_threads()} threads")
            measure(path, image, weights, runs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
