"""`pip install ./python`: a wheel without code of this machine that finds an installed SDK."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import BUILD, SOURCE


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(SOURCE / "python", folder / "source", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index",
                    "--disable-pip-version-check", "-w", str(folder), str(folder / "source")], check=True, timeout=120)
    (path,) = folder.glob("*.whl")
    return path


def test_it_is_pure(wheel):
    assert wheel.name == "tilewright-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    sources = {str(path.relative_to(SOURCE / "python")) for path in (SOURCE / "python/tilewright").rglob("*")
               if path.suffix in (".py", ".typed", ".cpp")}
    assert sources <= set(names)


def test_it_finds_an_sdk(wheel, tmp_path):
    """An installed prefix that is named, and one whose commands are on the path."""
    prefix = tmp_path / "sdk"
    (prefix / "lib/tilewright").mkdir(parents=True)
    (prefix / "bin").mkdir()
    for name in ("libTilewright.so.0", "tilewright/libtilewright-linked-targets.so"):
        os.symlink((BUILD / "lib" / name).resolve(), prefix / "lib" / name)
    (prefix / "bin/tw-compile").write_text("#!/bin/sh\n")
    (prefix / "bin/tw-compile").chmod(0o755)
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = "import tilewright; print(tilewright.__file__, tilewright.version(), tilewright._sdk.folder())"
    environment = {name: value for name, value in os.environ.items() if name != "TILEWRIGHT_SDK"}
    for more in ({"TILEWRIGHT_SDK": str(prefix)}, {"PATH": f"{prefix / 'bin'}:{os.environ['PATH']}"}):
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path,
                                env={**environment, "PYTHONPATH": str(site), **more})
        assert result.stdout.split() == [str(site / "tilewright/__init__.py"), "0.1.0", str(prefix / "lib")], result
