"""The parts of ``benchmarks/url_rules.py``."""
