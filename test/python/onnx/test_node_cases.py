"""Every case of onnx.backend.test is right, or on the list of those that are not compiled, which are refused for the
reason on it."""

import pytest

import node_cases
from settings import FULL

REFUSED = node_cases.refused()


def chosen():
    """The full mode takes all; CI the first case of every third operation."""
    first = {}
    for name, case in node_cases.cases().items():
        if name not in REFUSED:
            first.setdefault(node_cases.operation(case) if not FULL else name, name)
    return list(first.values())[::1 if FULL else 3]


@pytest.mark.parametrize("name", chosen())
def test_case(name):
    wrong, reason = node_cases.run(node_cases.cases()[name])
    assert not wrong and not reason, f"{name}: {wrong}{reason}"


def test_what_is_refused():
    """With the reason that the list has: a case that is compiled leaves the list."""
    got = {name: node_cases.shortened(node_cases.run(node_cases.cases()[name])[1]) for name in REFUSED}
    changed = {name: (got[name], REFUSED[name]) for name in REFUSED if got[name] != REFUSED[name]}
    assert not changed, f"write the list again (node_cases.py --write): {changed}"
