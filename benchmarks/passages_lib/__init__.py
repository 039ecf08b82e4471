"""The parts of the benchmark of the passage index."""
