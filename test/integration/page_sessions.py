"""Sessions that pages of docs/ show, executed."""

import re
import subprocess

from conftest import BUILD


def matches(expected, output):
    """Each line of `expected` occurs, in order; `...` stands for anything."""
    at = 0
    squeezed = re.sub(r"[ \t]+", " ", output)
    for line in expected.splitlines():
        words = re.sub(r"[ \t]+", " ", line.strip())
        if words in ("", "..."):
            continue
        pattern = ".*".join(re.escape(part) for part in words.split("..."))
        found = re.compile(pattern).search(squeezed, at)
        if not found:
            return f"'{words}' is not in the output"
        at = found.end()
    return None


def run_session(page, folder, blocks, **environment):
    """Runs the commands under "A session" of a page in `folder`, which are so many blocks, each with what it prints behind it. What a block
    exports is there in the next ones."""
    body = page.read_text().split("## A session")[1].split("\n## ")[0]
    found = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", body, flags=re.MULTILINE | re.DOTALL)
    assert len(found) == blocks
    head = ["set -euo pipefail", f"export PATH={BUILD}/bin:$PATH", *(f"export {name}={value}" for name, value in environment.items())]
    for commands, expected in found:
        script = "\n".join([*head, commands])
        done = subprocess.run(["bash", "-c", script], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        assert done.returncode == 0, commands + done.stdout
        assert not matches(expected, done.stdout), f"{commands}\n{done.stdout}"
        head += [line for line in commands.splitlines() if line.startswith("export ")]
