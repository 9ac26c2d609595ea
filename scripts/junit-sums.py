"""Prints `PASSED FAILED SKIPPED` of the JUnit files that a test runner wrote; exit status 1 if one cannot be read."""

import sys
import xml.etree.ElementTree as ElementTree


def main() -> int:
    try:
        cases = [case for file in sys.argv[1:] for case in ElementTree.parse(file).getroot().iter("testcase")]
    except (OSError, ElementTree.ParseError) as error:
        print(f"junit-sums: {error}", file=sys.stderr)
        return 1
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None or case.get("status") == "notrun" for case in cases)
    print(len(cases) - failed - skipped, failed, skipped)
    return 0


sys.exit(main())
