"""Long files of these tests start first (order.py), and the table of their seconds names files that exist."""

import json
import pathlib

import order

HERE = pathlib.Path(__file__).parent


def test_longest_files_start_first(tmp_path, monkeypatch):
    monkeypatch.setattr(order, "SECONDS", tmp_path / "seconds.json")
    order.SECONDS.write_text('{"test_short.py": 1.5, "test_long.py": 70}')
    files = [f"test/integration/{name}.py" for name in ("test_short", "test_other", "test_long", "test_new")]
    assert [name.rpartition("_")[2] for name in order.longest_first(files)] == ["new.py", "other.py", "long.py", "short.py"]


def test_seconds_of_a_run(tmp_path):
    junit = tmp_path / "run.xml"
    junit.write_text("""<testsuites><testsuite>
      <testcase classname="test.integration.test_b" name="x" time="1.25"/><testcase classname="test.integration.test_a" name="y" time="2"/>
      <testcase classname="test.integration.test_b" name="z" time="0.5"><skipped/></testcase></testsuite></testsuites>""")
    assert order.measured(junit) == {"test_a.py": 2.0, "test_b.py": 1.8}


def test_table_names_files_that_exist():
    gone = [name for name in json.loads(order.SECONDS.read_text()) if not (HERE / name).exists()]
    assert not gone, f"write {order.SECONDS.name} anew (order.py says how): {gone}"
