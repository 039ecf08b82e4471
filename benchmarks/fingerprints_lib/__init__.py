"""Parts of ``benchmarks/fingerprints.py``."""
