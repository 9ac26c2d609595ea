"""Operations that PyTorch has no decomposition of, by others that the importer writes: distances, bags of embeddings, values at the places of
a mask, gradients of samples at grids. `TABLE` is what AOTAutograd gets. A function that gives `NotImplemented` leaves the operation whole."""

import itertools
import math

import torch

aten = torch.ops.aten

#: overload -> function
TABLE = {}


def formula(*overloads):
    def register(function):
        TABLE.update(dict.fromkeys(overloads, function))
        return function
    return register


@formula(aten._weight_norm_interface_backward.default)
def weight_norm_backward(gradient, v, g, norms, dim):
    """Of w = v g / |v|, the norms over all dimensions but one (the first or the last)."""
    axes = [i for i in range(v.dim()) if i != dim % v.dim()]
    shape = [n if i == dim % v.dim() else 1 for i, n in enumerate(v.shape)]
    of_v, g, norms = v / norms.reshape(shape), g.reshape(shape), norms.reshape(shape)
    of_g = (gradient * of_v).sum(axes, keepdim=True)
    return ((gradient - of_v * of_g) * (g / norms)).to(v.dtype), of_g.to(g.dtype)


# Distances of all pairs of rows: (.., m, k) and (.., n, k) -> (.., m, n)


def differences(x, y):
    return x.unsqueeze(-2) - y.unsqueeze(-3)


@formula(aten._cdist_forward.default)
def distances(x, y, p, compute_mode):
    many = x.shape[-2] > 25 or y.shape[-2] > 25
    if p == 2 and (compute_mode == 1 or (compute_mode != 2 and many)):  # PyTorch's choice: |x - y|^2 = |x|^2 + |y|^2 - 2 x y
        squares = (x * x).sum(-1, keepdim=True) + (y * y).sum(-1).unsqueeze(-2)
        return (squares - 2 * torch.matmul(x, y.mT)).clamp_min(0).sqrt()
    size = differences(x, y).abs()
    if p == 0:
        return (size != 0).to(x.dtype).sum(-1)
    if p == 1:
        return size.sum(-1)
    if p == math.inf:
        return size.amax(-1)
    return (size * size).sum(-1).sqrt() if p == 2 else size.pow(p).sum(-1).pow(1 / p)


@formula(aten._cdist_backward.default)
def distances_backward(grad, x, y, p, cdist):
    def of_shape(made):
        return made.sum_to_size(x.shape)
    safe = torch.where(cdist == 0, 1, cdist)
    if p == 2:
        scale = torch.where(cdist == 0, 0, grad / safe)
        return of_shape(x * scale.sum(-1, keepdim=True) - torch.matmul(scale, y))
    if p == 0:
        return torch.zeros_like(x)
    difference = differences(x, y)
    grad, cdist, safe = (v.unsqueeze(-1) for v in (grad, cdist, safe))
    size, sign = difference.abs(), difference.sign()
    if p == 1:
        slope = sign
    elif p == math.inf:
        slope = torch.where(size == cdist, sign, 0)
    else:
        power = torch.where(size == 0, 0, size.pow(p - 1))
        slope = torch.where(cdist == 0, 0, sign * power / safe.pow(p - 1))
    return of_shape((grad * slope).sum(-2))


# Sums, means and maxima of bags of embeddings: bag i has the indices from offsets[i] to offsets[i + 1]

SUM, MEAN, MAXIMUM = 0, 1, 2


def counted(indices, padding):
    """Which indices count."""
    return torch.ones_like(indices, dtype=torch.bool) if padding is None or padding < 0 else indices != padding


@formula(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=SUM, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=-1):
    if sparse:
        return NotImplemented
    starts = offsets[:-1] if include_last_offset else offsets
    bags = starts.shape[0]
    places = torch.arange(indices.shape[0], dtype=starts.dtype, device=indices.device)
    bag = torch.searchsorted(starts, places, right=True) - 1
    keep = counted(indices, padding_idx)
    rows = torch.nn.functional.embedding(indices, weight)
    rows = torch.where(keep.unsqueeze(-1), rows if per_sample_weights is None else rows * per_sample_weights.unsqueeze(-1), 0)
    sizes = torch.zeros((bags, ), dtype=torch.int64, device=indices.device).index_add(0, bag, keep.to(torch.int64))
    if mode == MAXIMUM:
        rows = torch.where(keep.unsqueeze(-1), rows, -math.inf)
        largest = rows.new_full((bags, rows.shape[1]), -math.inf).index_reduce(0, bag, rows, "amax")
        of_rows = torch.where((rows == largest[bag]) & keep.unsqueeze(-1), places.unsqueeze(-1), places.shape[0] - 1)
        first = of_rows.new_full(largest.shape, max(places.shape[0] - 1, 0)).index_reduce(0, bag, of_rows, "amin")
        return torch.where(sizes.unsqueeze(-1) == 0, 0, largest), bag.to(indices.dtype), sizes.to(indices.dtype), indices[first]
    result = weight.new_zeros((bags, weight.shape[1])).index_add(0, bag, rows)
    if mode == MEAN:
        result = result / sizes.clamp_min(1).unsqueeze(-1).to(result.dtype)
    return result, bag.to(indices.dtype), sizes.to(indices.dtype), torch.zeros_like(sizes).to(indices.dtype)


@formula(aten._embedding_bag_backward.default)
def any_embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, sparse,
                               per_sample_weights, padding_idx=-1):
    if sparse or scale_grad_by_freq:
        return NotImplemented
    return embedding_bag_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
                                  per_sample_weights, padding_idx)


@formula(aten._embedding_bag_dense_backward.default)
def embedding_bag_backward(grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights,
                           padding_idx=-1):
    if scale_grad_by_freq:  # PyTorch's own divides by the frequency of other indices on processors
        return NotImplemented
    if mode == MAXIMUM:
        grad = torch.where(bag_size.unsqueeze(-1) == 0, 0, grad)
        return grad.new_zeros((num_weights, grad.shape[1])).scatter_add(0, maximum_indices.to(torch.int64), grad)
    if mode == MEAN:
        grad = grad / bag_size.clamp_min(1).unsqueeze(-1).to(grad.dtype)
    rows = grad[offset2bag]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    rows = torch.where(counted(indices, padding_idx).unsqueeze(-1), rows, 0)
    return grad.new_zeros((num_weights, grad.shape[1])).index_add(0, indices, rows)


@formula(aten._embedding_bag_per_sample_weights_backward.default)
def embedding_bag_weights_backward(grad, weight, indices, offsets, offset2bag, mode, padding_idx=-1):
    made = (grad[offset2bag] * torch.nn.functional.embedding(indices, weight)).sum(-1)
    return torch.where(counted(indices, padding_idx), made, 0)


# Values at the places of a mask, in order


def order_in(mask):
    """Of each element how many of the mask's are before it."""
    flat = mask.reshape(-1).to(torch.int64)
    return flat.cumsum(0) - flat


@formula(aten.masked_scatter.default)
def masked_scatter(x, mask, source):
    if source.numel() == 0:
        return NotImplemented
    x, mask = torch.broadcast_tensors(x, mask)
    place = torch.where(mask.reshape(-1), order_in(mask), 0)
    return torch.where(mask, source.reshape(-1)[place].view(x.shape), x)


@formula(aten.masked_scatter_backward.default)
def masked_scatter_backward(grad, mask, sizes):
    count = math.prod(sizes)
    mask = mask.expand(grad.shape)
    place = torch.where(mask.reshape(-1), order_in(mask), count)  # what no element of the source gave goes beyond
    return grad.new_zeros((count + 1, )).index_put((place, ), grad.reshape(-1))[:count].view(sizes)


# Samples at the places of a grid: along each axis a sum over taps, so over all their combinations

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


def inside(place, size, padding, align):
    """A place on an axis after padding, and its derivative."""
    slope = torch.ones_like(place)
    if padding == ZEROS:
        return place, slope
    if padding == REFLECTION:
        low, span = (0, size - 1) if align else (-0.5, size)
        if align and size == 1:
            return torch.zeros_like(place), torch.zeros_like(place)
        offset = (place - low).abs()
        slope = torch.where(place < low, -1.0, 1.0).to(place.dtype)
        extra, odd = torch.fmod(offset, span), torch.fmod((offset / span).floor(), 2) != 0
        place, slope = torch.where(odd, span + low - extra, extra + low), torch.where(odd, -slope, slope)
    return place.clamp(0, size - 1), torch.where((place > 0) & (place < size - 1), slope, 0)


def cubic(t):
    """Weights of the four taps around a place t after the second, and their derivatives (a = -0.75)."""
    a, result = -0.75, []
    for sign, x in ((1, t + 1), (1, t), (-1, 1 - t), (-1, 2 - t)):
        if len(result) in (1, 2):
            weight, slope = ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x
        else:
            weight, slope = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a
        result.append((weight, sign * slope))
    return result


def taps(coordinate, size, mode, padding, align):
    """[(place, weight, derivative of the weight by the coordinate)] of an axis."""
    scale = size * 0.5 - 0.5 if align else size * 0.5
    place = coordinate * scale + (size * 0.5 - 0.5)
    if mode == BICUBIC:
        low = place.floor()
        return [(inside(low + (i - 1), size, padding, align)[0], weight, slope * scale) for i, (weight, slope) in enumerate(cubic(place - low))]
    place, slope = inside(place, size, padding, align)
    if mode == NEAREST:
        return [(place.round(), torch.ones_like(place), torch.zeros_like(place))]
    low = place.floor()
    return [(low, low + 1 - place, -slope * scale), (low + 1, place - low, slope * scale)]


def combinations(x, grid, mode, padding, align):
    """For each combination of taps: the indices, and of each axis weight and derivative, all of the shape of the grid's places; weights of
    places outside are 0."""
    sizes = x.shape[2:]
    axes = [taps(grid[..., len(sizes) - 1 - i], n, mode, padding, align) for i, n in enumerate(sizes)]
    for chosen in itertools.product(*axes):
        there = None
        for (place, _, _), n in zip(chosen, sizes):
            within = (place >= 0) & (place < n)
            there = within if there is None else there & within
        yield [torch.where(there, place, 0).to(torch.int64) for place, _, _ in chosen], there, [(w, s) for _, w, s in chosen]


def numbers(x, grid):
    """Indices of images, and of channels, that broadcast with (images, channels, places)."""
    ones = [1] * (grid.dim() - 2)
    return (torch.arange(x.shape[0], device=x.device).view(-1, 1, *ones), torch.arange(x.shape[1], device=x.device).view(1, -1, *ones))


def along(weights):
    return math.prod(weights[1:], start=weights[0])


@formula(aten.grid_sampler_3d.default)
def grid_sampler(x, grid, mode, padding, align):
    images, channels = numbers(x, grid)
    result = None
    for indices, there, axes in combinations(x, grid, mode, padding, align):
        weight = torch.where(there, along([w for w, _ in axes]), 0).unsqueeze(1)
        part = x[(images, channels, *(i.unsqueeze(1) for i in indices))] * weight
        result = part if result is None else result + part
    return result


@formula(aten.grid_sampler_2d_backward.default, aten.grid_sampler_3d_backward.default)
def grid_sampler_backward(grad, x, grid, mode, padding, align, output_mask):
    images, channels = numbers(x, grid)
    of_x, of_axes = x.new_zeros(x.shape) if output_mask[0] else None, [None] * (grid.dim() - 2)
    for indices, there, axes in combinations(x, grid, mode, padding, align):
        if output_mask[0]:  # rows of channels are added at once
            weight = torch.where(there, along([w for w, _ in axes]), 0).unsqueeze(1)
            of_x = aten.index_put.default(of_x, [images.squeeze(1), None, *indices], (grad * weight).movedim(1, -1), True)
        if output_mask[1]:
            values = (grad * x[(images, channels, *(i.unsqueeze(1) for i in indices))]).sum(1)
            for k in range(len(axes)):
                part = values * torch.where(there, along([s if i == k else w for i, (w, s) in enumerate(axes)]), 0)
                of_axes[k] = part if of_axes[k] is None else of_axes[k] + part
    return of_x, torch.stack(of_axes[::-1], -1) if output_mask[1] else None


# Operations on lists of tensors, of which optimisers are made: one operation for each tensor


def at_least(x, other):
    return torch.maximum(x, other) if isinstance(other, torch.Tensor) else x.clamp_min(other)


def at_most(x, other):
    return torch.minimum(x, other) if isinstance(other, torch.Tensor) else x.clamp_max(other)


#: What of a list differs from the function of its name.
OF_ONE = {"norm": lambda x, ord=2, dtype=None: torch.linalg.vector_norm(x, ord, dtype=dtype),
          "powsum": lambda x, ord=2, dtype=None: (x if dtype is None else x.to(dtype)).abs().pow(ord).sum(),
          "maximum": at_least, "minimum": at_most,
          "addcmul": lambda x, a, b, value=1: x + value * (a * b), "addcdiv": lambda x, a, b, value=1: x + value * (a / b)}


def of_lists(overload, function):
    """`function` for each tensor, with the members of all lists that are its own."""
    many = [str(a.type) in ("List[Tensor]", "List[number]") for a in overload._schema.arguments]

    def each(*args, **kwargs):
        rows = zip(*(a for a, is_list in zip(args, many) if is_list), strict=True)
        results = []
        for row in map(iter, rows):
            results.append(function(*(next(row) if is_list else a for a, is_list in zip(args, many)), **kwargs))
        return results
    return each


def lists():
    """overload -> function, of all operations on lists."""
    table = {}
    for name in dir(aten):
        short = name.removeprefix("_foreach_")
        function = OF_ONE.get(short) or getattr(torch, short, None)
        if short == name or name.endswith("_") or function is None:
            continue
        packet = getattr(aten, name)
        for overload in (getattr(packet, o) for o in packet.overloads()):
            # A tensor of numbers, one for each tensor, is looked at on the host, so that it is in no graph.
            numbers = any(a.name == "scalars" and str(a.type) == "Tensor" for a in overload._schema.arguments)
            if not overload._overloadname.endswith("out") and not numbers:
                table[overload] = of_lists(overload, function)
    return table


TABLE.update(lists())
