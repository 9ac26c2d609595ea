"""Compiles a text for a target: the seam to the package `tilewright`."""

from ..compiler import compile
from ..errors import CompileError as CompilerError
from ..errors import Diagnostic

__all__ = ["CompilerError", "Diagnostic", "compile_program"]


def compile_program(text, options):
    """A tilewright.Program; CompilerError where the compiler refuses the text."""
    if options.board is not None:
        return options.board.compile(text, "<graph>", options.fp)
    return compile(text, target=options.target, fp=options.fp, threads=options.threads, device=options.device,
                   plugins=options.plugins, name="<graph>", check_indices=options.check_indices)
