"""`torch.NAME`: what PyTorch and programs ask the module of a device type."""

import contextlib
import types

import torch

from . import extension


def module(registered):
    """The module of a registered device."""
    name = registered.name
    made = types.ModuleType(f"torch.{name}", f"The device '{name}': {registered.target} by Tilewright.")
    library = extension.library()

    def index_of(device=None):
        """The number of a device given as torch.device, text, number or nothing (the current one)."""
        if isinstance(device, int):
            index = device
        else:
            chosen = torch.device(device) if device is not None else torch.device(name)
            if chosen.type != name:
                raise ValueError(f"{chosen} is no device of type '{name}'")
            index = chosen.index
        index = library.tilewright_current_device() if index is None or index == -1 else index
        if not 0 <= index < len(registered.boards):
            raise RuntimeError(
                f"there is no device {name}:{index}; there are {len(registered.boards)}, the first is number 0")
        return index

    def generator(device=None):
        return made.default_generators[index_of(device)]

    @contextlib.contextmanager
    def device_of(index):
        before = library.tilewright_current_device()
        library.tilewright_set_device(index_of(index))
        try:
            yield
        finally:
            library.tilewright_set_device(before)

    def manual_seed_all(seed):
        for each in made.default_generators:
            each.manual_seed(int(seed))

    def synchronize(device=None):
        torch._C._accelerator_synchronizeDevice(index_of(device))

    def memory_allocated(device=None):
        """Bytes that tensors take now."""
        return library.tilewright_memory(index_of(device), 0)

    def max_memory_allocated(device=None):
        """The most that it has been."""
        return library.tilewright_memory(index_of(device), 1)

    def get_amp_supported_dtype():
        return [torch.float16, torch.bfloat16]

    made.__dict__.update(is_available=lambda: True,
                         is_initialized=lambda: True,
                         init=lambda: None,
                         _lazy_init=lambda: None,
                         _is_in_bad_fork=lambda: False,
                         device_count=lambda: len(registered.boards),
                         current_device=library.tilewright_current_device,
                         set_device=lambda device: library.tilewright_set_device(index_of(device)) and None,
                         device=device_of,
                         get_device_name=lambda device=None: registered.boards[index_of(device)].name,
                         synchronize=synchronize,
                         current_stream=lambda device=None: torch.Stream(device=f"{name}:{index_of(device)}"),
                         Stream=lambda device=None, **_: torch.Stream(device=f"{name}:{index_of(device)}"),
                         Event=torch.Event,
                         manual_seed=lambda seed: generator().manual_seed(int(seed)),
                         manual_seed_all=manual_seed_all,
                         initial_seed=lambda: generator().initial_seed(),
                         seed=lambda: generator().seed(),
                         get_rng_state=lambda device=None: generator(device).get_state(),
                         set_rng_state=lambda state, device=None: generator(device).set_state(state),
                         memory_allocated=memory_allocated,
                         max_memory_allocated=max_memory_allocated,
                         reset_peak_memory_stats=lambda device=None: library.tilewright_reset_peak(index_of(device)),
                         empty_cache=lambda: None,
                         get_amp_supported_dtype=get_amp_supported_dtype,
                         is_bf16_supported=lambda: True)
    made.default_generators = tuple(
        torch.ops.tilewright_device.default_generator(i) for i in range(len(registered.boards)))
    return made
