#!/usr/bin/env python3
"""Doxygen's input filter for Markdown.

page-filter.py [REFERENCE PAGE ...] FILE prints FILE with headings and links that Doxygen understands.

A heading gets the name PAGE-heading, since names are global there; links to headings take it. Links to
files of the tree that are no pages become the files' names. The front page lists the reference pages, which are generated.
"""

import pathlib
import re
import sys

def anchor(page: str, heading: str) -> str:
    """The name of a heading: words of its text, as GitHub makes them, after the page's."""
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return page + "-" + re.sub(r"[^\w-]", "", text.replace(" ", "-"))


def page_name(path: pathlib.Path) -> str:
    return path.stem if path.parent.name != "simt" else "simt-" + path.stem


def link(page: str, folder: pathlib.Path, match: re.Match) -> str:
    """`[text](path#heading)`, wherever it leads."""
    text, target, heading = match.group(1), match.group(2), match.group(3)
    if re.match(r"\w+:", target):
        return match.group(0)
    if not target:
        return f"[{text}](#{anchor(page, heading)})"
    if not target.endswith(".md"):
        return text
    path = (folder / target).resolve()
    return f"[{text}](#{anchor(page_name(path), heading) if heading else page_name(path)})"


def main() -> None:
    path = pathlib.Path(sys.argv[-1]).resolve()
    page, seen = page_name(path), {}

    def heading(match: re.Match) -> str:
        name = page if len(match.group(1)) == 1 else anchor(page, match.group(2))
        seen[name] = seen.get(name, -1) + 1
        return f"{match.group(1)} {match.group(2)} {{#{name}{'-%d' % seen[name] if seen[name] else ''}}}"

    text = re.sub(r"\A(<!--.*?-->\s*)+", "", path.read_text(), flags=re.DOTALL)  # a page begins with its heading
    if not text.startswith("# "):  # a list of sections
        text = f"# {page.capitalize()}\n\n{text}"
    parts = re.split(r"(^ *```.*?^ *```)", text, flags=re.MULTILINE | re.DOTALL)
    for index in range(0, len(parts), 2):  # outside of code
        parts[index] = re.sub(r"^(#+) +(.*?) *$", heading, parts[index], flags=re.MULTILINE)
        parts[index] = re.sub(r"\[([^\]\[]*)\]\(([^()#\s]*)(?:#([\w-]+))?\)", lambda match: link(page, path.parent, match), parts[index])
    print("".join(parts))
    if page == "README":
        print("\n## Reference, generated\n")
        for each in sys.argv[1:-1]:
            print(f"- [{each}](#{each})")


main()
