"""De-duplicating what is there: files of records or pages → the same without near-duplicates.

`scrapy_simhash.dedupe.run` is the way in. All records are judged first, and their verdicts kept
beside the output; the output is then written from the input and the verdicts. So a run that was
killed goes on where it was, and its output is that of one that was not.
"""
