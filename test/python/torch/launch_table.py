"""Writes the tables of launches of docs/fusion.md: what PyTorch's programs are on chips of each kind, by the compiler's own count.

    build/venv-torch/bin/python test/python/torch/launch_table.py --write

Nothing is run: the importer's text of each program is compiled. `test_launch_table.py` compares the page.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[2] / "python"))
    os.environ.setdefault("TILEWRIGHT_SDK", str(HERE.parents[2] / "build/release"))

import networks  # noqa: E402
import torch  # noqa: E402
import tilewright.torch  # noqa: E402, F401: the back end
from torch import nn  # noqa: E402
from torch.nn.functional import gelu, scaled_dot_product_attention as attention  # noqa: E402

PAGE = HERE.parents[2] / "docs/fusion.md"
BUILD = pathlib.Path(os.environ["TILEWRIGHT_SDK"])
HALF = torch.float16
#: Chips of the table of programs, and the file that a compilation for each writes.
CHIPS = {"nvidia:H200": "p.tw", "amd:MI300X": "p.tw", "accelerator:npu": "p.c", "cpu:zen4": "p.o"}


class Of(nn.Module):
    """A function as a module, with `parts` whose weights are arguments of the program."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *arguments):
        return self.function(self, *arguments)


class Layer(nn.Module):
    """A layer of BERT's kind."""

    def __init__(self, features=128, heads=2):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(features, features) for _ in range(4))
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)
        self.first, self.second = nn.LayerNorm(features), nn.LayerNorm(features)

    def forward(self, x):
        split = lambda y: y.view(*y.shape[:2], self.heads, -1).transpose(1, 2)  # noqa: E731
        y = attention(split(self.q(x)), split(self.k(x)), split(self.v(x))).transpose(1, 2).reshape(x.shape)
        x = self.first(x + self.o(y))
        return self.second(x + self.down(gelu(self.up(x))))


class Rotary(nn.Module):
    """A layer of LLaMA's kind: RMS norm, rotary embedding of any length, grouped queries, SwiGLU."""

    def __init__(self):
        super().__init__()
        self.layer = networks.Llama.Layer(128, 2, 1)

    def forward(self, x):
        angles = torch.arange(x.shape[1])[:, None] / 10000 ** (torch.arange(0, 64, 2) / 64)
        angles = torch.cat([angles, angles], -1)
        return self.layer(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


#: By their names in the table of layers: 2 x 64 tokens of 128 features.
LAYERS = {"BERT": Layer, "GPT-2": lambda: networks.Block(128, 2, causal=True, activation=nn.GELU(approximate="tanh")),
          "LLaMA (RMS norm, rotary, grouped queries, SwiGLU)": Rotary}


def of_numbers(module, *shapes, dtype=torch.float32, last=False):
    """A program: a module and inputs of these shapes, `last`: with channels last."""
    def make():
        order = torch.channels_last if last else torch.contiguous_format
        return module().to(dtype=dtype, memory_format=order), [torch.randn(shape, dtype=dtype).to(memory_format=order) for shape in shapes]
    return make


def indices(most, *shape):
    return torch.randint(0, most, shape)


def embedding():
    return nn.Embedding(1000, 64).to(HALF), [indices(1000, 4, 32)]


def embeddings():
    model = Of(lambda m, at: m.norm(m.words(at) * 8 + m.places(torch.arange(at.shape[1]))), words=nn.Embedding(1000, 64),
               places=nn.Embedding(64, 64), norm=nn.LayerNorm(64))
    return model.to(HALF), [indices(1000, 4, 32)]


def dlrm():
    return networks.Dlrm(1000, 8, 16, 32).to(HALF), [torch.randn(64, 13, dtype=HALF), indices(1000, 64, 8)]


def stem():
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1))


#: By their names in the table.
PROGRAMS = {
    "embedding": embedding,
    "embedding, scaled, of positions added, layer norm": embeddings,
    "DLRM with 8 tables": dlrm,
    "convolution of 7 x 7, bias, ReLU, maximum of 3 x 3": of_numbers(stem, (1, 3, 32, 32), dtype=HALF),
    "two convolutions of 3 x 3, bias, ReLU": of_numbers(
        lambda: nn.Sequential(nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU()), (1, 16, 28, 28), dtype=HALF),
    "convolution of 3 x 3": of_numbers(lambda: nn.Conv2d(64, 64, 3, 1, 1), (1, 64, 28, 28), dtype=HALF),
    "depthwise convolution of 3 x 3": of_numbers(lambda: nn.Conv2d(32, 32, 3, 1, 1, groups=32), (1, 32, 28, 28)),
    "the same, channels last": of_numbers(lambda: nn.Conv2d(32, 32, 3, 1, 1, groups=32), (1, 32, 28, 28), last=True),
    "maximum of 3 x 3": of_numbers(lambda: nn.MaxPool2d(3, 2, 1), (1, 32, 28, 28)),
    "maximum of 3 x 3, channels last": of_numbers(lambda: nn.MaxPool2d(3, 2, 1), (1, 32, 28, 28), last=True),
    "two results side by side": of_numbers(lambda: Of(lambda m, x, y: torch.cat([torch.relu(x), y * 2], 1)), (64, 128), (64, 64)),
    "two products side by side": of_numbers(
        lambda: Of(lambda m, x: torch.cat([torch.relu(m.a(x)), m.b(x)], -1), a=nn.Linear(64, 64), b=nn.Linear(64, 32)), (64, 64), dtype=HALF),
    "part of a product": of_numbers(lambda: Of(lambda m, x, w: torch.relu((x @ w)[:, 16:80])), (64, 128), (128, 128), dtype=HALF),
    "part of a soft-max": of_numbers(lambda: Of(lambda m, x: torch.softmax(x, -1)[:, :32]), (64, 128)),
    "sum of an array of three dimensions": of_numbers(lambda: Of(lambda m, x: x.sum()), (8, 64, 128)),
}


class Written(Exception):
    """The importer's text is written; no more is asked for."""


def text_of(model, inputs, dimensions=()):
    """The program that the back end would compile, of which `dimensions` of the first input are dynamic."""
    backend = sys.modules["tilewright.torch.backend"]
    texts, compile_program = [], backend.compile_program

    def written(text, options):
        texts.append(text)
        raise Written
    backend.compile_program = written
    for dimension in dimensions:
        torch._dynamo.mark_dynamic(inputs[0], dimension)
    try:
        torch.compiler.reset()
        with torch.no_grad():
            torch.compile(model.eval(), backend="tilewright", dynamic=None if dimensions else False, options={"strict": True})(*inputs)
    except Exception:
        if not texts:
            raise
    finally:
        backend.compile_program = compile_program
    text, = texts
    return text


def stages(folder, text, chip):
    """Where the stages of a compilation are."""
    (folder / "p.mlir").write_text(text)
    subprocess.run([BUILD / "bin/tw-compile", folder / "p.mlir", "--target", chip, f"--dump-stages={folder}", "-o", folder / CHIPS[chip]],
                   check=True, capture_output=True, timeout=120, env={**os.environ, "TILEWRIGHT_TARGET_PATH": str(BUILD / "lib/tilewright")})
    return folder


def launches(folder, text, chip):
    """Launches of a call, by the manifest: a kernel that is launched twice counts twice. On a processor, loops of kernels that stand in
    no other one."""
    folder = stages(folder, text, chip)
    if chip.startswith("cpu"):
        return len(re.findall(r"^    (?:affine|scf|tile)\.(?:for|parallel)\b", (folder / "3-optimise.mlir").read_text(), re.MULTILINE))
    manifest, = re.findall(r"func\.func @graph\(.*", (folder / "4-map.mlir").read_text())
    return manifest.count("graph_launch_")


def kernels(folder, text, chip):
    """Kernels of a program: one that is launched twice counts once."""
    return len(re.findall(r"func\.func private @graph_launch_\d+\(", (stages(folder, text, chip) / "4-map.mlir").read_text()))


def program_row(name, folder):
    torch.manual_seed(3)
    text = text_of(*PROGRAMS[name]())
    return f"| {name} | " + " | ".join(str(launches(folder, text, chip)) for chip in CHIPS) + " |"


def layer_row(name, folder):
    torch.manual_seed(3)
    model = LAYERS[name]().to(HALF)
    texts = [text_of(model, [torch.randn(2, 64, 128, dtype=HALF)], dimensions) for dimensions in ((), (0,), (0, 1))]
    cells = [", ".join(str(launches(folder, text, chip)) for chip in ("nvidia:H200", "amd:MI300X")) for text in texts]
    return f"| {name} | " + " | ".join([*cells, str(kernels(folder, texts[-1], "nvidia:H200"))]) + " |"


#: Of each table the line that it begins with, its rows, and what writes one.
TABLES = {
    "| program | H200 | MI300X | NPU template | loops on Zen 4 |": (PROGRAMS, program_row),
    "| layer | static: H200, MI300X | dynamic batch | dynamic batch and length | kernels |": (LAYERS, layer_row),
}


def documented():
    """The rows of both tables as the page has them, by their names."""
    rows, page = {}, PAGE.read_text()
    for head in TABLES:
        lines = page.split(head + "\n")[1].split("\n\n")[0].splitlines()[1:]
        rows.update({line.split(" | ")[0].removeprefix("| "): line for line in lines})
    return rows


def write():
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for head, (names, row) in TABLES.items():
            before, after = page.split(head + "\n")
            rows = [row(name, pathlib.Path(folder)) for name in names]
            page = "\n".join([before + head, "|" + "---|" * (head.count("|") - 1), *rows]) + "\n\n" + after.split("\n\n", 1)[1]
    PAGE.write_text(page)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
