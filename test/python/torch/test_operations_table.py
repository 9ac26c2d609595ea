"""docs/pytorch-operations.md names what the importer has."""

import operations_table


def test_the_page_names_every_emitter():
    assert operations_table.PAGE.read_text() == operations_table.page(), "write the page again: operations_table.py --write"
    assert sum(len(names) for _, names in operations_table.families()) >= 300
