"""Loops that collect what their iterations make."""


def collect(f, count, carried, rows, once, places=None):
    """`for i in range(count)`: gives (last values, stacks).

    `once(i, values)` takes the name of i and the carried values and gives (new values, one row for each stack); `rows` are tensors of the
    shapes and types of these rows. Row i lies at `places[k](i)` of stack k, by default at i. `count` is a size, or the name of an index
    value where nothing is collected.
    """
    stacks = [f.empty((count, *row.shape), row.type) for row in rows]
    places = places or [lambda i: i] * len(rows)
    if count == 0 or not (carried or stacks):
        return list(carried), stacks
    with f.loop(count, [*carried, *stacks]) as (i, inner, results):
        new, made = once(i, inner[:len(carried)])
        results[:] = [*new, *(f.insert(row, stack, [place(i)] + [0] * row.rank, sizes=[1, *row.shape])
                              for row, stack, place in zip(made, inner[len(carried):], places, strict=True))]
    return results[:len(carried)], results[len(carried):]


def tried(f, write):
    """What `write()` gives; nothing of it stays in the text."""
    with f.captured():
        return write()
