"""The lit suite: tools on the path, substitutions, and what this machine can run.

Features that a test may name in REQUIRES:
  host-x86_64, host-aarch64        the processor's family
  host-avx2, host-avx512, host-avx512vnni, host-avx512bf16, host-amx   what it executes
  qemu-aarch64                     the emulator of foreign programs is installed
  TOOL (tw-run, tw-compile, ...)   the tool is part of this build
  sanitizer                        the project's own code is instrumented
Substitutions: %python, %source (the checkout), %build, %llvm-tools.
"""

import os
import platform
import shutil

import lit.formats

config.name = "tilewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".td"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tilewright_build, "test", "lit")

tools = os.path.join(config.tilewright_build, "bin")
config.environment["PATH"] = os.pathsep.join([tools, config.llvm_tools, os.environ["PATH"]])
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "HOME"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%python", config.tilewright_python))
config.substitutions.append(("%source", config.tilewright_source))
config.substitutions.append(("%build", config.tilewright_build))
config.substitutions.append(("%llvm-tools", config.llvm_tools))


def host_flags():
    """The words of the processor's flags; empty where the system does not tell them."""
    try:
        with open("/proc/cpuinfo") as cpuinfo:
            for line in cpuinfo:
                if line.startswith(("flags", "Features")):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


flags = host_flags()
for feature, needed in {
    "host-avx2": {"avx2", "fma"},
    "host-avx512": {"avx512f", "avx512bw", "avx512vl", "avx512dq"},
    "host-avx512vnni": {"avx512_vnni"},
    "host-avx512bf16": {"avx512_bf16"},
    "host-amx": {"amx_tile", "amx_int8", "amx_bf16"},
}.items():
    if needed <= flags:
        config.available_features.add(feature)
config.available_features.add("host-" + platform.machine())
if shutil.which("qemu-aarch64"):
    config.available_features.add("qemu-aarch64")
if config.tilewright_sanitize:
    config.available_features.add("sanitizer")
if os.path.isdir(tools):
    config.available_features.update(name for name in os.listdir(tools) if name.startswith("tw-"))
