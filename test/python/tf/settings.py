"""Where the tests are, and whether all of them run."""

import os
import pathlib

SOURCE = pathlib.Path(__file__).resolve().parents[3]

#: Long runs: all samples, all types (`scripts/test.sh --full`).
FULL = os.environ.get("TILEWRIGHT_FULL") == "1"
