"""Parts of the benchmark of all pairs."""
