"""Find passages of a text that also appear in other documents."""

DEFAULT_MIN_SIMILARITY = 0.75
DEFAULT_COMMON_DOCUMENTS = 100
