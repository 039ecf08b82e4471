"""Which passages of a text stand elsewhere, and where."""
