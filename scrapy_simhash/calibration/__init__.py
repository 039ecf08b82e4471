"""Choose the distance k and the least resemblance from the pairs of a sample of pages."""
