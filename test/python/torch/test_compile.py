"""What `torch.compile(..., backend="tilewright")` promises beside right numbers: strides, aliases, mutation, dynamic sizes, training,
random numbers, options, messages."""

import gc
import logging
import math
import os
import subprocess
import sys

import pytest
import torch
from torch import nn

import tilewright.torch
from settings import FULL
from tilewright.torch import decompositions, formulas, program, registry
from tilewright.torch.options import Options, read

backend = sys.modules["tilewright.torch.backend"]  # the package has a function of this name


def compiled(function, **options):
    return torch.compile(function, backend="tilewright", options={"strict": True, **options.pop("options", {})}, **options)


def equal_outside(got, want):
    """Values, sizes, types, strides and storage offsets are those of eager."""
    for g, w in zip(got, want, strict=True):
        assert (g.shape, g.dtype, g.stride(), g.storage_offset()) == (w.shape, w.dtype, w.stride(), w.storage_offset())
        torch.testing.assert_close(g, w, equal_nan=True)


def test_the_name_is_known():
    assert "tilewright" in torch._dynamo.list_backends()


def test_operations_are_taken_apart_as_by_the_core_table():
    """Those that have a kernel of others are the dispatcher's; all others of the core table are in ours, or are written by an emitter."""
    core = torch._decomp.core_aten_decompositions()
    table = decompositions.table()
    for overload in core:
        assert decompositions.is_composite(overload) or overload in table or registry.emitter_of(overload) or \
            overload.overloadpacket in decompositions.WRITING, overload
    assert not any(map(decompositions.is_composite, table.keys() - formulas.TABLE.keys()))


def test_views_of_one_result_share_memory():
    def f(x):
        y = torch.relu(x) + 1
        return y.t(), y[:, ::2], y.unsqueeze(0).expand(3, -1, -1), y.view(-1)[2:]
    x = torch.randn(4, 6)
    got = compiled(f)(x)
    equal_outside(got, f(x))
    assert len({g.untyped_storage().data_ptr() for g in got}) == 1


@pytest.mark.parametrize("dynamic", [False, True])
def test_strides_of_transposed_and_sliced_arguments(dynamic):
    def f(x, y):
        return x + 1, x.t().exp(), (x * y).sum(0, keepdim=True), y[1:], x
    arguments = torch.randn(6, 4).t(), torch.randn(8, 12)[::2, ::2]
    equal_outside(compiled(f, dynamic=dynamic)(*arguments), f(*arguments))


def test_channels_last():
    conv = nn.Conv2d(3, 8, 3, padding=1, stride=2).to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 9, 8).to(memory_format=torch.channels_last)
    with torch.no_grad():
        equal_outside([compiled(conv)(x)], [conv(x)])


def test_results_with_gaps_and_with_shared_elements():
    def f(x):
        return torch.ops.aten.empty_strided([2, 3], [6, 2]).fill_(1) * 0 + x, torch.zeros(3).expand(2, 3) + 0 * x
    x = torch.randn(2, 3)
    equal_outside(compiled(f)(x), f(x))


def test_mutation_of_arguments_and_buffers():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))

        def forward(self, x):
            self.total.add_(x.sum(0))
            x.mul_(2)
            x[:, 1:].sub_(1)
            return x + self.total
    ours, theirs = Counts(), Counts()
    x, y = torch.ones(2, 3), torch.ones(2, 3)
    f = compiled(ours)
    for _ in range(2):
        torch.testing.assert_close(f(x), theirs(y))
        torch.testing.assert_close(x, y)
    torch.testing.assert_close(ours.total, theirs.total)


def test_an_argument_that_is_returned_is_the_same_tensor():
    x = torch.randn(3)
    assert compiled(lambda x: (x, x + 1))(x)[0] is x


def test_one_compilation_serves_all_sizes():
    compilations = []

    def counting(graph, inputs, **keywords):
        compilations.append(graph)
        return tilewright.torch.backend(graph, inputs, **keywords)

    def f(x, w):
        y = torch.softmax(x @ w, -1)
        return y.reshape(-1), torch.cat([y, y], 0), y[1:] - y[:-1], x.shape[0] * y, torch.arange(x.shape[0])
    g = torch.compile(f, backend=counting, dynamic=True, options={"strict": True})
    for n, k in ((4, 8), (7, 5), (33, 2)):
        arguments = torch.randn(n, k), torch.randn(k, 6)
        equal_outside(g(*arguments), f(*arguments))
    assert len(compilations) == 1


def test_groups_of_dynamically_many_channels():
    def f(x, w, b):
        return nn.functional.silu(nn.functional.group_norm(x, 4, w, b))
    g = compiled(f, dynamic=True)
    for n, channels, size in ((2, 8, 5), (3, 12, 9), (1, 4, 1)):
        arguments = torch.randn(n, channels, size, size + 1), torch.randn(channels), torch.randn(channels)
        torch.testing.assert_close(g(*arguments), f(*arguments))


def test_a_number_that_is_an_argument():
    def f(x, n):
        return nn.functional.pad(x, (n, 0)) * n
    g = compiled(f, dynamic=True)
    for x, n in ((torch.randn(3, 4), 2), (torch.randn(5, 6), 3)):
        torch.testing.assert_close(g(x, n), f(x, n))


def test_numbers_that_are_computed_from_sizes():
    """They are f64 in the program, as in eager, whatever the type of the elements; one program serves all sizes."""
    programs = []

    def counting(graph, inputs, **keywords):
        programs.append(graph)
        return tilewright.torch.backend(graph, inputs, **keywords)

    def f(x, k):
        n, m = x.shape
        return (x * (1 / math.sqrt(m)) + n / m, x.pow(2).sum() * (1.0 / (n * m)), torch.full_like(x, n / 3.0) - x / m ** 0.5, k // (n / m), x > n / m, x.clamp(max=m / n),
                torch.full((m,), n * 0.5), torch.where(x > 0, x, m / n), (k * (n / m)).half())
    g = torch.compile(f, backend=counting, dynamic=True, options={"strict": True})
    for n, m in ((3, 5), (7, 4), (8, 33)):
        arguments = torch.randn(n, m), torch.arange(n * m).view(n, m)
        equal_outside(g(*arguments), f(*arguments))
    assert len(programs) == 1

    def mean_of_square(x):
        return x.pow(2).mean() + (x * x.shape[0]).mean(0).sum()
    for n in (3, 8):
        x = [torch.ones(n, 2).cumsum(0).requires_grad_() for _ in range(2)]
        torch.compile(mean_of_square, backend="tilewright", dynamic=True, options={"strict": True})(x[0]).backward()
        mean_of_square(x[1]).backward()
        torch.testing.assert_close(x[0].grad, x[1].grad)
    with pytest.raises(Exception, match="a number that is computed from a dynamic size is compiled as an operand of arithmetic alone"):
        compiled(lambda x: nn.functional.elu(x, x.shape[0] / 2), dynamic=True)(torch.randn(5, 3))


def test_special_values():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e38, -1e-45])

    def f(x):
        return (torch.relu(x), x.clamp(-1, 1), torch.maximum(x, x.flip(0)), x.max(), x.min(0).values, x.argmax(), x.softmax(0), torch.sign(x), x * 10,
                x.isnan(), x / x.flip(0), torch.sigmoid(x), x.nan_to_num(), x > 0, x.sort().values, x.exp())
    for g, w in zip(compiled(f)(x), f(x), strict=True):
        torch.testing.assert_close(g, w, equal_nan=True)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_sizes_of_zero(shape):
    def f(x):
        return x + 1, x.sum(), x.sum(-1), torch.cat([x, x], -1), x.t() if x.dim() == 2 else x, x.softmax(-1), x.mean(0)
    x = torch.randn(shape)
    equal_outside(compiled(f)(x), f(x))


@pytest.mark.parametrize("shape, axes", [((8, 96, 96, 16), (0, 1, 2)), ((4, 8, 64, 64), (0, 2, 3)), ((1 << 20, ), 0), ((20, 50257), 1)])
def test_long_sums_err_as_little_as_those_of_eager(shape, axes):
    """Twice eager's error at most: additions in a row grow with the root of the number of terms. A sum of products and one of its
    factors are computed together."""
    def f(x, y):
        return x.sum(axes), (x * y).sum(axes)
    x, y = torch.rand(shape), torch.rand(shape)
    for got, eager, right in zip(compiled(f)(x, y), f(x, y), f(x.double(), y.double()), strict=True):
        def error(value):
            return float(((value.double() - right).abs() / right).max())
        assert error(got) <= 2 * error(eager) + 2.0**-23, (error(got), error(eager))


def test_training():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
    x, target = torch.randn(5, 8, requires_grad=True), torch.tensor([0, 1, 2, 3, 0])

    def gradients(f):
        loss = nn.functional.cross_entropy(f(x), target)
        return torch.autograd.grad(loss, [x, *model.parameters()])
    for g, w in zip(gradients(compiled(model)), gradients(model), strict=True):
        torch.testing.assert_close(g, w)


def test_dropout_follows_the_seed():
    f = compiled(lambda x: nn.functional.dropout(x, 0.3))
    x = torch.ones(1000, 100, requires_grad=True)
    torch.manual_seed(3)
    first, second = f(x), f(x)
    torch.manual_seed(3)
    assert torch.equal(first, f(x)) and not torch.equal(first, second)
    assert abs((first == 0).float().mean() - 0.3) < 0.01
    first.sum().backward()
    torch.testing.assert_close(x.grad, first.detach())


def test_random_numbers_have_their_distributions():
    f = compiled(lambda x: (torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 10), torch.bernoulli(x * 0 + 0.25)))
    uniform, normal, whole, coin = f(torch.zeros(500, 400))
    assert abs(uniform.mean() - 0.5) < 5e-3 and 0 <= uniform.min() and uniform.max() < 1
    assert abs(normal.mean()) < 1e-2 and abs(normal.std() - 1) < 1e-2
    assert [round(float((whole == i).float().mean()), 1) for i in range(10)] == [0.1] * 10
    assert abs(coin.mean() - 0.25) < 5e-3


def test_automatic_mixed_precision():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    x = torch.randn(16, 64)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        got, want = compiled(model)(x), model(x)
    assert got.dtype == want.dtype == torch.bfloat16
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)


def test_an_island_runs_eagerly_and_is_logged_once(caplog):
    def f(x):
        return torch.fft.rfft(x * 2).abs() + 1
    x = torch.randn(4, 8)
    with caplog.at_level(logging.WARNING, "tilewright.torch"):
        torch.testing.assert_close(torch.compile(f, backend="tilewright")(x), f(x))
    lines = [r.getMessage() for r in caplog.records]
    assert len(lines) == 1 and "aten::_fft_r2c at" in lines[0] and "test_compile.py:" in lines[0]


@pytest.mark.parametrize("dynamic", [False, True] if FULL else [True])
def test_products_of_groups(dynamic):
    """The tokens of each expert: of rows, of columns, of terms; groups of none; what is in no group is 0."""
    ends = torch.tensor([8, 8, 16, 24], dtype=torch.int32)

    def random(*shape):
        return torch.randn(shape, dtype=torch.bfloat16, requires_grad=True)

    def f(x, weights, ends):
        return nn.functional.grouped_mm(x, weights.transpose(-2, -1), offs=ends)

    def gradients(function, *arguments):
        return torch.autograd.grad(function(*arguments, ends).float().square().sum(), arguments)
    for shapes in (((24, 16), (4, 32, 16)), ((4, 8, 16), (24, 16)), ((8, 24), (32, 24))):
        arguments = [random(*shape) for shape in shapes]
        torch._dynamo.reset()
        for g, w in zip(gradients(compiled(f, dynamic=dynamic), *arguments), gradients(f, *arguments), strict=True):
            torch.testing.assert_close(g, w, rtol=3e-2, atol=3e-1)
    with torch.no_grad():
        got = compiled(f, dynamic=dynamic)(random(40, 16), random(4, 32, 16), ends)
        assert got.shape == (40, 32) and not got[24:].any() and got[:24].any(1).all()


def test_products_of_groups_of_transformers():
    """The operations that the library `transformers` defines for types other than bf16, as it defines them."""
    def of_groups(x, weight, offs):
        starts = [0, *offs.tolist()]
        return torch.cat([x[a:b] @ w for a, b, w in zip(starts, starts[1:], weight)] + [x.new_zeros(len(x) - starts[-1], weight.shape[2])])

    def gradients_of_groups(x, weight, offs, gradient):
        starts = [0, *offs.tolist()]
        parts = [slice(a, b) for a, b in zip(starts, starts[1:])]
        return torch.cat([gradient[p] @ w.t() for p, w in zip(parts, weight)]), torch.stack([x[p].t() @ gradient[p] for p in parts])
    schemas = {"grouped_mm_fallback": ("(Tensor input, Tensor weight, Tensor offs) -> Tensor", of_groups,
                                       lambda x, w, o: x.new_empty(x.shape[0], w.shape[2])),
               "grouped_mm_fallback_backward": ("(Tensor input, Tensor weight, Tensor offs, Tensor grad_output) -> (Tensor, Tensor)",
                                                gradients_of_groups, lambda x, w, o, g: (torch.empty_like(x), torch.empty_like(w)))}
    for name, (schema, kernel, fake) in schemas.items():
        torch.library.custom_op(f"transformers::{name}", kernel, mutates_args=(), schema=schema).register_fake(fake)

    def f(x, weight, offs, gradient):
        library = torch.ops.transformers
        return library.grouped_mm_fallback(x, weight, offs), *library.grouped_mm_fallback_backward(x, weight, offs, gradient)
    arguments = torch.randn(9, 5), torch.randn(4, 5, 3), torch.tensor([2, 2, 6, 9], dtype=torch.int32), torch.randn(9, 3)
    torch.testing.assert_close(compiled(f)(*arguments), f(*arguments))


def test_a_weight_that_is_part_of_another():
    def f(x, w):
        a, b = w.split([2, 4])
        return nn.functional.linear(x, a), nn.functional.linear(x, torch.cat([b, a]))
    arguments = torch.randn(5, 8), torch.randn(6, 8)
    equal_outside(compiled(f)(*arguments), f(*arguments))


def test_elements_by_their_place_in_memory():
    """Of a tensor whose dimensions lie in another order."""
    def f(x):
        near = torch.as_strided_scatter(x.t(), x[:2, :3] * 3, (2, 3), (9, 2), 1)
        return (x * 2).t().as_strided((3, 4, 2), (2, 5, 1)), x.t().as_strided((2, 3), (4, 1), 2), near
    for x in (torch.randn(4, 6), torch.randn(6, 4).t()):
        torch._dynamo.reset()
        equal_outside(compiled(f)(x), f(x))


def test_what_the_compiler_refuses_runs_eagerly(caplog, monkeypatch):
    def refuse(text, options):
        raise program.CompilerError([program.Diagnostic("error", "", 0, 0, f"{text.count('loc(')} locations")])
    monkeypatch.setattr(backend, "compile_program", refuse)
    x = torch.randn(3)
    with caplog.at_level(logging.WARNING, "tilewright.torch"):
        torch.testing.assert_close(torch.compile(lambda x: torch.relu(x) + 1, backend="tilewright")(x), torch.relu(x) + 1)
    assert "a part of 2 operations runs eagerly" in caplog.text and " 0 locations" not in caplog.text
    torch._dynamo.reset()
    with pytest.raises(Exception, match="strict=True.*locations"):
        compiled(lambda x: torch.relu(x) + 2)(x)


def test_strict_refuses_with_operation_line_and_remedy():
    def f(x):
        return torch.fft.rfft(x * 2).abs()
    with pytest.raises(Exception, match=r"(?s)aten::_fft_r2c at .*test_compile.py:\d+: there is no emitter.*Without strict=True"):
        compiled(f)(torch.randn(4, 8))


def test_an_index_out_of_range_is_an_error():
    f = compiled(nn.functional.embedding)
    weight = torch.randn(4, 3)
    torch.testing.assert_close(f(torch.tensor([0, 3]), weight), weight[[0, 3]])
    with pytest.raises(IndexError, match=r"an index into the rows of an embedding is out of range of the dimension .*\(extent 4\)"):
        f(torch.tensor([1, 9]), weight)
    with pytest.raises(IndexError, match="out of range"):
        f(torch.tensor([1, -5]), weight)
    torch._dynamo.reset()
    for options in ({"target": "nvidia:H200", "device": "emulator"}, {"check_indices": True}):
        f = compiled(nn.functional.embedding, options=options)
        torch.testing.assert_close(f(torch.tensor([0, -1]), weight), weight[[0, 3]])
        with pytest.raises(IndexError, match=r"an index into the rows of an embedding is out of range of the dimension .*\(extent 4\)"):
            f(torch.tensor([1, 9]), weight)
        torch._dynamo.reset()


@pytest.mark.parametrize("first, last, step, checks", [(0, 4, 1, 0), (3, -5, -1, 0), (0, 5, 1, 1), (-5, 3, 1, 1), (2, 9, 3, 1)])
def test_positions_are_compared_where_they_may_be_out_of_range(first, last, step, checks):
    weight, texts = torch.randn(4, 3), []
    write = backend.stage_text

    def noted(*args, **kwargs):
        texts.append(write(*args, **kwargs)[0])
        return write(*args, **kwargs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "stage_text", noted)
        f = compiled(lambda w: nn.functional.embedding(torch.arange(first, last, step), w))
        if checks:
            with pytest.raises(IndexError, match="out of range"):
                f(weight)
        else:
            torch.testing.assert_close(f(weight), weight[torch.arange(first, last, step)])
    assert texts[0].count("cf.assert") == checks


@pytest.mark.parametrize("target", ["nvidia:H200", "amd:MI300X"])
def test_emulated_devices(target):
    """Kernels of a GPU, lane by lane, from a model of the host."""
    model = nn.Sequential(nn.Linear(32, 48), nn.GELU(), nn.LayerNorm(48), nn.Linear(48, 8), nn.Softmax(-1)).eval()
    x = torch.randn(16, 32)
    with torch.no_grad():
        torch.testing.assert_close(compiled(model, options={"target": target, "device": "emulator"})(x), model(x))


def test_tensors_on_another_device_are_refused():
    with pytest.raises(Exception, match="tensor 0 of the graph is on meta, but programs for 'cpu:host' take tensors on cpu"):
        compiled(lambda x: x + 1)(torch.ones(3, device="meta"))


def test_the_second_process_finds_the_compiled_code(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    x = torch.randn(4, 8)
    torch.testing.assert_close(compiled(lambda x: torch.relu(x) * 3)(x), torch.relu(x) * 3)
    entries = sorted(p.name for p in tmp_path.rglob("*") if p.is_file())
    assert entries
    torch._dynamo.reset()
    torch.testing.assert_close(compiled(lambda x: torch.relu(x) * 3)(x), torch.relu(x) * 3)
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == entries


def test_cyclic_garbage_waits_for_the_end(monkeypatch):
    """The collector rests while a graph is compiled, and runs on after it, also where that fails; where it was off, it stays off."""
    rests = []
    inner = backend.compile_inference
    monkeypatch.setattr(backend, "compile_inference", lambda *arguments: rests.append(not gc.isenabled()) or inner(*arguments))
    function = compiled(lambda x: torch.relu(x) * 5)
    with torch.no_grad():
        function(torch.ones(3))
        assert rests == [True] and gc.isenabled()
        torch._dynamo.reset()
        with pytest.raises(Exception, match="strickt"):
            torch.compile(lambda x: x + 1, backend="tilewright", options={"strickt": True})(torch.ones(3))
        assert gc.isenabled()
        gc.disable()
        try:
            torch._dynamo.reset()
            function(torch.ones(3))
            assert not gc.isenabled()
        finally:
            gc.enable()


def test_logs_are_those_of_torch():
    """TORCH_LOGS knows the package by its name."""
    text = 'import torch\nimport tilewright.torch\ntorch.compile(lambda x: x + 1, backend="tilewright")(torch.ones(3))'
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, "TORCH_LOGS": "+tilewright"}, capture_output=True, text=True)
    assert done.returncode == 0 and "func.func @graph" in done.stderr, done.stderr


def test_options_are_checked():
    with pytest.raises(ValueError, match="no option 'strickt'; did you mean 'strict'"):
        read({"strickt": True})
    with pytest.raises(ValueError, match="'fp' of tilewright is 'quick'; it is 'default', 'strict', 'reproducible' or 'fast'"):
        Options(fp="quick")
    with pytest.raises(ValueError, match="mode 'slow' of torch.compile is not known"):
        read({}, "slow")
    assert read(None, "max-autotune") == Options()
