"""Parts of ``benchmarks/fuzz.py``."""
