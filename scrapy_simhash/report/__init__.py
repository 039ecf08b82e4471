"""What an index and its crawls found, as one HTML file that opens anywhere."""
