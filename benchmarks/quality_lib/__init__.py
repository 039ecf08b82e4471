"""Parts of the quality benchmark; see ``quality.py``."""
