"""Choose the distance k and the least resemblance of copies from the pairs of a sample of pages."""
