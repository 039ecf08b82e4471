"""Read files as documents and records, whatever their format, and write files atomically."""
