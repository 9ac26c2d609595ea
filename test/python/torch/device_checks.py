"""What a chip does as a device of PyTorch, beside the host in float64: each function of this file is one check. A
process has one such device, so each target has a process of its own.

    build/venv-torch/bin/python test/python/torch/device_checks.py TARGET RUN [PLUGIN]...      a line for each check
"""

import copy
import io
import sys
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn

from settings import FULL
from tilewright.torch import device as devices

NAME = "orca"


def near(got, wanted, tolerance=1e-5):
    assert got.device.type == NAME, got.device
    got = got.detach().cpu().double()
    wanted = wanted.detach().double()
    assert got.shape == wanted.shape, (got.shape, wanted.shape)
    error = ((got - wanted).abs() / (1 + wanted.abs())).max().item() if got.numel() else 0.0
    assert error <= tolerance, f"error {error}"  # not where it is NaN


def on_both(*shapes, dtype=torch.float32):
    """Tensors of the host and the same on the device."""
    host = [torch.randn(shape).to(dtype) for shape in shapes]
    return host, [x.to(NAME) for x in host]


def check_names():
    assert torch.device(NAME).type == NAME and torch.zeros(1, device=f"{NAME}:0").device == torch.device(NAME, 0)
    module = getattr(torch, NAME)
    assert module.is_available() and module.device_count() == 1 and module.current_device() == 0
    assert torch.accelerator.current_accelerator().type == NAME
    assert torch.zeros(2, device=NAME).is_orca and module.get_device_name()
    torch.accelerator.synchronize()
    with torch.device(NAME):
        assert torch.ones(3).device.type == NAME


def check_copies():
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
                  torch.int8, torch.uint8, torch.bool):
        x = torch.randint(0, 2, (5, 7)).to(dtype)
        assert torch.equal(x.to(NAME).cpu(), x), dtype
    x = torch.randn(4, 6, 3)
    for view in (lambda t: t.transpose(0, 2), lambda t: t[1:, ::2], lambda t: t[:, :, 1],
                 lambda t: t[2].expand(5, 6, 3), lambda t: t.to(torch.float64), lambda t: t[0, 0, 0], lambda t: t[:0]):
        assert torch.equal(view(x.to(NAME)).cpu(), view(x)), "views are copied to the host"
        assert torch.equal(view(x).to(NAME).cpu(), view(x)), "views of the host are copied to the device"
        assert torch.equal(view(x.to(NAME)).clone().cpu(), view(x)), "views are copied on the device"
    assert x.transpose(0, 2).to(NAME).stride() == x.transpose(0, 2).stride()
    y = torch.zeros(4, 6, device=NAME)
    y[1:3, ::2] = torch.ones(2, 3)  # from the host between elements that stay
    wanted = torch.zeros(4, 6)
    wanted[1:3, ::2] = 1
    assert torch.equal(y.cpu(), wanted)
    y[:, 1::2] = y[:, ::2] + 1  # on the device
    wanted[:, 1::2] = wanted[:, ::2] + 1
    assert torch.equal(y.cpu(), wanted)
    y[1:].copy_(y[:-1].clone())
    y[0, :5].copy_(y[0, 1:])  # regions that overlap
    wanted[1:].copy_(wanted[:-1].clone())
    wanted[0, :5].copy_(wanted[0, 1:].clone())
    assert torch.equal(y.cpu(), wanted)


def check_views_share_memory():
    x = torch.zeros(4, 6, device=NAME)
    x.view(3, 8)[1, 2] = 5
    x.t()[2, 0] += 3
    x.unfold(0, 2, 2)[1, 0].add_(1)
    wanted = torch.zeros(4, 6)
    wanted.view(3, 8)[1, 2] = 5
    wanted.t()[2, 0] += 3
    wanted.unfold(0, 2, 2)[1, 0].add_(1)
    assert torch.equal(x.cpu(), wanted)
    assert x[1].data_ptr() == x.data_ptr() + 24 and x[1]._base is x


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a * 2.5 - b / 3,
    lambda a, b: 1 / (1 + a * a),
    lambda a, b: torch.where(a > 0, a, b),
    lambda a, b: (a @ b.t()).relu(),
    lambda a, b: torch.softmax(a, -1),
    lambda a, b: F.layer_norm(a, (7, )),
    lambda a, b: a.sum(0),
    lambda a, b: a.mean(),
    lambda a, b: a.amax(1, keepdim=True),
    lambda a, b: torch.cat([a, b], 1),
    lambda a, b: torch.stack([a, b]),
    lambda a, b: a.cumsum(1),
    lambda a, b: F.gelu(a),
    lambda a, b: a.sort(1).values,
    lambda a, b: a.flip(0).roll(2, 1),
    lambda a, b: F.pad(a, (1, 2)),
    lambda a, b: a.tril(),
    lambda a, b: torch.addmm(b[0, :5], a[:, :4], b[:4, :5], alpha=0.5),
    lambda a, b: a.std(1),
    lambda a, b: F.cross_entropy(a,
                                 torch.arange(5, device=a.device) % 7),
    lambda a, b: a.clamp(-0.5, 0.5),
    lambda a, b: a.new_full((2, 2), 3.0) + torch.linspace(0, 1, 2, device=a.device),
    lambda a, b: torch.arange(4, device=a.device) / 2,
    lambda a, b: F.conv2d(a.reshape(1, 1, 5, 7), b[:3, :3].reshape(1, 1, 3, 3), padding=1),
    lambda a, b: a[[0, 2, 4]] + a[a[:, 0].argsort()[:3]],
    lambda a, b: F.max_pool2d(a.reshape(1, 1, 5, 7), 2),
    lambda a, b: torch.einsum("ij,kj->ik", a, b),
    lambda a, b: a.norm(),
    lambda a, b: F.scaled_dot_product_attention(a[None, None], b[None, None], a[None, None], is_causal=True),
    lambda a, b: a.t() @ b,
    lambda a, b: F.interpolate(a[None, None], scale_factor=2, mode="bilinear"),
    lambda a, b: F.embedding(torch.tensor([[1, 3]], device=a.device), a),
    lambda a, b: a.masked_fill(b > 0, 0.0),
    lambda a, b: a.double().sum(),
    lambda a, b: torch.bmm(a[None],
                           b.t()[None]),
    lambda a, b: a[:0].sum() + 1,
    lambda a, b: a.var(dim=0, unbiased=False),
    lambda a, b: torch.zeros_like(a).index_add_(0, torch.tensor([1, 1], device=a.device), b[:2]),
]


def check_operations():
    (a, b), (x, y) = on_both((5, 7), (5, 7))
    for number, operation in enumerate(OPERATIONS):
        try:
            near(operation(x, y), operation(a.double(), b.double()))
        except Exception as error:
            raise AssertionError(f"operation {number}: {error}") from error


def check_in_place_and_out():
    (a, b), (x, y) = on_both((4, 6), (4, 6))
    for write in (lambda s, t: s.add_(t, alpha=2), lambda s, t: s.mul_(0.5), lambda s, t: s[:, 1:3].sub_(t[:, :2]),
                  lambda s, t: s.t().copy_(t.t()), lambda s, t: s.zero_(), lambda s, t: s[1].fill_(7),
                  lambda s, t: s.clamp_(-1, 1), lambda s, t: s.addcmul_(t, t, value=0.1),
                  lambda s, t: torch.add(t, t, out=s), lambda s, t: torch.sum(t, 1, out=s[:, 0]),
                  lambda s, t: s.masked_fill_(t > 0, 2.0), lambda s, t: s.index_put_(
                      (torch.tensor([0, 3], device=s.device), ), t[:2]), lambda s, t: s.exp_(),
                  lambda s, t: s.lerp_(t, 0.3)):
        mine, wanted = x.clone(), a.double()
        assert write(mine, y) is not None
        write(wanted, b.double())
        near(mine, wanted)
    out = torch.empty(0, device=NAME)
    assert torch.mul(x, y, out=out) is out and out.shape == (4, 6)
    near(out, a.double() * b.double())


def check_one_program_for_all_numbers():
    from tilewright.torch.device import eager
    x = torch.ones(3, 3, device=NAME)
    for operation, wanted in ((lambda n: x + n, 3.5), (lambda n: x * n, 2.5), (lambda n: x.clone().add_(x, alpha=n),
                                                                               3.5),
                              (lambda n: x.clone().fill_(n), 2.5), (lambda n: x.addcdiv(x, x, value=n), 3.5)):
        operation(1.5)
        before = len(eager._entries)
        near(operation(2.5), torch.full((3, 3), wanted))
        assert len(eager._entries) == before, "a number is an argument of the program"
    near(x.half() + 1e-3, torch.full((3, 3), 1 + 1e-3).half())
    near(torch.arange(3, device=NAME) * 2, torch.tensor([0, 2, 4]))
    near(torch.tensor(2.0, device=NAME) + torch.ones(2, device=NAME, dtype=torch.float64), torch.tensor([3.0, 3.0]))


def check_types():
    (a, ), (x, ) = on_both((4, 5))
    assert (x + 1).dtype == torch.float32 and (x.half() + 1.0).dtype == torch.float16 and (x > 0).dtype == torch.bool
    assert (torch.arange(3, device=NAME) + 0.5).dtype == torch.float32 and (x.int() / 2).dtype == torch.float32
    near(x.bfloat16() @ x.bfloat16().t(), a.bfloat16().double() @ a.bfloat16().double().t(), 1e-2)


def check_random_numbers():
    torch.manual_seed(3)
    one = torch.randn(100, 100, device=NAME)
    torch.manual_seed(3)
    assert torch.equal(one.cpu(), torch.randn(100, 100, device=NAME).cpu()), "the seed makes them again"
    assert not torch.equal(one.cpu(), torch.randn(100, 100, device=NAME).cpu())
    assert abs(one.mean().item()) < 0.05 and abs(one.std().item() - 1) < 0.05
    generator = torch.Generator(device=NAME).manual_seed(5)
    first = torch.rand(50, generator=generator, device=NAME).cpu()
    generator.manual_seed(5)
    assert torch.equal(first,
                       torch.rand(50, generator=generator, device=NAME).cpu()) and 0 <= first.min() and first.max() < 1
    state = getattr(torch, NAME).get_rng_state()
    one = torch.rand(5, device=NAME).cpu()
    getattr(torch, NAME).set_rng_state(state)
    assert torch.equal(one, torch.rand(5, device=NAME).cpu())
    assert sorted(torch.randperm(9, device=NAME).tolist()) == list(range(9))
    kept = F.dropout(torch.ones(1000, device=NAME), 0.25)
    assert abs((kept == 0).float().mean().item() - 0.25) < 0.06 and abs(kept.max().item() - 4 / 3) < 1e-6
    assert set(torch.randint(2, 5, (200, ), device=NAME).tolist()) == {2, 3, 4}
    assert 0.3 < torch.bernoulli(torch.full((500, ), 0.5, device=NAME)).mean().item() < 0.7


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.first = nn.Linear(4 * 9, 16)
        self.second = nn.Linear(16, 5)

    def forward(self, x):
        x = F.max_pool2d(self.norm(self.conv(x)).relu(), 2)
        return self.second(F.gelu(self.first(x.flatten(1))))


def losses(model, place, steps, dtype=torch.float32, optimizer=torch.optim.SGD, compiled=False):
    """The loss at each step of a training."""
    torch.manual_seed(1)
    inputs, labels = torch.randn(6, 1, 6, 6).to(place, dtype), (torch.arange(6) % 5).to(place)
    model = copy.deepcopy(model).to(place, dtype)
    step = torch.compile(model, backend="tilewright", options={"strict": True}) if compiled else model
    optimizer = optimizer(model.parameters(), lr=0.05)
    result = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(step(inputs), labels)
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return torch.tensor(result), model


def check_training():
    model = Network()
    for optimizer in (torch.optim.SGD, torch.optim.AdamW) if FULL else (torch.optim.SGD, ):
        wanted, reference = losses(model, "cpu", 2, torch.float64, optimizer)
        got, trained = losses(model, NAME, 2, optimizer=optimizer)
        assert (got - wanted).abs().max() < 1e-3 and wanted[-1] < wanted[0], (got, wanted)
        assert all(p.device.type == NAME and p.grad.device.type == NAME for p in trained.parameters())


def check_compiled_training():
    model = Network()
    wanted, reference = losses(model, "cpu", 3, torch.float64)
    got, trained = losses(model, NAME, 3, compiled=True)
    assert (got - wanted).abs().max() < 1e-3, (got, wanted)
    near(trained.norm.running_mean, reference.norm.running_mean, 1e-4)


def check_compiled_dynamic_sizes():
    compiled = torch.compile(lambda x, w: torch.softmax(x @ w, -1),
                             backend="tilewright",
                             dynamic=True,
                             options={"strict": True})
    (w, ), (there, ) = on_both((6, 4))
    for rows in (3, 5, 9):
        x = torch.randn(rows, 6)
        near(compiled(x.to(NAME), there), torch.softmax(x.double() @ w.double(), -1))
    random = torch.compile(lambda x: x + torch.rand_like(x), backend="tilewright", options={"strict": True})
    torch.manual_seed(2)
    one = random(there)
    torch.manual_seed(2)
    assert torch.equal(one.cpu(), random(there).cpu()) and ((one - there) >= 0).all().item()


def check_gradients():
    (a, b), (x, y) = on_both((5, 7), (5, 7))
    for number, operation in enumerate(
        (lambda s, t: (s * t).sum(), lambda s, t: torch.softmax(s @ t.t(), -1).square().sum(),
         lambda s, t: F.layer_norm(s, (7, ), t[0]).square().sum(), lambda s, t: s[:, ::2].exp().mean() + t[1:3].prod(),
         lambda s, t: F.scaled_dot_product_attention(s[None, None], t[None, None], t[None, None]).square().sum())):
        mine = [v.clone().requires_grad_() for v in (x, y)]
        theirs = [v.double().requires_grad_() for v in (a, b)]
        for got, wanted in zip(torch.autograd.grad(operation(*mine), mine),
                               torch.autograd.grad(operation(*theirs), theirs)):
            near(got, wanted, 2e-5)


def check_saving():
    model = nn.Linear(3, 4).to(NAME)
    model.weight.data.uniform_(-1, 1)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "view": model.weight.detach()[:, 1]}, file)
    for place, type in ((None, NAME), ("cpu", "cpu"), (NAME, NAME)):
        file.seek(0)
        loaded = torch.load(file, map_location=place)
        assert loaded["model"]["weight"].device.type == type
        assert torch.equal(loaded["model"]["weight"].cpu(), model.weight.detach().cpu())
        assert torch.equal(loaded["view"].cpu(), model.weight.detach()[:, 1].cpu())
    assert torch.equal(copy.deepcopy(model).weight.cpu(), model.weight.cpu())


def check_autocast():
    (a, w), (x, y) = on_both((4, 6), (5, 6))
    with torch.autocast(NAME, dtype=torch.bfloat16):
        result = F.linear(x, y)
    assert result.dtype == torch.bfloat16
    near(result, a.double() @ w.double().t(), 3e-2)


def check_printing_and_data():
    x = torch.tensor([[1.5, -2.0], [float("nan"), 3.25]], device=NAME)
    assert repr(x) == repr(x.cpu())[:-1] + f", device='{NAME}:0')", repr(x)
    assert x[0].tolist() == [1.5, -2.0] and (x[0] > 0).nonzero().tolist() == [[0]] and x[x > 1].tolist() == [1.5, 3.25]
    assert torch.unique(torch.tensor([3, 1, 3], device=NAME)).tolist() == [1, 3]
    assert torch.equal(x[0], x[0]) and bool((x[0] == x[0]).all())


def check_memory_is_given_back():
    module = getattr(torch, NAME)
    before = module.memory_allocated()
    x = torch.empty(1000, device=NAME)
    assert module.memory_allocated() == before + 4000 and module.max_memory_allocated() >= before + 4000
    x.untyped_storage().resize_(8000)
    assert module.memory_allocated() == before + 8000
    del x
    assert module.memory_allocated() == before
    refused(lambda: torch.empty(1 << 60, dtype=torch.uint8, device=NAME), RuntimeError,
            "has no memory for 1152921504606846976 bytes")


def refused(function, kind, *words):
    try:
        function()
    except kind as error:
        for word in words:
            assert word in str(error), f"'{word}' is not in: {error}"
    else:
        raise AssertionError(f"{words} was expected")


def check_refusals():
    x = torch.randn(3, 3, device=NAME)
    refused(lambda: torch.linalg.eig(x), NotImplementedError, "aten::linalg_eig", f"does not run on '{NAME}:0'",
            "What helps", "x.cpu()", "fallback='host'")
    refused(lambda: x + torch.ones(3), RuntimeError, "a tensor of shape (3,) is on cpu, another on orca:0",
            ".to('orca:0')")
    refused(lambda: x @ torch.ones(2, 2, device=NAME), RuntimeError, "same reduction dim")
    refused(lambda: torch.empty(3, device=f"{NAME}:1"), RuntimeError, "there is no device orca:1; there are 1")
    refused(lambda: getattr(torch, NAME).set_device(4), RuntimeError, "there is no device orca:4")
    refused(lambda: torch.empty(3, device=NAME, pin_memory=True), RuntimeError, "pin")
    refused(lambda: x[torch.tensor([5])], IndexError)
    refused(lambda: torch.compile(lambda v: v + 1, backend="tilewright", options={"target": "amd:MI300X"})(x),
            Exception, "leave the option out")
    refused(lambda: devices.register("other"), ValueError, "this process has the device 'orca'")
    assert devices.register(NAME, target=devices.registered().target) is devices.registered()


def main(target, run, *plugins):
    for wrong, words in ((dict(name="cuda"), "torch.cuda"), (dict(name="Orca"), "small letter"),
                         (dict(name=NAME, run="simulator"), "'emulator'"), (dict(name=NAME,
                                                                                 target="cpu:host",
                                                                                 run="emulator"), "run='host'"),
                         (dict(name=NAME, fallback="cpu"), "'host'"), (dict(name=NAME, driver="x.so"), "run='driver'")):
        refused(lambda: devices.register(**{"target": target, "plugins": plugins, **wrong}), ValueError, words)
    torch.manual_seed(0)
    devices.register(NAME, target=target, plugins=plugins, run=run)
    failed = 0
    for name, check in sorted(globals().items()):
        if name.startswith("check_"):
            begin = time.perf_counter()
            try:
                check()
                print("passed", name, f"{time.perf_counter() - begin:.1f} s", flush=True)
            except Exception:
                failed += 1
                print("failed", name, flush=True)
                traceback.print_exc(file=sys.stdout)
    return failed


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(bool(main(*sys.argv[1:])))
