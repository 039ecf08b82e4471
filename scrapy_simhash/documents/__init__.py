"""Read files of several formats as documents or records, and write files atomically."""
