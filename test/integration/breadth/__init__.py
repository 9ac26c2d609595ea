"""Every operation that must compile, each in a program of its own with what it computes in NumPy's float64.

The modules hold one family each; `cases()` of a module gives its programs. `test_breadth.py` runs them all and compares
the operations that they name with those that the dialects define, so that a new one, or one left out, is seen.
"""
