"""One meaning a word: docs/ and what core prints speak the words of the field; links lead somewhere, and pages are short.

A pattern is a word that this project once had of its own; next to it stands the field's word. Code spans of pages are left
out, as names in the code are another matter; generated pages are, too, since they print code. In core all messages are
looked at, and the comments of the folders that are through.
"""

import re

import pytest

from conftest import SOURCE

DOCS = SOURCE / "docs"
#: Written by a program, from code or from measurements.
GENERATED = {"walk-cpu.md", "walk-simt.md", "walk-scratchpad.md", "performance.md", "performance-zen4.md"}

#: What pages do not say, and what they say instead.
WORDS = [
    (r"chips? (?:that|which) runs? lanes|chips? with(?:out)? lanes", "SIMT targets"),
    (r"chips? whose cores|cores program engines|chips? whose lanes are cores", "scratchpad targets"),
    (r"sums of (?:a|the) (?:block|tile|subgroup|product|unit)|waiting sums|sums wait|holds? sums|hold their sums", "accumulators"),
    (r"only the run|the run (?:shows|knows)|known at the run|the run's", "dynamic"),
    (r"turned|turning|turns? (?:round|operands?|blocks?|them|bytes|in (?:its|their) registers)|(?:lanes|launch \w+) turns?",
     "transposed, transpose"),
    (r"rows? begins? anywhere|begins? anywhere", "unaligned rows"),
    (r"meets? (?:in|a|no|another|each|accesses)|(?:lanes|rows|accesses|iterations|lifetimes|that|which|subgroups) meet|meetings?|met", "bank conflict; barrier, synchronisation; conflict, overlap"),
    (r"rings?|rounds? (?:of )?the ring", "multi-stage (circular) buffer; unroll factor of the pipeline"),
    (r"slices? (?:of|along|share) k|k of (?:one|a) slice|slices of a block|of a slice of a block", "intra-block split-K"),
    (r"sweeps?|raster rows", "threadblock rasterisation"),
    (r"workers", "persistent blocks"),
    (r"tails?", "epilogue (of a contraction); remainder (of a loop)"),
    (r"past (?:the|its|their) registers", "asynchronous global-to-shared copy"),
    (r"held in registers|waits? in registers", "staged in registers"),
    (r"beside (?:the |its )?products", "non-MMA issue overhead"),
    (r"across steps", "register prefetch across iterations"),
    (r"(?:the )?sectors once", "coalesced"),
    (r"keeps? the (?:program's )?order of the program|waves keep", "in-order issue"),
    (r"row programs?", "fused row-wise reduction"),
    (r"halos?|halo fusion|rows at once", "overlapped tiling; unroll-and-jam"),
    (r"copying role|copying lanes|phase objects?|phase barriers?", "producer warp; barrier object (phase, parity)"),
    (r"lanes (?:that )?exchange|exchange of lanes|exchange behind", "lane shuffle"),
    (r"pieces?|runs of (?:a row|elements|neighbours)", "contiguous vector segments; parts"),
    (r"host code", "host program"),
    (r"taps (?:are )?written out|windows? (?:is |are )?turned", "unrolled taps, loop interchange"),
    (r"(?-i:Meetings|Transfers|Traffic)\.(?:h|cpp)", "Barriers, AsyncEngines, CoalescingCounters"),
]

#: Sentences that mean another thing by such a word: (page, words around it, why).
ALLOWED = [
    ("testing.md", "are not turned; ..", "the title of a commit"),
    ("glossary.md", "a chip whose cores", "the definition of a scratchpad target"),
]


def pages():
    return sorted(path for path in DOCS.rglob("*.md") if path.name not in GENERATED)


def prose(path):
    """Lines without blocks of code and code spans."""
    inside, lines = False, []
    for line in path.read_text().splitlines():
        if line.startswith("```"):
            inside = not inside
        lines.append("" if inside or line.startswith("```") else re.sub(r"`[^`]*`", "`", line))
    return lines


def private_words(line):
    return [(match.group(), instead) for pattern, instead in WORDS for match in re.finditer(rf"\b(?:{pattern})\b", line, re.IGNORECASE)]


@pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(DOCS)))
def test_pages_speak_the_words_of_the_field(path):
    allowed = [words for name, words, _ in ALLOWED if name == path.name]
    found = [f"{path.relative_to(SOURCE)}:{number}: '{word}': say {instead}: {line.strip()[:120]}"
             for number, line in enumerate(prose(path), 1) if not any(words in line for words in allowed)
             for word, instead in private_words(line)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line, words", [
    ("chips that run lanes", ["chips that run lanes"]), ("a ring of stages", ["ring"]), ("strings, during, rounding", []),
    ("rows that meet in a bank", ["that meet"]), ("cores meet memory", []), ("operands that a launch before turned", ["turned"]), ("it returns in turn", []),
    ("the tail of a loop", ["tail"]), ("details", []), ("a tensor's slice", []), ("slices share k", ["slices share k"]),
    ("a row program", ["row program"]), ("programs of rows", [])])
def test_private_words_are_recognised(line, words):
    assert [word for word, _ in private_words(line)] == words


def test_what_is_allowed_is_there():
    gone = [(name, words) for name, words, _ in ALLOWED if not any(words in path.read_text() for path in pages() if path.name == name)]
    assert not gone, f"nobody needs these exceptions any more: {gone}"


#: Folders of core whose comments speak these words.
THROUGH = ["Analysis", "Conformance", "Emulator", "Pages", "Runtime", "TableGen", "Tools"]
#: Text of core that means another thing, and why.
ALLOWED_IN_CORE = [
    ("FormerNames.h", '{"', "former names of fields, accepted for one version"),
    ("ChipDrawing.cpp", "halo", "a style of HTML pages"), ("Roofline.cpp", "halo", "a style of HTML pages"),
    ("Pool.cpp", "Workers", "processes of the command, not blocks"), ("RowProgram.h", "row program", "the name of its structure"),
]


def texts(path):
    """Number and text of what a line of a source file says: its messages, and its comment where the folder is through."""
    comments = path.relative_to(SOURCE / "core").parts[0] in THROUGH
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        code, _, comment = line.partition("//")
        if not code.lstrip().startswith(("#include", "/*", "*")):
            yield number, " ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', code))
        if comments:
            yield number, comment


def test_core_speaks_the_words_of_the_field():
    found = []
    for path in sorted((SOURCE / "core").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".c"):
            continue
        lines = path.read_text(errors="replace").splitlines()
        allowed = [words for name, words, _ in ALLOWED_IN_CORE if name == path.name]
        found += [f"{path.relative_to(SOURCE)}:{number}: '{word}': say {instead}: {lines[number - 1].strip()[:120]}"
                  for number, text in texts(path) if not any(words in lines[number - 1] for words in allowed)
                  for word, instead in private_words(text)]
    assert not found, "\n".join(found)


def anchors(path):
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")) + [SOURCE / "README.md"], ids=lambda path: str(path.relative_to(SOURCE)))
def test_links_lead_somewhere(path):
    broken = []
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)", path.read_text()):
        to = path.parent / target if target else path
        if not to.exists() or (anchor and to.suffix == ".md" and anchor not in anchors(to)):
            broken.append(f"{target}#{anchor}")
    assert not broken, f"{path.relative_to(SOURCE)}: {broken}"


def test_every_page_is_in_the_table():
    listed = (DOCS / "README.md").read_text() + (DOCS / "simt/README.md").read_text()
    missing = [path.name for path in DOCS.rglob("*.md") if path.name != "README.md" and f"]({path.name})" not in listed]
    assert not missing, f"docs/README.md and docs/simt/README.md lack {missing}"


@pytest.mark.parametrize("path", sorted((DOCS / "simt").glob("*.md")), ids=lambda path: path.name)
def test_a_page_answers_one_question(path):
    words = len(path.read_text().split())
    assert words <= 2000, f"{path.name} has {words} words"
