"""The names of pages: which there are, and whether two pages have the same."""
