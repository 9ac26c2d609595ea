"""Random tensor programs against NumPy: see __main__.py."""
