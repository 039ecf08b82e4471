"""Operations on a whole index, such as check, merge and export. They lock an index on disk."""
