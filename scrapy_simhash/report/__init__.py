"""Write a report of an index and its crawls as one self-contained HTML file."""
