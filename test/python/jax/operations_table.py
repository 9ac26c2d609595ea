"""Writes the table of docs/jax.md: the operations of StableHLO that the reader has an emitter of, by family.

    build/venv-jax/bin/python test/python/jax/operations_table.py --write
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs/jax.md"
MARK = "<!-- written by test/python/jax/operations_table.py --write; a test compares -->\n"
sys.path.append(str(HERE.parent))

import operation_pages  # noqa: E402


def page():
    from tilewright.stablehlo import registry
    rows = operation_pages.families(registry, (registry.ELEMENTS, registry.EMITTERS), {"shape": ["stablehlo.constant"]})
    rows = [(title, [n.removeprefix("stablehlo.") for n in names]) for title, names in rows]
    total = sum(len(names) for _, names in rows)
    return operation_pages.rewritten(PAGE, MARK, f"{total} operations; those without a prefix are of the dialect `stablehlo`.\n\n"
                                     + operation_pages.table(rows))


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        print(page())
