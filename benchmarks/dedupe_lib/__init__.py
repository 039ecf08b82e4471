"""What `benchmarks/dedupe.py` is made of."""
