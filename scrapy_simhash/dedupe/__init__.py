"""Leave near-duplicates out of files, or tag them, with `scrapy_simhash.dedupe.run.dedupe`.

A record is a JSON object, a row of CSV or Parquet, an HTML file or a WARC response. First, a run
judges all records and stores their verdicts. Then it writes the output from inputs and verdicts. So
a run that was killed goes on after its last stored verdict, with the same output.
"""
