"""What the tests of the Python package share: the package of this checkout over the build under test, and a cache of the run."""

import os
import pathlib
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD") or os.environ.get("TILEWRIGHT_SDK") or SOURCE / "build" / "release")
os.environ["TILEWRIGHT_SDK"] = str(BUILD)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(SOURCE / "python"), os.environ.get("PYTHONPATH")]))
sys.path.insert(0, str(SOURCE / "python"))


@pytest.fixture(autouse=True, scope="session")
def cache_of_this_run(tmp_path_factory):
    os.environ["TILEWRIGHT_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def isolated(monkeypatch, tmp_path):
    """An empty cache."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"
