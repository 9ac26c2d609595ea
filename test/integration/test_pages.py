"""Pages: tw-targets --html, tw-compile --explain=html. One file that loads nothing, well formed, with what it
promises."""

import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import BUILD, SOURCE


class Page(html.parser.HTMLParser):
    """The text of a page; every element is closed where it should be, nothing is loaded."""

    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.headings = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        assert not any(values.get(key, "#")[0] != "#" for key in ("src", "href")), values
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data):
        self.words.append(data)
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings.append(data)


def drawings(text):
    """The SVG drawings of a page, each read as XML."""
    return [xml.etree.ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


def drawing_of(text, unit, title):
    """The drawing of an operand of a unit, which stands at the first unit with this layout."""
    start = next(m.start() for m in re.finditer(r"<summary>([^<]*)</summary>", text) if unit in m[1].split(", "))
    part = text[start:text.index("</details>", start)]
    elsewhere = re.search(rf"<p>{title}: [^<]*: as of ([^<]+)</p>", part)
    if elsewhere:
        return drawing_of(text, elsewhere[1], title)
    found, = [d for d in drawings(part) if any(w.startswith(f"{title}: ") for w in texts(d))]
    return found


def texts(svg):
    return ["".join(element.itertext()) for element in svg.iter("text")]


#: What a chip needs beside its name: the third kind is a plugin.
OPTIONS = {"accelerator:npu": [f"--load-target={BUILD / 'lib/tilewright/libtilewright-target-accelerator.so'}"]}


@pytest.mark.parametrize("chip", ["cpu:zen4", "cpu:neoverse-v1", "nvidia:H100", "amd:MI300X", "amd:RX7900", "accelerator:npu"])
def test_chip(tool, chip):
    options = OPTIONS.get(chip, [])
    text = tool("tw-targets", *options, chip, "--html")
    page, description = Page(text), json.loads(tool("tw-targets", *options, chip, "--json"))
    assert len(text) < 4_000_000, "drawings that are alike are drawn once"
    assert page.headings[0] == chip and "Memories" in page.headings
    drawn, *layouts = drawings(text)
    words = " ".join(texts(drawn))
    for level in description["levels"]:
        assert level["name"] in words
    for memory in description["memories"]:
        assert memory["name"] in words
    # Boxes lie inside the drawing.
    width, height = (float(number) for number in drawn.get("viewBox").split()[2:])
    for box in drawn.iter("rect"):
        x, y, w, h = (float(box.get(key)) for key in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height, box.attrib
    names = "".join(page.words)
    for unit in description["units"]:
        assert unit["name"] in names
    in_memory = all(unit["a"]["residence"] == "scratchpad" for unit in description["units"])
    assert layouts or in_memory or not description["units"]
    for op in description["vectorOps"]:
        assert op["name"] in names and "Vector unit" in page.headings
    # Names of copy engines stand one under the other.
    labels = [float(label.get("y")) for label in drawn.iter("text") if "halo" in label.get("class", "")]
    assert len(labels) == len(description["copies"]) and all(b - a >= 12 for a, b in zip(labels, labels[1:])), labels


def test_style(tool):
    """A string of the style that ends with the line makes a browser drop the whole declaration."""
    style = re.search(r"<style>(.*?)</style>", tool("tw-targets", "cpu:zen4", "--html"), re.DOTALL).group(1)
    assert all(line.count('"') % 2 == 0 for line in style.splitlines())
    assert style.count("{") == style.count("}")


def test_layout_lane_by_lane(tool):
    """The cells of a known fragment: rows of 16 x 16 halves over 32 lanes, as the vendor's manual draws them."""
    text = tool("tw-targets", "nvidia:A100", "--html")
    a, b, c = (drawing_of(text, "nvidia.mma_m16n8k16_f16_f32", title) for title in "ABC")
    cells = [word for word in texts(a) if ":" in word and not word.startswith("A")]
    assert len(cells) == 16 * 16
    assert cells[:4] == ["0:0", "0:1", "1:0", "1:1"] and cells[8] == "0:4"
    assert cells[16] == "4:0" and cells[8 * 16] == "0:2"
    assert [len([w for w in texts(one) if re.fullmatch(r"\d+:\d+\+?", w)]) for one in (b, c)] == [16 * 8, 16 * 8]


@pytest.mark.parametrize("chip, program", [("cpu:zen4", "examples/mlp-f32.mlir"), ("nvidia:A100", "examples/mlp-f32.mlir"),
                                           ("accelerator:npu", "templates/accelerator/test/layer.mlir")])
def test_explanation(tool, chip, program):
    options = OPTIONS.get(chip, [])
    compile = ["tw-compile", SOURCE / program, *options, "--target", chip]
    text = tool(*compile, "--explain=html")
    page = Page(text)
    words = "".join(page.words)
    decisions = json.loads(tool(*compile, "--explain=json"))
    assert sum(heading.split(". ")[-1].startswith(tuple(d["decision"] for d in decisions)) for heading in page.headings
               ) == len(decisions) > 0
    assert "affine.for" in words and ("tile.mma" in words or "tile.multiply" in words), "the nest before and after"
    assert page.headings.count("tiles over memories") == page.headings.count("roofline, modelled") > 0
    assert "Units in use, lane by lane" in page.headings and len(drawings(text)) >= 2
    first = next(d for d in decisions if d["decision"] == "contraction")
    # The tiles fit where the plan puts them.
    capacity = {m["name"]: m["bytes"] for m in json.loads(tool("tw-targets", *options, chip, "--json"))["memories"]}
    for footprint in first["traffic"]["footprints"]:
        assert 0 < footprint["bytes"] <= capacity[footprint["memory"]], footprint
    # The losing candidates, the fastest first, and which one was taken.
    seconds = [candidate["seconds"] for candidate in first["candidates"]]
    assert len(seconds) > 3 and seconds == sorted(seconds)
    assert words.count("chosen") >= 1
    assert "No other candidate" not in words and '{"' not in words.split("The program before")[0]
    assert re.search(rf"{pathlib.Path(program).name}:\d+:\d+", "".join(page.headings))


#: Written into a page: how wide it is, and what leaves its box or the page, told to the page that shows it. Code scrolls in a box of its
#: own.
WIDER = """<script>
window.addEventListener("load", () => {
  const width = document.documentElement.clientWidth, wider = [];
  if (document.documentElement.scrollWidth > width) wider.push("page " + document.documentElement.scrollWidth);
  for (const box of document.querySelectorAll("body *")) {
    if (box.closest("svg") || box.closest("pre")) continue;
    const name = box.tagName + "." + box.className;
    if (box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX == "auto") wider.push(name + " scrolls");
    if (box.getBoundingClientRect().right > width + 1) wider.push(name + " ends at " + box.getBoundingClientRect().right);
  }
  parent.postMessage([location.pathname.split("/").pop(), "[" + wider.join("; ") + "]"], "*");
});
</script></body>"""

#: All pages in one browser, each in a frame of 1280 pixels.
FRAMES = """<!DOCTYPE html><html><body><script>
window.addEventListener("message", (event) => {
  const line = document.createElement("p");
  line.textContent = event.data[0] + ": " + event.data[1];
  document.body.append(line);
});
</script>%s</body></html>"""

SHOWN = ["chip cpu:granite-rapids", "chip nvidia:H100", "chip amd:MI300X", "chip accelerator:npu", "why cpu:zen4 examples/mlp-f32.mlir",
         "why nvidia:H200 examples/gemm-bias-gelu.mlir", "why accelerator:npu templates/accelerator/test/layer.mlir",
         "conformance accelerator:npu"]


def page_of(tool, page, tmp_path):
    """The text of a page: its kind, the chip, and the program."""
    kind, chip, *program = page.split()
    options = [*OPTIONS.get(chip, []), "--target", chip]
    if kind == "chip":
        return tool("tw-targets", *OPTIONS.get(chip, []), chip, "--html")
    if kind == "why":
        return tool("tw-compile", SOURCE / program[0], *options, "--explain=html")
    tool("tw-conformance", *options, "--filter=epilogue/*", "--filter=elementwise/*/f32/*", "--html", tmp_path / "report.html")
    return (tmp_path / "report.html").read_text()


def test_in_a_browser(tool, tmp_path):
    """At 1280 pixels nothing leaves the page, and no table has to be moved sideways."""
    browser = shutil.which("chromium")
    if not browser:
        pytest.skip("needs the package chromium")
    for i, page in enumerate(SHOWN):
        (tmp_path / f"{i}.html").write_text(page_of(tool, page, tmp_path).replace("</body>", WIDER))
    frames = "".join(f'<iframe src="{i}.html" width="1280" height="2000" style="border: 0"></iframe>' for i in range(len(SHOWN)))
    (tmp_path / "all.html").write_text(FRAMES % frames)
    shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/browser",
                            "--window-size=1400,2000", "--virtual-time-budget=20000", "--dump-dom", f"file://{tmp_path}/all.html"],
                           capture_output=True, text=True, timeout=300).stdout
    told = dict(re.findall(r"<p>(\d+)\.html: (.*?)</p>", shown))
    assert told == {str(i): "[]" for i in range(len(SHOWN))}, (SHOWN, told or shown[-300:])


def test_roofline_of_all_cores(tool):
    """Four cores of 32 bytes a clock at 1 GHz, and 2048 operations a clock of each."""
    text = tool("tw-compile", SOURCE / "templates/accelerator/test/layer.mlir", *OPTIONS["accelerator:npu"], "--target",
                "accelerator:npu", "--explain=html")
    words = [word for svg in drawings(text) for word in texts(svg)]
    assert "unit: 8.192 Top/s" in words and "global: 128 GB/s" in words and "scratchpad: 512 GB/s" in words, words


@pytest.mark.parametrize("arguments, message", [
    (["tw-targets", "cpu", "--html"], "--html draws one chip"),
    (["tw-targets", "cpu:zen4", "--html", "--json"], "--html draws one chip"),
    (["tw-compile", "--explain=pdf", "x.mlir"], "unknown form 'pdf' of --explain; expected text, json or html"),
])
def test_bad_input(arguments, message):
    result = subprocess.run([BUILD / "bin" / arguments[0], *arguments[1:]], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and message in result.stderr, result.stderr
