"""Tables of operations on pages of docs/, by family, as the registry of a reader has them."""

import importlib


def families(registry, tables, more={}):
    """(what a family is for, its operations). `more`: operations without an emitter, by family."""
    registry.load()
    package = registry.__package__
    found = {f"{package}.ops_{family}": list(names) for family, names in more.items()}
    for table in tables:
        for name, emitter in table.items():
            found.setdefault(getattr(emitter, "emit", emitter).__module__, []).append(name)
    order = [f"{package}.ops_{family}" for family in registry.FAMILIES]
    return [(importlib.import_module(m).__doc__.split(".")[0].replace("\n", " "), sorted(set(found[m]))) for m in order]


def table(rows):
    """Rows of (title, names) as a table."""
    lines = [f"| {title} ({len(names)}) | {' '.join(f'`{n}`' for n in names)} |" for title, names in rows]
    return "| family | operations |\n|---|---|\n" + "\n".join(lines) + "\n"


def rewritten(page, mark, body):
    """The text of the page with everything after the mark made new."""
    return page.read_text().split(mark)[0] + mark + "\n" + body
