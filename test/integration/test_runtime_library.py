"""The runtime library as an application has it: what it needs of the machine, and a program in C over it. The drivers are those of
test_runtime.py."""

import os
import re
import subprocess

import pytest

from artifacts import DRIVERS, artifact, program
from conftest import BUILD, SANITIZERS, SOURCE

READELF = "/usr/lib/llvm-22/bin/llvm-readelf"
#: The newest symbol version of glibc that tw-launch and the runtime library may need (docs/runtime.md).
NEWEST_GLIBC = (2, 17)


def needs(path):
    """Libraries and newest glibc version that a file needs."""
    text = subprocess.run([READELF, "-d", "--dyn-syms", str(path)], capture_output=True, text=True, check=True).stdout
    libraries = set(re.findall(r"NEEDED.*\[(.+)\]", text))
    undefined = [line for line in text.splitlines() if " UND " in line]
    return libraries, max(tuple(map(int, v.split("."))) for line in undefined for v in re.findall(r"GLIBC_([\d.]+)", line))


@pytest.mark.skipif("-fsanitize" in (BUILD / "build.ninja").read_text(), reason="sanitizers bring libraries of their own")
@pytest.mark.parametrize("name", ["bin/tw-launch", "lib/libtilewright-runtime.so"])
def test_needs_libc_alone(name):
    libraries, newest = needs(BUILD / name)
    assert libraries <= {"libc.so.6", "libdl.so.2"}, libraries
    assert newest <= NEWEST_GLIBC
    if name.startswith("bin"):
        ldd = subprocess.run(["ldd", str(BUILD / name)], capture_output=True, text=True, check=True).stdout
        found = {line.split()[0].rsplit("/", 1)[-1] for line in ldd.splitlines()}
        assert all(re.match(r"linux-vdso|libc\.so\.6|libdl\.so\.2|ld-linux", library) for library in found), ldd


def test_c_program_uses_the_library(tmp_path):
    """The header is C, and an application launches on its own memory with the installed library alone."""
    path = artifact(tmp_path / "four.tw", [program()])
    source = tmp_path / "app.c"
    source.write_text(r"""
      #include "tilewright/tilewright_runtime.h"
      #include <stdio.h>
      int main(int argc, char **argv) {
        (void)argc;
        tw_error error;
        tw_artifact *artifact;
        tw_device *device;
        tw_module *module;
        if (tw_artifact_open(argv[1], &artifact, &error) ||
            tw_device_open(tw_artifact_target(artifact), 0, &device, &error) ||
            tw_module_load(device, artifact, &module, &error))
          return fprintf(stderr, "%s\n", error.message), 1;
        const tw_program *program = tw_artifact_program(artifact, "four");
        int64_t n = 3, bytes;
        float host[3] = {1, 2, 3};
        void *x, *y, *workspace;
        if (tw_program_workspace(program, &n, &bytes, &error) || bytes != 256 ||
            tw_device_allocate(device, 12, &x, &error) || tw_device_allocate(device, 12, &y, &error) ||
            tw_device_allocate(device, bytes, &workspace, &error) || tw_device_copy_in(device, x, host, 12, &error))
          return 2;
        void *arrays[] = {x, y}, *stream = (void *)0x1234;
        if (tw_launch(module, program, &n, arrays, workspace, stream, &error) || tw_device_wait(device, stream, &error) ||
            tw_device_copy_out(device, host, y, 12, &error))
          return 3;
        n = -1;
        if (tw_launch(module, program, &n, arrays, workspace, stream, &error) != TW_BAD_SIZES)
          return 4;
        printf("%g %g %g: %s\n", host[0], host[1], host[2], error.message);
        tw_module_unload(module);
        tw_device_close(device);
        tw_artifact_close(artifact);
        return 0;
      }""")
    subprocess.run(["clang-22", "-std=c11", "-Wall", "-Wextra", "-Werror", *SANITIZERS, f"-I{SOURCE}/core/include", str(source),
                    "-o", str(tmp_path / "app"), f"-L{BUILD}/lib", "-ltilewright-runtime"], check=True)
    log = tmp_path / "log"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/lib:{DRIVERS}", "FAKE_LOG": str(log),
                   "FAKE_KERNELS": str(DRIVERS / "kernels.so")}
    out = subprocess.run([str(tmp_path / "app"), str(path)], capture_output=True, text=True, env=environment, check=True)
    assert out.stdout == "4 8 12: size 0 of program 'four' is -1; sizes are 0 or more\n"
    assert sum("stream 0x1234" in line for line in log.read_text().splitlines()) == 2
