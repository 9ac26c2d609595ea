"""torch.device("@NAME@"): after `import torch_device`, PyTorch's tensors, operations, gradients and
torch.compile(model, backend="tilewright") run on chips of @NAME@, as code of this machine (so `triple` must be this machine's).
docs/pytorch.md of Tilewright says more.

    python torch_device.py      trains a small network on the device and on the host, and compares
"""

import pathlib

import torch
from tilewright.torch import device

HERE = pathlib.Path(__file__).resolve().parent

device.register("@NAME@",
                target="@NAME@",
                plugins=[HERE / "build/lib/tilewright/libtilewright-target-@NAME@.so"],
                run="host")


def losses(place, dtype, compiled):
    """The loss before each of three steps of a training."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).to(place, dtype)
    inputs, labels = torch.randn(8, 12).to(place, dtype), (torch.arange(8) % 4).to(place)
    step = torch.compile(model, backend="tilewright") if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    result = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(step(inputs), labels)
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return result


if __name__ == "__main__":
    print(torch.get_device_module("@NAME@").get_device_name())
    wanted = losses("cpu", torch.float64, compiled=False)
    for name, compiled in (("eager", False), ("compiled", True)):
        got = losses("@NAME@", torch.float32, compiled)
        worst = max(abs(a - b) for a, b in zip(got, wanted))
        print(
            f"{name}: losses {', '.join(f'{loss:.4f}' for loss in got)}; largest difference from the host {worst:.1e}")
        assert worst < 1e-4, "the device trains otherwise than the host"
