"""linalg.pack and linalg.unpack: tiles and sizes that are constants or not, permutations, padding."""

import numpy as np

from breadth.case import Random, Tensor, simple


def pack(data, dims, tiles, order, pad):
    """What linalg.pack computes."""
    padding = [(0, 0)] * data.ndim
    for dim, tile in zip(dims, tiles):
        padding[dim] = (0, -data.shape[dim] % tile)
    data = np.pad(data, padding, constant_values=pad)
    shape, axes = [], []
    for dim, size in enumerate(data.shape):
        axes.append(len(shape))
        shape += [size // tiles[dims.index(dim)], tiles[dims.index(dim)]] if dim in dims else [size]
    return data.reshape(shape).transpose([axes[dim] for dim in order] + [axes[dim] + 1 for dim in dims])


FORMS = [  # shape, tiled dimensions, tile sizes, permutation of the outer dimensions
    ((10, 20), [0, 1], [4, 8], [0, 1]), ((10, 20), [1, 0], [8, 4], [1, 0]), ((12, 24), [1], [3], [0, 1]),
    ((5, 6, 7), [2, 0], [4, 2], [2, 0, 1]), ((17,), [0], [5], [0]), ((3, 4), [0, 1], [1, 4], [0, 1]),
    ((0, 6), [1], [4], [0, 1]),
]


def cases():
    random = Random(3)
    for number, (shape, dims, tiles, order) in enumerate(FORMS):
        whole = all(shape[dim] % tile == 0 for dim, tile in zip(dims, tiles))
        for how in ("static", "sizes", "tiles", "mixed"):
            dynamic = how != "static"
            a = random("f32", *shape, dynamic=dynamic)
            packed = pack(a.data, dims, tiles, order, -1.5)
            words = f"outer_dims_perm = {order} inner_dims_pos = {dims} inner_tiles"
            # Tile sizes that are not constants are read from the sizes of an argument.
            known = {"static": len(tiles), "sizes": len(tiles), "tiles": 0, "mixed": len(tiles) - 1}[how]
            holder = Tensor("i8", np.zeros(tiles), True)
            names = [str(tile) if i < known else f"%t{i}" for i, tile in enumerate(tiles)]
            lines = [f"  %i{i} = arith.constant {i} : index\n  %t{i} = tensor.dim %a2, %i{i} : {{a2}}"
                     for i in range(known, len(tiles))]
            destination = Tensor("f32", np.zeros(packed.shape), dynamic)
            static_tiles = [str(s) if not dynamic or 0 <= i - len(shape) < known else "?" for i, s in enumerate(packed.shape)]
            kind = "tensor<" + "".join(s + "x" for s in static_tiles) + "f32>"
            cast = f"  %d = tensor.cast %a1 : {{a1}} to {kind}"
            padding = "" if whole else " padding_value(%pad : f32)"
            lines += ["  %pad = arith.constant -1.5 : f32", cast,
                      f"  %p = linalg.pack %a0{padding} {words} = [{', '.join(names)}] into %d : {{a0}} -> {kind}",
                      f"  %r0 = tensor.cast %p : {kind} to {{r0}}"]
            inputs = [a, destination, holder]
            yield simple(f"linalg.pack-{number}-{how}", inputs, [Tensor("f32", packed, dynamic)], "\n".join(lines))
            source = Tensor("f32", packed, dynamic)
            lines = lines[:len(tiles) - known] + [
                f"  %s = tensor.cast %a0 : {{a0}} to {kind}",
                f"  %r0 = linalg.unpack %s {words} = [{', '.join(names)}] into %a1 : {kind} -> {{a1}}"]
            yield simple(f"linalg.unpack-{number}-{how}", [source, Tensor("f32", np.zeros(shape), dynamic), holder], [a],
                         "\n".join(lines))
