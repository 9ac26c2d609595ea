"""XLA as a peer of PyTorch's models: a module is exported by PyTorch, taken to JAX by torchax, and compiled by `jax.jit`. Needs an interpreter
that has JAX and torchax beside PyTorch (test/benchmark/get-peers.sh makes one, build/venv-bench). It runs in a process of its own, since
torchax changes what PyTorch's own compiler finds there."""

import pathlib
import subprocess
import sys
import tempfile
import time


def load():
    """Prepares torchax. Its tables name overloads that newer versions of PyTorch have no more; entries that are never asked for stand in for them."""
    import torch
    packet = torch._ops.OpOverloadPacket
    find = packet.__getattr__

    def find_or_first(self, name):
        try:
            return find(self, name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return find(self, self.overloads()[0])
    packet.__getattr__ = find_or_first
    try:
        import torchax
        torchax.default_env().load_ops()
    finally:
        packet.__getattr__ = find
    from torch._export.utils import _is_cia_op
    from torchax import decompositions
    table = decompositions.DECOMPOSITIONS
    for operation in [o for o in table if isinstance(o, torch._ops.OpOverload) and _is_cia_op(o)]:
        del table[operation]
    add_missing()


def add_missing():
    """What torchax has no lowering for in the form that PyTorch exports."""
    import jax.numpy as jnp
    import torch
    from torchax.ops.jaten import op

    @op(torch.ops.aten.unbind.int)
    def unbind(value, dim=0):
        return tuple(jnp.moveaxis(value, dim, 0))


def compiled(model, values):
    """`model` by XLA as a function without arguments, weights and all that is constant in the program; it returns when its results are there,
    as JAX's arrays."""
    import jax
    import torch
    load()
    from torchax.export import exported_program_to_jax
    program = torch.export.export(model, tuple(values)).run_decompositions(
        torch._decomp.core_aten_decompositions() | torch._decomp.get_decompositions([torch.ops.aten.upsample_bilinear2d.vec]))
    weights, function = exported_program_to_jax(program)
    run = jax.jit(lambda *arguments: function(weights, arguments))
    arguments = [jax.numpy.asarray(value.numpy()) for value in values]
    return lambda: jax.block_until_ready(run(*arguments))


class Peer:
    """The network `name` by XLA, in a process on the same processors. Calling it gives the results as NumPy's arrays; the clock is the child's."""

    def __init__(self, name, batch, threads):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([sys.executable, __file__, name, str(batch), str(threads), self.folder.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def sample(self, repeats):
        """Seconds of one of `repeats` calls."""
        self.process.stdin.write(f"{repeats}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("XLA ended; what it said stands above")
        return float(line)

    def __call__(self):
        import numpy
        self.sample(1)
        return [numpy.load(path) for path in sorted(pathlib.Path(self.folder.name).glob("*.npy"))]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def main():
    """The child: writes its first results as files, then answers each number of calls with the seconds of one."""
    import numpy
    import torch
    import torch_networks
    name, batch, threads, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
    torch.set_num_threads(threads)
    with torch.no_grad():
        call = compiled(*torch_networks.build(name, batch))
    results = call()
    for i, result in enumerate(results if isinstance(results, (tuple, list)) else [results]):
        numpy.save(folder / f"{i:03}.npy", numpy.asarray(result))
    clock = time.process_time if threads == 1 else time.perf_counter
    for line in sys.stdin:
        print(torch_networks.sample(call, int(line), clock), flush=True)


if __name__ == "__main__":
    main()
