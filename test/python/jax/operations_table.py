"""Writes the table of docs/jax.md: the operations of StableHLO that the reader has an emitter of, by family.

    build/venv-jax/bin/python test/python/jax/operations_table.py --write
"""

import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs/jax.md"
MARK = "<!-- written by test/python/jax/operations_table.py --write; a test compares -->\n"


def families():
    """(what a family is for, its operations)."""
    from tilewright.stablehlo import registry
    registry.load()
    found = {}
    for table in (registry.ELEMENTS, registry.EMITTERS):
        for name, emitter in table.items():
            found.setdefault(emitter.__module__, []).append(name)
    found["tilewright.stablehlo.ops_shape"].append("stablehlo.constant")
    order = [f"tilewright.stablehlo.ops_{family}" for family in registry.FAMILIES]
    return [(importlib.import_module(m).__doc__.split(".")[0].replace("\n", " "), sorted(found[m])) for m in order]


def page():
    head = PAGE.read_text().split(MARK)[0]
    rows = [f"| {title} ({len(names)}) | {' '.join('`' + n.removeprefix('stablehlo.') + '`' for n in names)} |" for title, names in families()]
    total = sum(len(names) for _, names in families())
    return head + MARK + f"\n{total} operations; those without a prefix are of the dialect `stablehlo`.\n\n| family | operations |\n|---|---|\n" + \
        "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        print(page())
