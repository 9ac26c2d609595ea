"""What is computed together on chips of different kinds, of reports of tw-conformance --json: statements of a program that share a
nest. A statement is a nest after stage 2, known by the places in the program of what it computes.

    python test/integration/fusion.py cpu.json simt.json scratchpad.json     programs whose groups differ, and what explains it
"""

import dataclasses
import fnmatch
import itertools
import json
import pathlib
import sys

Pair = frozenset[int]

#: Programs whose groups may differ without prices: pattern of the case, of the two chips, and why.
EXCEPTIONS: list[tuple[str, str, str]] = []


@dataclasses.dataclass(frozen=True)
class Row:
    case: str
    chips: str  # "cpu:host nvidia:A100"
    pairs: int  # of statements that share a nest on one of them alone
    prices: tuple[str, ...]  # decisions of one of them that price both forms

    @property
    def exception(self) -> str:
        return next((reason for case, chips, reason in EXCEPTIONS
                     if fnmatch.fnmatchcase(self.case, case) and fnmatch.fnmatchcase(self.chips, chips)), "")


def decisions_of(case: dict, name: str) -> list[dict]:
    return [one for one in case.get("fusion", ()) if one["decision"] == name]


def lists_of(case: dict, key: str) -> list[list[str]]:
    """Lists of places of all kernels: the `groups`, or the `statements`."""
    return [places for one in decisions_of(case, "fusion-groups") for places in one.get(key, ())]


def statements_of(cases: list[dict]) -> dict[str, int]:
    """The statement of each place, the same for all chips: places of one statement on any chip are one on every chip."""
    statement: dict[str, int] = {}
    for number, places in enumerate(itertools.chain.from_iterable(lists_of(case, "statements") for case in cases)):
        old = {statement[place] for place in places if place in statement}
        statement.update({place: number for place in places})
        statement.update({place: number for place, one in statement.items() if one in old})
    return statement


def groups_of(case: dict, statement: dict[str, int]) -> list[set[int]]:
    return [{statement[place] for place in group if place in statement} for group in lists_of(case, "groups")]


def difference(one: dict, other: dict) -> set[Pair]:
    """Pairs of statements that share a nest on one chip alone."""
    statement = statements_of([one, other])
    pairs = [{frozenset(pair) for group in groups_of(case, statement) for pair in itertools.combinations(sorted(group), 2)}
             for case in (one, other)]
    return pairs[0] ^ pairs[1]


def computed_of(case: dict, statement: dict[str, int]) -> set[int]:
    """Statements that some nest after stage 3 computes: all but those that fold, such as a sum of one element."""
    return set().union(*groups_of(case, statement))


def prices_of(case: dict) -> list[str]:
    """The decisions of a program that price both forms: together and apart, or why one of them cannot be."""
    found = []
    for one in case.get("fusion", ()):
        candidates, inputs = one.get("candidates", []), one.get("inputs", {})
        forms = len(candidates) > 1 or bool(one.get("refused"))
        if one["decision"] in ("fuse-stencils", "fuse-nests", "schedule-chain", "compute-again") and candidates and forms:
            found.append(one["decision"])
        if one["decision"] == "row-program" and "clocks_of_a_launch_each" in inputs:
            found.append(one["decision"])
    return sorted(set(found))


def differing(reports: list[dict]) -> list[Row]:
    """Programs that two chips group differently."""
    result = []
    by_name = [{case["name"]: case for case in report["cases"] if case.get("fusion")} for report in reports]
    for (i, one), (j, other) in itertools.combinations(enumerate(by_name), 2):
        for name in sorted(one.keys() & other.keys()):
            if pairs := difference(one[name], other[name]):
                prices = sorted({*prices_of(one[name]), *prices_of(other[name])})
                result.append(Row(name, f"{reports[i]['target']} {reports[j]['target']}", len(pairs), tuple(prices)))
    return result


def compiled(reports: list[dict]) -> list[dict]:
    """The reports with the programs that all chips compiled."""
    names = set.intersection(*({case["name"] for case in report["cases"] if case.get("fusion")} for report in reports))
    return [{**report, "cases": [case for case in report["cases"] if case["name"] in names]} for report in reports]


def compared(reports: list[dict]) -> int:
    """Programs with several statements that all chips compiled."""
    return sum(len(set(statements_of([case]).values())) > 1 for case in compiled(reports)[0]["cases"])


def lost(reports: list[dict]) -> list[str]:
    """Programs of which one chip has a statement in no nest that another chip computes, so that nothing is known of it there."""
    result = []
    for cases in zip(*(sorted(report["cases"], key=lambda case: case["name"]) for report in compiled(reports))):
        statement = statements_of(list(cases))
        if len({frozenset(computed_of(case, statement)) for case in cases}) > 1:
            result.append(cases[0]["name"])
    return result


def main() -> None:
    reports = [json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:]]
    rows = differing(reports)
    names = [case["name"] for case in compiled(reports)[0]["cases"]]
    print(f"{len(names)} programs, {compared(reports)} of several statements, on {', '.join(report['target'] for report in reports)}: "
          f"{len({row.case for row in rows})} differ, {len({row.case for row in rows if not row.prices})} of them without prices")
    for name in lost(reports):
        print(f"{name}: a statement is in no nest of one chip")
    for row in rows:
        print(f"{row.case}: {row.chips} differ in {row.pairs} pairs, {', '.join(row.prices) or row.exception or 'no prices'}")


if __name__ == "__main__":
    main()
