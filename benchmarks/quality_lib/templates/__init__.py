"""Generated sites whose pages are distinct and share one template; see ``families.py``."""
