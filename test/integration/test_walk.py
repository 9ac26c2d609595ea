"""docs/walk-*.md, which show one program after each pass, are what this build does: scripts/walk.py writes them."""

import subprocess
import sys

from conftest import BUILD, SOURCE


def test_walks_are_what_the_passes_do():
    done = subprocess.run([sys.executable, SOURCE / "scripts/walk.py", BUILD, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_walk_needs_the_compilers_own_order(tmp_path):
    """A list of passes that is not the compiler's is found by what its stages leave."""
    script = tmp_path / "scripts/walk.py"
    (tmp_path / "docs").mkdir()
    (tmp_path / "core").symlink_to(SOURCE / "core")
    script.parent.mkdir()
    text = (SOURCE / "scripts/walk.py").read_text()
    assert '["--tw-affine"]]' in text
    script.write_text(text.replace('["--tw-affine"]]', '["--tw-affine", "--unroll-taps", "--fuse-nests"]]'))
    done = subprocess.run([sys.executable, script, BUILD], capture_output=True, text=True)
    assert done.returncode == 1 and "stage 2 of cpu:zen4" in done.stderr and "give another program" in done.stderr
