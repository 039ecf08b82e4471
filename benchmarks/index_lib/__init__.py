"""Parts of the benchmark of indexes."""
