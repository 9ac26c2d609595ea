"""Pages of measurements with a section for each processor (and kind of run): a run replaces its own section and leaves the others."""

import datetime
import pathlib
import re


def processor():
    """The model's name of the host, with what tells it from others."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    found = {key: match[1] for key in ("cpu family", "model", "model name")
             if (match := re.search(rf"^{key}\s*: (.*)$", text, re.MULTILINE))}
    return f"{found.get('model name', 'unknown')} (family {found.get('cpu family')}, model {found.get('model')})"


def cores(threads):
    return f"{threads} {'core' if threads == 1 else 'cores'}"


def write(page, introduction, section, run=""):
    """Puts `section` under the heading of this host (and of the `run`, "1 core"); `introduction` is what stands before all sections."""
    heading = f"## {processor()}{', ' if run else ''}{run}"
    parts = re.split(r"(?m)^(?=## )", page.read_text() if page.exists() else "")[1:]
    sections = {part.split("\n", 1)[0]: part.strip() for part in parts}
    sections = {heading: f"{heading}\n\nMeasured on {datetime.date.today()}. {section.strip()}",
                **{name: text for name, text in sections.items() if name != heading}}
    page.write_text("\n\n".join([introduction.strip(), *sections.values()]) + "\n")
