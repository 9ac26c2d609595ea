"""Prints `PASSED FAILED SKIPPED` of the JUnit file that a test runner wrote; exit status 1 if it cannot be read."""

import sys
import xml.etree.ElementTree as ElementTree


def main() -> int:
    try:
        root = ElementTree.parse(sys.argv[1]).getroot()
    except (OSError, ElementTree.ParseError) as error:
        print(f"junit-sums: {error}", file=sys.stderr)
        return 1
    cases = list(root.iter("testcase"))
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None or case.get("status") == "notrun" for case in cases)
    print(len(cases) - failed - skipped, failed, skipped)
    return 0


sys.exit(main())
