"""The launches that docs/fusion.md names are those of the compiler."""

import launch_table
import pytest

from settings import FULL


def test_the_page_has_every_row():
    assert launch_table.documented().keys() == {name for names, _ in launch_table.TABLES.values() for name in names}


@pytest.mark.parametrize("name", launch_table.PROGRAMS)
def test_launches_of_programs(tmp_path, name):
    assert launch_table.program_row(name, tmp_path) == launch_table.documented()[name], "write the page again: launch_table.py --write"


@pytest.mark.parametrize("name", launch_table.LAYERS if FULL else ["BERT"])
def test_launches_of_layers(tmp_path, name):
    assert launch_table.layer_row(name, tmp_path) == launch_table.documented()[name], "write the page again: launch_table.py --write"
