"""`flex_attention`: attention whose scores and mask are functions of the program.

PyTorch's operation has these functions as graphs, and eager runs them on each score. Here they become operations of ATen on all scores at
once, between the two products, before AOTAutograd sees them: the compiler finds the chain, reads indices as the loops that they are and
masks as sets of integers, and the gradient is that of the operations. The blocks that a block mask lists are not read: what they leave out
is what the mask's function excludes.

The products are one operation, with a gradient that is made of the same:

    tilewright::contract(a, b, "bhmd,bhnd->bhmn", wide) -> result

sums products over the letters that the result lacks, in f32 (f64 of f64); the result has that type if `wide`, else that of the operands.
"""

import functools
import math

import torch
from torch import Tensor
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

from .attention import wide as widened

OPERATION = torch.ops.higher_order.flex_attention


def parts_of(words):
    """The letters of both operands and of the result."""
    operands, result = words.split("->")
    return (*operands.split(","), result)


def wide_type(dtype):
    return torch.float64 if dtype == torch.float64 else torch.float32


@functools.lru_cache(None)
def define():
    """Registers the operation with PyTorch, once. Its kernel here serves graphs of which a part runs eagerly."""
    @torch.library.custom_op("tilewright::contract", mutates_args=())
    def contract(a: Tensor, b: Tensor, words: str, wide: bool) -> Tensor:
        result = torch.einsum(words, widened(a), widened(b)).contiguous()
        return result if wide else result.to(a.dtype)

    @contract.register_fake
    def _(a, b, words, wide):
        of_a, of_b, of_result = parts_of(words)
        size = {**dict(zip(of_a, a.shape)), **dict(zip(of_b, b.shape))}
        return a.new_empty([size[letter] for letter in of_result], dtype=wide_type(a.dtype) if wide else a.dtype)

    def setup(ctx, inputs, output):
        *operands, ctx.words, _ = inputs
        ctx.save_for_backward(*operands)

    def gradient_of(ctx, gradient):
        (a, b), (of_a, of_b, of_result) = ctx.saved_tensors, parts_of(ctx.words)
        gradient = gradient.to(a.dtype)
        made = torch.ops.tilewright.contract
        return (made(gradient, b, f"{of_result},{of_b}->{of_a}", False), made(gradient, a, f"{of_result},{of_a}->{of_b}", False), None, None)
    contract.register_autograd(gradient_of, setup_context=setup)
    return contract


def over_all(function, places, scores, buffers):
    """What `function(score.., b, h, m, n, buffer..)` gives for all scores at once; without `scores` it takes none. The heads of `places`
    have one dimension, or two where queries share keys."""
    dimensions = [0, *[1] * places[1].dim(), 2, 3]
    for dimension in reversed(dimensions):
        of_places = [0 if i == dimension else None for i in range(4)]
        function = torch.vmap(function, (*[0] * len(scores), *of_places, *[None] * len(buffers)))
    return function(*scores, *places, *buffers)


class FlexAttention(torch.nn.Module):
    """The operation with its functions, graphs of one score and of its place."""

    def __init__(self, score, mask):
        super().__init__()
        self.score, self.mask = score, mask

    def forward(self, query, key, value, scale, score_buffers=(), mask_buffers=()):
        """(result, logarithm to base 2 of the sums of the powers, to base 2 of the largest) as PyTorch's operation gives them. A row whose
        keys are all masked gives 0 and -infinity."""
        contract = torch.ops.tilewright.contract
        batch, heads, m, _ = query.shape
        shared = key.shape[1]
        key, value = (x.expand(batch, *x.shape[1:]) for x in (key, value))
        places = [torch.arange(n, device=query.device) for n in (batch, heads, m, key.shape[2])]
        g = "" if shared == heads else "g"
        if g:
            query, places[1] = query.unflatten(1, (shared, heads // shared)), places[1].view(shared, heads // shared)
        products = contract(query, key, f"bh{g}md,bhnd->bh{g}mn", True)
        with TransformGetItemToIndex():
            kept = over_all(self.mask, places, (), mask_buffers)
            scores = over_all(self.score, places, (products * scale,), score_buffers)
        scores = torch.where(kept, scores.to(products.dtype), -math.inf)
        largest = scores.amax(-1, keepdim=True).detach()  # what is subtracted has no influence on the result
        powers = (scores - torch.where(largest == -math.inf, 0, largest)).exp()
        total = powers.sum(-1, keepdim=True)
        weights = powers / torch.where(total == 0, 1, total)
        result = contract(weights.to(query.dtype), value, f"bh{g}mn,bhne->bh{g}me", False)
        made = result, (total.log() + largest).squeeze(-1) / math.log(2), largest.squeeze(-1) / math.log(2)
        return tuple(x.flatten(1, 2) for x in made) if g else made


def take_apart(module):
    """Exchanges the calls in Dynamo's graph and in those that it holds by calls of `FlexAttention`. Gives what was added: pairs of a
    module and a name."""
    added = []
    for part in module.modules():
        nodes = part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ()
        found = [n for n in nodes if n.op == "call_function" and n.target is OPERATION]
        for number, node in enumerate(found):
            query, key, value, score, block_mask, scale, _, *buffers = node.args
            name = f"tilewright_flex_attention_{number}"
            part.add_submodule(name, FlexAttention(*(getattr(part, graph.target) for graph in (score, block_mask[-1]))))
            node.op, node.target, node.args = "call_module", name, (query, key, value, scale, *buffers)
            added.append((part, name))
        if found:
            define()
            part.recompile()
    return added
