"""What is assumed of the values of a graph's inputs when it is compiled, and looked at again when an input is another or was written to.

Zero points of weights are tensors, and nearly always 0; products of integers are cheaper where they are.
"""

import torch

from .freeze import static_inputs

#: Tensors that have elements of their own, not those of a tracer or of another library.
PLAIN = (torch.Tensor, torch.nn.Parameter)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def all_zero(examples):
    """Of each input whether it is a tensor of integers that are all 0 and whose writes are counted."""
    return [type(e) in PLAIN and e.dtype in INTEGERS and e.device.type != "meta" and not e.is_inference() and not e.any() for e in examples]


def zero_inputs(graph, zero):
    """The placeholders that are tensors of the module itself and 0, with their numbers among the inputs. `zero`: of `all_zero`."""
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    return {placeholders[i]: i for i in static_inputs() if zero[i]} if len(placeholders) == len(zero) else {}


class Zeros:
    """`run` while the inputs of these numbers are 0, else what `otherwise()` compiles."""

    def __init__(self, run, inputs, otherwise):
        self.run, self.inputs, self.otherwise = run, inputs, otherwise
        self.other = self.known = self.tensors = None
        self.hold = True

    def __call__(self, args):
        tensors = [args[i] for i in self.inputs]
        known = [(t.data_ptr(), 0 if t.is_inference() else t._version) for t in tensors]
        if known != self.known or any(t.is_inference() for t in tensors):
            self.known, self.tensors = known, tensors  # the tensors are kept, so that no other takes their place
            self.hold = not any(t.any() for t in tensors)
        if self.hold:
            return self.run(args)
        if self.other is None:
            self.other = self.otherwise()
        return self.other(args)

    def function(self):
        def run(args):
            return self(args)
        run._boxed_call = True
        return run
