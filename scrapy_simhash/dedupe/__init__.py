"""Leave near-duplicates out of files, or tag them. `scrapy_simhash.dedupe.run` is the entry point.

A record is an item of JSON, a row, an HTML file or a WARC response. All records are judged first,
and their verdicts are stored beside the output. Then the output is written from the input and the
verdicts. So a run that was killed goes on where it stopped, with the same output.
"""
