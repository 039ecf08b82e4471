"""Find passages of a text that also appear in other documents."""
