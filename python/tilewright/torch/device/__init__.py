"""A chip as a device of PyTorch: after

    from tilewright.torch import device
    device.register("acme", target="acme", plugins=["libtilewright-target-acme.so"], run="emulator")

`torch.device("acme")` is a device as others are: tensors are made on it and copied, operations run eagerly
(`eager.py`), gradients and `torch.compile(model, backend="tilewright")` work. PyTorch has one place
for such a device in a process (PrivateUse1).
"""

from .state import Registered, board_of, registered

__all__ = ["Registered", "board_of", "register", "registered"]


def register(name, *, target=None, plugins=(), run="emulator", driver=None, devices=1, fp="default", fallback="error"):
    """
    name        of the device, and of the module `torch.NAME`
    target      the chip, "TARGET[:CHIP]"; None: the name
    plugins     files of target plugins, for a target that is none of the SDK's own
    run         "emulator", "model" (by the records), "host" (as code of this machine), "driver" (on the chip)
    driver      with run="driver": the file of a library with the table `tw_driver_TARGET`; None: the SDK's own
    devices     how many there are
    fp          "default" | "strict" | "fast": may sums be re-associated
    fallback    what an operation that is not compiled does: "error", or "host" (on copies of its tensors on the host)
    """
    from .install import install

    return install(name, target or name, plugins, run, driver, devices, fp, fallback)
