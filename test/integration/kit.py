"""What tests of projects of vendors share: an installation of the build under test, and commands with its compilers."""

import fcntl
import os
import shutil
import subprocess

import pytest

from conftest import BUILD, FULL, SANITIZERS

#: The compilers and the linker of the build under test, for the projects of the tests; the system's own take longer over MLIR's headers
#: and libraries.
COMPILERS = {"CC": "clang-22", "CXX": "clang++-22", "LDFLAGS": "-fuse-ld=lld"} if shutil.which("clang++-22") else {}
#: The kind of build that plugins are made in.
RELEASE = ["-DCMAKE_BUILD_TYPE=Release"]
#: The headers of a plugin are most of the 17 seconds that a small one takes to compile. The projects of the tests take them precompiled:
#: what a plugin may include, with the definition and the flags of a plugin.
HEADERS = """cmake_minimum_required(VERSION 3.25)
project(Headers LANGUAGES C CXX)
find_package(Tilewright REQUIRED)
file(WRITE ${CMAKE_BINARY_DIR}/empty.cpp "")
add_library(headers OBJECT ${CMAKE_BINARY_DIR}/empty.cpp)
target_link_libraries(headers PRIVATE Tilewright::Tilewright)
target_compile_options(headers PRIVATE ${TILEWRIGHT_PLUGIN_OPTIONS})
target_compile_definitions(headers PRIVATE TILEWRIGHT_LOADABLE_TARGET)
set_target_properties(headers PROPERTIES CXX_STANDARD 20 CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
target_precompile_headers(headers PRIVATE
  <tilewright/CallLaneOps.h> <tilewright/Compiler.h> <tilewright/Emulation.h> <tilewright/TableTarget.h>
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/IR/Builders.h> <mlir/Pass/PassManager.h>)
"""

#: What CMake starts before the compiler of such a project: plugins for Release take the headers, all else is compiled as it is.
LAUNCHER = """#!/bin/sh
case " $* " in
  *" -DTILEWRIGHT_LOADABLE_TARGET "*" -O3 "*) exec "$@" -include-pch {header} ;;
esac
exec "$@"
"""


def run(*command, expect=0, env=None, **options):
    environment = {**os.environ, **COMPILERS, **(env or {})}
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, **options)
    assert result.returncode == expect, f"{command}\n{result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout + result.stderr


def shared(tmp_path_factory, name, make):
    """A folder that `make` has filled, once for all processes and files of the run."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, made = root / name, root / f"{name}.made"
    with open(root / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """An installation of the build under test."""
    if SANITIZERS:
        pytest.skip("projects of vendors are built without the sanitizers of this build")
    if not (BUILD / "CMakeCache.txt").exists() or not shutil.which("cmake"):
        pytest.skip("no build tree to install from")
    return shared(tmp_path_factory, "prefix", lambda folder: run("cmake", "--install", BUILD, "--prefix", folder))


@pytest.fixture(scope="session")
def precompiled(prefix, tmp_path_factory):
    """Variables of the environment in which CMake compiles plugins for Release with HEADERS precompiled; none in the full mode. A file
    that forgets an #include compiles there, too: test_kit.py builds scaffolds of two kinds without them, and the tree's own build has
    the other kind and the example, whose headers of Tilewright are not precompiled."""
    if FULL or not COMPILERS:  # of other compilers the option has another name
        return {}

    def make(folder):
        (folder / "CMakeLists.txt").write_text(HEADERS)
        run("cmake", "-S", folder, "-B", folder / "build", *RELEASE, f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", folder / "build")
        (header,) = folder.rglob("cmake_pch.hxx.pch")
        launcher = folder / "launcher"
        launcher.write_text(LAUNCHER.format(header=header))
        launcher.chmod(0o755)

    return {"CMAKE_CXX_COMPILER_LAUNCHER": str(shared(tmp_path_factory, "headers", make) / "launcher")}
