"""Which k fits a sample of pages: their pairs by resemblance, and the distances of these."""
