"""Leave near-duplicates out of files, or tag them. `scrapy_simhash.dedupe.run` is the entry point.

All records are judged first, and their verdicts kept beside the output. Then the output is written
from the input and the verdicts. So a run that was killed goes on where it stopped, with the same
output.
"""
