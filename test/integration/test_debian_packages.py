"""The Debian packages: what is in them, the same bytes twice, and that programs and plugins are built and run from their files.

They are unpacked below a folder rather than installed. Quick mode packs without compression and without dpkg-shlibdeps, which
takes half a minute; the full mode makes them as scripts/make-packages.sh does, the site included.
"""

import filecmp
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, FULL, SANITIZERS, SOURCE
from kit import run

COMPONENTS = ("runtime", "tools", "dev") + ("doc",) * FULL
QUICK = "set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)\nset(CPACK_DEBIAN_COMPRESSION_TYPE none)\n"


def pack(folder):
    """The packages by component."""
    if FULL:
        run("cmake", "--build", BUILD, "--target", "docs", timeout=600)
    config = folder / "config.cmake"
    config.write_text(f"include({BUILD}/CPackConfig.cmake)\nset(CPACK_COMPONENTS_ALL {' '.join(COMPONENTS)})\n{'' if FULL else QUICK}")
    run("cpack", "--config", config, "-B", folder, env={"SOURCE_DATE_EPOCH": "1700000000"}, timeout=600)
    return {component: next(folder.glob(f"tilewright-{component}_*.deb")) for component in COMPONENTS}


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    if SANITIZERS or not (BUILD / "CPackConfig.cmake").exists() or not shutil.which("dpkg-deb"):
        pytest.skip("needs a build tree without sanitizers, and dpkg-deb")
    os.umask(0o022)
    return pack(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="session")
def root(packages, tmp_path_factory):
    """The files of all packages as they would lie below /."""
    where = tmp_path_factory.mktemp("root")
    for package in packages.values():
        run("dpkg-deb", "-x", package, where)
    return where / "usr"


def names(package):
    return {line.split()[5].removeprefix("./") for line in run("dpkg-deb", "-c", package).splitlines()}


def test_parts(packages):
    """Each file is in one package, and in the one where it belongs; users are root, nothing is writable by others."""
    files = {component: {name for name in names(package) if not name.endswith("/")} for component, package in packages.items()}
    assert len(set().union(*files.values())) == sum(map(len, files.values()))
    assert {"usr/bin/tw-launch", "usr/lib/libtilewright-runtime.so.0"} <= files["runtime"] and len(files["runtime"]) == 4
    commands = {f"usr/bin/{path.stem}" for path in SOURCE.glob("core/Tools/tw-*.cpp")} - {"usr/bin/tw-new-target"}
    assert commands | {"usr/lib/libTilewright.so.0", "usr/lib/tilewright/libtilewright-linked-targets.so",
                       "usr/share/tilewright/examples/feed-forward-f32.mlir"} <= files["tools"]
    headers = {f"usr/include/tilewright/{path.name}" for path in SOURCE.glob("core/include/tilewright/*")}
    assert headers | {"usr/bin/tw-tblgen", "usr/bin/tw-new-target", "usr/lib/libTilewright.so", "usr/lib/libtilewright-runtime.a",
                      "usr/lib/cmake/Tilewright/TilewrightConfig.cmake", "usr/include/tilewright/dialects/Chip/Chip.td",
                      "usr/lib/pkgconfig/tilewright-runtime.pc"} <= files["dev"]
    for component, package in packages.items():
        assert f"usr/share/doc/tilewright-{component}/copyright" in files[component]
        for line in run("dpkg-deb", "-c", package).splitlines():
            assert re.match(r"(drwxr-xr-x|-rw[x-]r-[x-]r-[x-]|lrwxrwxrwx) root/root ", line), line


def test_control(packages):
    def field(component, name):
        return run("dpkg-deb", "-f", packages[component], name).strip()

    version = re.search(r"project\(Tilewright VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1) + "-1"
    assert all(field(component, "Version") == version for component in COMPONENTS)
    assert f"tilewright-tools (= {version}), tilewright-runtime (= {version})" in field("dev", "Depends")
    if FULL:
        assert "libllvm22 (>= 1:22.1)" in field("tools", "Depends")
        needed = {re.sub(r" .*", "", each) for each in field("tools", "Depends").split(", ")}
        assert {"libc6", "libisl23", "libmlir-22", "libllvm22", "libstdc++6"} <= needed
        assert re.fullmatch(r"libc6 \(>= 2\.\d+\)", field("runtime", "Depends"))
        assert field("doc", "Architecture") == "all"


def test_no_path_of_the_build(root):
    """No file speaks of the tree or the build that it came from, and libraries are found beside the commands and in LLVM's folder."""
    forbidden = [str(path).encode() for path in {SOURCE, BUILD.resolve(), BUILD}]
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            assert not any(each in data for each in forbidden), path
            if data.startswith(b"\x7fELF"):
                search = re.search(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", path))
                allowed = ("$ORIGIN/..", "$ORIGIN/../lib", "/usr/lib/llvm-22/lib")
                assert not search or all(each in allowed for each in search.group(1).split(":")), (path, search.group(1))
                assert ".debug_info" not in run("readelf", "-S", "-W", path)


def test_same_bytes(packages, tmp_path):
    for component, package in pack(tmp_path).items():
        assert filecmp.cmp(package, packages[component], shallow=False), f"{component} is not the same the second time"


def test_commands_run(root, tmp_path):
    """From the unpacked files alone: compile, run, compare, and a library with its header; every command says its version."""
    program = SOURCE / "examples/c-program/mlp.mlir"
    assert "largest error" in run(root / "bin/tw-run", program, "--sizes=3", "--target", "cpu:host", "--verify")
    assert "nvidia:H100" in run(root / "bin/tw-targets")
    run(root / "bin/tw-compile", program, "--target", "cpu:host", "-o", tmp_path / "mlp.so", f"--header={tmp_path / 'mlp.h'}")
    assert (tmp_path / "mlp.so").stat().st_size and "mlp" in (tmp_path / "mlp.h").read_text()
    version = re.search(r"project\(Tilewright VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
    for command in (path for path in (root / "bin").iterdir() if path.name != "tw-tblgen"):  # LLVM's option there
        assert version in run(command, "--version"), command


C_PROGRAM = """#include <stdio.h>
#include <tilewright/tilewright_runtime.h>
int main(void) { printf("%s\\n", tw_version()); return 0; }
"""


def test_c_program_by_pkg_config(root, tmp_path):
    """What tilewright-runtime.pc says, read by pkg-config where it is installed, else as it would be."""
    (tmp_path / "main.c").write_text(C_PROGRAM)
    folder = root / "lib/pkgconfig"
    if shutil.which("pkg-config"):
        flags = run("pkg-config", "--cflags", "--libs", "tilewright-runtime", env={"PKG_CONFIG_PATH": str(folder)}).split()
    else:
        text = (folder / "tilewright-runtime.pc").read_text()
        values = {"pcfiledir": str(folder), **dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))}
        flags = " ".join(re.findall(r"^(?:Cflags|Libs): (.*)$", text, re.MULTILINE))
        for _ in range(3):
            flags = re.sub(r"\$\{(\w+)\}", lambda match: values[match.group(1)], flags)
        flags = flags.split()
    run("cc", tmp_path / "main.c", *flags, "-o", tmp_path / "main")
    assert re.match(r"\d+\.\d+\.\d+\n", run(tmp_path / "main", env={"LD_LIBRARY_PATH": str(root / "lib")}))


def test_projects_are_built(root, tmp_path):
    """A C program with a compiled tensor program by find_package(Tilewright), and the plugin of a new chip."""
    shutil.copytree(SOURCE / "examples/c-program", tmp_path / "program")
    run("cmake", "-S", tmp_path / "program", "-B", tmp_path / "program/build", f"-DCMAKE_PREFIX_PATH={root}")
    run("cmake", "--build", tmp_path / "program/build")
    run(tmp_path / "program/build/classify")
    said = run(root / "bin/tw-new-target", "acme", "--kind", "simd", "--dir", tmp_path / "acme")
    assert f"-DCMAKE_PREFIX_PATH={root}" in said
    build = tmp_path / "acme/build"
    run("cmake", "-S", tmp_path / "acme", "-B", build, f"-DCMAKE_PREFIX_PATH={root}", "-DCMAKE_BUILD_TYPE=Debug")
    run("cmake", "--build", build)
    plugin = build / "lib/tilewright/libtilewright-target-acme.so"
    assert "acme1" in run(root / "bin/tw-targets", f"--load-target={plugin}", "acme")


@pytest.mark.skipif(not FULL, reason="the site takes half a minute: full mode")
def test_site(root):
    """Links of the site lead somewhere; it has the pages, the reference and the interfaces."""
    site = root / "share/doc/tilewright/html"
    pages = {path.name: path.read_text(errors="replace") for path in site.glob("*.html")}
    anchors = {name: set(re.findall(r'(?:id|name)="([^"]+)"', text)) for name, text in pages.items()}
    wrong = []
    for name, text in pages.items():
        for link in re.findall(r'href="([^":]+)"', text):
            file, _, anchor = link.partition("#")
            if not (site / file).exists() or anchor and anchor not in anchors.get(file or name, {anchor}):
                wrong.append(f"{name}: {link}")
    assert not wrong, wrong
    manual = {path.stem for path in (SOURCE / "docs").glob("*.md")} - {"README"}
    assert {f"{name}.html" for name in manual | {"passes", "tile-dialect", "target-cpu", "simt-README"}} <= set(pages)
    assert "twc_compile" in "".join(text for name, text in pages.items() if name.startswith("tilewright__compiler"))
