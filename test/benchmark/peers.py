"""The libraries that compiled code is compared with: where they are, how they are told what kernel to use.

Debian's packages and the wheels that get-peers.sh brought into build/benchmark/peers. A library that is not there is
left out. Libraries misjudge the processor in virtual machines: what they use is forced here and printed by the report.
"""

import functools
import glob
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
BUILD = SOURCE / "build" / "benchmark"
PEERS = BUILD / "peers"
DEBIAN = pathlib.Path("/usr/lib/x86_64-linux-gnu")


def thread_environment(threads):
    return {name: str(threads) for name in (
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "TBB_NUM_THREADS")} | {
        "MKL_THREADING_LAYER": "SEQUENTIAL" if threads == 1 else "GNU", "OMP_WAIT_POLICY": "active"} | (
        # A team that was stopped may wake up on one core and stay there for the length of a sample.
        {} if threads == 1 else {"OMP_PROC_BIND": "true", "OMP_PLACES": "cores"})


@functools.cache
def flags():
    with open("/proc/cpuinfo") as cpuinfo:
        return next((set(line.split(":", 1)[1].split()) for line in cpuinfo if line.startswith("flags")), set())


def wide():
    return {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags()


def find(*patterns):
    """The first file that matches one of the patterns below PEERS or in Debian's library folder."""
    for pattern in patterns:
        for root in (PEERS, DEBIAN):
            matches = sorted(glob.glob(str(root / pattern), recursive=True))
            if matches:
                return matches[0]
    return None


def needs_build(output, *inputs):
    return not output.exists() or any(pathlib.Path(i).stat().st_mtime > output.stat().st_mtime for i in inputs)


def compile_shared(name, source, *words, compiler="g++"):
    output = BUILD / f"{name}.so"
    if needs_build(output, source, HERE / "peers" / "Peer.h"):
        command = [compiler, "-O2", "-std=c++20", "-fPIC", "-shared", str(source), "-o", str(output), *words]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: not built: {done.stderr.strip().splitlines()[0]}")
            output.unlink(missing_ok=True)


def build_worker():
    """Compiles the process that times one contender."""
    BUILD.mkdir(parents=True, exist_ok=True)
    worker = BUILD / "tilewright-bench"
    if needs_build(worker, HERE / "bench.cpp", HERE / "peers" / "Peer.h"):
        subprocess.run(["clang++-22", "-O3", "-march=native", "-std=c++20", "-Wall", "-Wextra", "-Werror",
                        str(HERE / "bench.cpp"), "-o", str(worker), "-ldl"], check=True)


def build():
    """Compiles the worker and the adapters of the libraries that are there."""
    build_worker()
    compile_shared("cblas", HERE / "peers" / "cblas.cpp", "-ldl")
    compile_shared("moves", HERE / "peers" / "moves.cpp", "-O3", "-march=native", compiler="clang++-22")
    if (DEBIAN / "libdnnl.so.2").exists():
        compile_shared("onednn2", HERE / "peers" / "onednn.cpp", "-ldnnl")
    headers = find("onednn_devel/**/include/oneapi/dnnl/dnnl.hpp")
    include = f"-I{pathlib.Path(headers).parents[2]}" if headers else None
    for name, pattern in (("onednn3", "paddle/**/libdnnl.so.3"), ("onednn3sycl", "onednn/**/libdnnl.so.3")):
        library = find(pattern)
        if library and include:
            compile_shared(name, HERE / "peers" / "onednn.cpp", include, library, "-Wl,--disable-new-dtags",
                           "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{pathlib.Path(library).parent}")
    if pathlib.Path("/usr/include/libxsmm.h").exists():
        compile_shared("libxsmm", HERE / "peers" / "libxsmm.cpp", "-lxsmm", "-lxsmmnoblas")
    shim = BUILD / "mkl-any-vendor.so"
    if not shim.exists():
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(shim)],
                       input="int mkl_serv_intel_cpu_true(void) { return 1; }\n", text=True, check=True)


def contenders(shape):
    """Those that may be able to do `shape`; each refuses by itself what it cannot."""
    found = []

    def add(name, adapter, library="", form="", bound=False, **environment):
        if (BUILD / f"{adapter}.so").exists() and library is not None:
            found.append({"name": name, "library": True, "bound": bound, "environment": environment,
                          "command": ["peer", str(BUILD / f"{adapter}.so"), library, form]})

    gemm, kind = shape["kind"] == "gemm", shape["type"]
    if shape["kind"] in ("chain", "rowsum", "colsum", "maxpool", "maxpool-last", "mean"):
        for form in ("memcpy", "copy", "stream", "read"):
            add(form, "moves", form=form)
        return found
    if shape["kind"] == "fused":
        return found
    if gemm and kind in ("f32", "f64"):
        # The kernel that is fastest here: 512-bit ones where the processor has them.
        core = "SkylakeX" if wide() else "Haswell"
        add("openblas-0.3.21", "cblas", find("openblas-pthread/libopenblas.so.0"), OPENBLAS_CORETYPE=core)
        add("openblas-pypi", "cblas", find("scipy_openblas32/**/libscipy_openblas.so"), "scipy_",
            OPENBLAS_CORETYPE=core)
        add("blis", "cblas", find("blis-openmp/libblis.so.4"), BLIS_ARCH_TYPE="0" if wide() else "3")
        add("libxsmm", "libxsmm")
    if gemm and kind in ("f32", "f64", "bf16", "u8s8"):
        mkl = find("mkl/**/libmkl_rt.so.*")
        add("mkl", "cblas", mkl)
        add("mkl-any-vendor", "cblas", mkl, LD_PRELOAD=str(BUILD / "mkl-any-vendor.so"))
    if gemm:
        for version in ("onednn2", "onednn3", "onednn3sycl"):
            add(f"{version}-gemm", version, form="gemm")
    if shape["kind"] in ("softmax", "layernorm"):
        # No library: what it takes to read and to write the same bytes once.
        for form in ("memcpy", "copy", "stream"):
            add(form, "moves", form=form, bound=True)
    for version in ("onednn2", "onednn3"):
        add(version, version, form="matmul")
        if gemm:
            add(f"{version}-prepacked", version, form="prepacked")
    return found
