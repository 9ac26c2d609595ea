"""In which order pytest-xdist starts the files of the integration tests: the longest first, so that processes end together.

pytest-xdist itself starts those with most tests first. A file of three tests that build projects for minutes then comes last, and all
processes but one wait for it. `seconds.json` has the processor time of each file; it is written from the JUnit file of a run on a
quiet machine, and being wrong by half does no harm:

    build/venv/bin/python test/integration/order.py build/release/results/integration.xml
"""

import collections
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

SECONDS = pathlib.Path(__file__).with_name("seconds.json")


def longest_first(files):
    """The names of `files` by their seconds; those that were never measured come first, since they may be long."""
    seconds = json.loads(SECONDS.read_text())
    return sorted(files, key=lambda name: (-seconds.get(name.rpartition("/")[2], float("inf")), name))


def scheduler(config, log):
    """pytest-xdist's own of `--dist loadfile`, which takes the longest file first."""
    from xdist.scheduler import LoadFileScheduling

    class LongestFirst(LoadFileScheduling):
        def _assign_work_unit(self, node):
            if self.workqueue:
                self.workqueue.move_to_end(longest_first(self.workqueue)[0], last=False)
            super()._assign_work_unit(node)

    return LongestFirst(config, log)


def measured(junit):
    """{file: seconds} of a JUnit file."""
    sums = collections.Counter()
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        sums[case.get("classname").rpartition(".")[2] + ".py"] += float(case.get("time"))
    return {name: round(seconds, 1) for name, seconds in sorted(sums.items())}


if __name__ == "__main__":
    SECONDS.write_text(json.dumps(measured(sys.argv[1]), indent=1) + "\n")
