"""Operations on a whole index, such as check, merge and export. On disk, they lock the index."""
