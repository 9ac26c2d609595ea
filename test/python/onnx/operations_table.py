"""Writes the table of docs/onnx.md: the operations that the reader has an emitter of, by family, and those that ONNX
defines by others.

    build/venv-onnx/bin/python test/python/onnx/operations_table.py --write
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs/onnx.md"
MARK = "<!-- written by test/python/onnx/operations_table.py --write; a test compares -->\n"
sys.path.append(str(HERE.parent))

import operation_pages  # noqa: E402


def defined_by_others():
    """Operations without an emitter that are compiled as the functions that ONNX has for them: those with a case that
    is right."""
    import node_cases
    import onnx
    from tilewright.onnx import registry
    functions = {s.name for s in onnx.defs.get_all_schemas() if s.has_function or s.has_context_dependent_function}
    refused = node_cases.refused()
    right = {
        n.op_type for name, case in node_cases.cases().items() if name not in refused for n in case.model.graph.node
    }
    return sorted((functions & right) - set(registry.EMITTERS))


def page():
    import node_cases
    from tilewright.onnx import registry
    rows = operation_pages.families(registry, (registry.EMITTERS, ),
                                    {"elementwise": ["Constant"], "shape": ["Shape", "Size"]})
    rows.append(("Operations that ONNX defines by others, and that are compiled as these", defined_by_others()))
    cases, refused = len(node_cases.cases()), len(node_cases.refused())
    total = sum(len(names) for _, names in rows)
    return operation_pages.rewritten(
        PAGE, MARK,
        f"{total} operations. Of ONNX's own {cases} cases of single operations {cases - refused} are right and "
        f"{refused} are refused "
        "([which and why](../test/python/onnx/not-compiled.txt)); none is wrong.\n\n" + operation_pages.table(rows))


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parents[2] / "python")]
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        print(page())
