"""Loops along one dimension that carry the last row. `c` is the context of a reader."""


def scan(c, x, axis, states, step, results, backwards=False, exclusive=False):
    """Runs along `axis`, from its end under `backwards`: `states` are (type, initial value) of rows that are carried;
    `step(s, i, element, *states)` gives the new ones (i: the position as i64). The result number j has the type `results[j]` and holds
    state j after each position, under `exclusive` before it."""
    f = c.f
    shape = x.shape
    if x.rank == 0:
        x = f.view(x, (1,))
    axis = c.axis(axis, x.rank)
    if 0 in x.shape:
        return tuple(f.empty(shape, type) for type in results)
    row = [n for i, n in enumerate(x.shape) if i != axis]
    box = [1 if i == axis else n for i, n in enumerate(x.shape)]
    carried = [f.empty(x.shape, type) for type in results] + [f.fill(row, type, initial) for type, initial in states]
    loops = [f"d{i}" for i in range(len(row))]
    last = f.index(x.shape[axis] - 1) if backwards else None
    with f.loop(x.shape[axis], carried) as (i, inner, out):
        i = f.op(f"arith.subi {last}, {i} : index") if backwards else i
        written, rows = inner[:len(results)], inner[len(results):]
        offsets = [i if d == axis else 0 for d in range(x.rank)]
        element = f.slice(x, offsets, box, drop=[axis])

        def body(s, a, *rest):
            position = s.op(f"arith.index_cast {i} : index to i64", "i64")
            return step(s, position, a, *rest[:len(rows)])
        new = f.generic(len(row), [(element, loops)] + [(r, loops) for r in rows], [(f.empty(row, r.type), loops) for r in rows], body)
        new = new if isinstance(new, tuple) else (new,)
        narrow = [c.cast(n, type) for n, type in zip(rows if exclusive else new, results)]
        out[:] = [f.insert(n, w, offsets, sizes=box) for n, w in zip(narrow, written)] + list(new)
    return tuple(f.view(r, shape) for r in out[:len(results)])


def accumulator(type):
    """What eager accumulates in: f64 for f32."""
    return {"f32": "f64", "f16": "f32", "bf16": "f32"}.get(type, type)
