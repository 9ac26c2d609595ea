"""Artifacts of `tw-launch` written by hand, and the drivers that the build makes for tests."""

import json

from conftest import BUILD

DRIVERS = BUILD / "test" / "driver"
LAUNCH = BUILD / "bin" / "tw-launch"


def artifact(path, programs, images=(("cubin", b"cubin code"),), target="nvidia:H100", architecture="sm_90a", format=2,
             data=None):
    """Writes an artifact as core/Runtime/C/Artifact.h describes it; `data`: what constants refer to, in format 5."""
    format = format if data is None else 5
    header = json.dumps({
        "format": format, "target": target, "architecture": architecture, "programs": programs,
        "images": [{"kind": kind, "bytes": len(code)} for kind, code in images],
        **({} if data is None else {"data": {"bytes": len(data)}})}).encode()
    contents = b"TILEWRIGHT %d %d\n" % (format, len(header)) + header + b"\n" + b"".join(code for _, code in images)
    path.write_bytes(contents if data is None else contents + bytes(-len(contents) % 64) + data)
    return path


def program(**changes):
    """y = 4 x: two doublings over a temporary."""
    n = {"size": 0}
    grid = [["ceildiv", n, 32], 1, 1]
    x = {"type": "f32", "bytes": 4, "shape": [n], "written": False, "result": False}
    return {
        "format": 1, "entry": "four", "target": "nvidia:H100", "sizes": 1,
        "arguments": [x, {**x, "written": True, "result": True}],
        "temporaries": [{"bytes": ["*", n, 4]}],
        "launches": [
            {"kernel": "twice", "threads": 64, "scratchpad": 0, "grid": grid,
             "arguments": [{"array": 0}, {"temporary": 0}, {"value": n}]},
            {"kernel": "twice", "threads": 64, "scratchpad": 65536, "grid": grid,
             "arguments": [{"temporary": 0}, {"array": 1}, {"value": n}]}],
        **changes}
