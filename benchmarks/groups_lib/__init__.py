"""Parts of ``groups.py``."""
