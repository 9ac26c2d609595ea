#!/usr/bin/env python3
"""Lines that a vendor owns: every line of .td, C++ and CMake that is neither blank nor comment, at 100 columns (a longer
one counts as the lines that it would take), outside tests, CI and build folders.

    scripts/vendor-lines.py                        the templates, and targets/amd and targets/nvidia without .td
    scripts/vendor-lines.py FOLDER                 one project
    scripts/vendor-lines.py FOLDER --kind simt     one project, and how many of its lines tw-new-target did not write
    scripts/vendor-lines.py --json
"""

import argparse
import difflib
import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
COLUMNS = 100
CODE = {".td", ".cpp", ".h", ".c", ".cc", ".hpp"}
CMAKE = {".cmake"}
LEFT_OUT = {"test", "tests", "build", "ci", ".ci", ".git"}
TEMPLATES = {"simd": "simd", "simt": "simt", "scratchpad": "accelerator"}
#: Most lines of the targets of the tree, without records.
TREE_LIMIT = 1500


def without_comments(text, cmake):
    """The lines of `text` with comments removed; strings keep what looks like one."""
    if cmake:
        pattern = r'"(?:\\.|[^"\\])*"|#\[\[.*?\]\]|#[^\n]*'
    else:
        pattern = r'R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/'
    def keep(match):
        word = match.group()
        return word if word[0] in "\"'R" else "\n" * word.count("\n")
    return [line.strip() for line in re.sub(pattern, keep, text, flags=re.DOTALL).splitlines() if line.strip()]


def files(folder, records=True):
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or LEFT_OUT & set(inside.parts[:-1]):
            continue
        cmake = path.name == "CMakeLists.txt" or path.suffix in CMAKE
        if cmake or (path.suffix in CODE and (records or path.suffix != ".td")):
            yield str(inside), path, cmake


def size(lines):
    return sum(-(-len(line) // COLUMNS) for line in lines)


def count(folder, records=True):
    """{file: lines}"""
    return {name: size(without_comments(path.read_text(), cmake)) for name, path, cmake in files(folder, records)}


def own_lines(folder, template, words):
    """{file: lines that are not in the scaffold}, of those files that have one."""
    result = {}
    for name, path, cmake in files(folder):
        new = without_comments(path.read_text(), cmake)
        base = template / name
        text = base.read_text() if base.exists() else ""
        for word, value in words.items():
            text = text.replace(word, value)
        matcher = difflib.SequenceMatcher(None, without_comments(text, cmake), new, autojunk=False)
        added = [line for tag, _, _, start, end in matcher.get_opcodes() if tag != "equal" for line in new[start:end]]
        if added:
            result[name] = size(added)
    return result


def words_of(folder):
    """What @NAME@ and its like stand for in this project, from its CMakeLists.txt."""
    text = (folder / "CMakeLists.txt").read_text()
    name = re.search(r"tilewright_target\((\w+)", text).group(1)
    camel = re.search(r"project\((\w+)", text).group(1)
    version = re.search(r"find_package\(Tilewright ([\d.]+)", text)
    words = {"@NAME@": name, "@Name@": camel, "@VERSION@": version.group(1) if version else ""}
    return words | {"accelerator": name, "Accelerator": camel}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--kind", choices=TEMPLATES, help="the kind of the scaffold that the project began as")
    parser.add_argument("--templates", type=pathlib.Path, default=SOURCE / "templates")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = {}
    if arguments.folder:
        report["files"] = count(arguments.folder)
        report["lines"] = sum(report["files"].values())
        if arguments.kind:
            own = own_lines(arguments.folder, arguments.templates / TEMPLATES[arguments.kind], words_of(arguments.folder))
            report["own_files"], report["own_lines"] = own, sum(own.values())
    else:
        for name in sorted(path.name for path in arguments.templates.iterdir()):
            report[f"templates/{name}"] = sum(count(arguments.templates / name).values())
        for name in ("amd", "nvidia"):
            report[f"targets/{name} without .td"] = sum(count(SOURCE / "targets" / name, records=False).values())
    if arguments.json:
        print(json.dumps(report, indent=2))
    else:
        for name, value in report.items():
            for inner, lines in value.items() if isinstance(value, dict) else ((name, value),):
                print(f"{lines:6}  {inner}")
    over = [name for name, value in report.items() if name.startswith("targets/") and value > TREE_LIMIT]
    for name in over:
        print(f"{name}: more than {TREE_LIMIT} lines", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
