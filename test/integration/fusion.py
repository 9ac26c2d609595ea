"""What is computed together on chips of different kinds, of reports of tw-conformance --json: places of the program that share a nest.

    python test/integration/fusion.py cpu.json simt.json scratchpad.json     programs whose groups differ, and what explains it
"""

import dataclasses
import fnmatch
import itertools
import json
import pathlib
import sys

Pair = frozenset[str]

#: Programs whose groups may differ without prices: pattern of the case, of the two chips, and why.
EXCEPTIONS: list[tuple[str, str, str]] = []


@dataclasses.dataclass(frozen=True)
class Row:
    case: str
    chips: str  # "cpu:host nvidia:A100"
    pairs: int  # of places that share a nest on one of them alone
    prices: tuple[str, ...]  # decisions of one of them that price both forms

    @property
    def exception(self) -> str:
        return next((reason for case, chips, reason in EXCEPTIONS
                     if fnmatch.fnmatchcase(self.case, case) and fnmatch.fnmatchcase(self.chips, chips)), "")


def decisions_of(case: dict, name: str) -> list[dict]:
    return [one for one in case.get("fusion", ()) if one["decision"] == name]


def groups_of(case: dict) -> list[list[str]]:
    return [group for one in decisions_of(case, "fusion-groups") for group in one["groups"]]


def together_of(case: dict) -> set[Pair]:
    """Pairs of places that share a nest."""
    return {frozenset(pair) for group in groups_of(case) for pair in itertools.combinations(sorted(group), 2)}


def difference(one: dict, other: dict) -> set[Pair]:
    """Pairs that share a nest on one chip alone, of places that compute something on both."""
    places = {place for group in groups_of(one) for place in group} & {place for group in groups_of(other) for place in group}
    return {pair for pair in together_of(one) ^ together_of(other) if pair <= places}


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


def main() -> None:
    reports = [json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:]]
    rows = differing(reports)
    names = set.intersection(*({case["name"] for case in report["cases"] if case.get("fusion")} for report in reports))
    print(f"{len(names)} programs on {', '.join(report['target'] for report in reports)}: {len({row.case for row in rows})} differ, "
          f"{len({row.case for row in rows if not row.prices})} of them without prices")
    for row in rows:
        print(f"{row.case}: {row.chips} differ in {row.pairs} pairs, {', '.join(row.prices) or row.exception or 'no prices'}")


if __name__ == "__main__":
    main()
