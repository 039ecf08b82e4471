"""Slices beside the core: each has components, settings, stats and a command of its own."""
