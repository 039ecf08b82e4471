"""Keep the old import path of `scrapy_simhash.documents.reader` for one release."""

from scrapy_simhash.documents.reader import Document, DocumentReader, HtmlDocument, Skipped

__all__ = ["Document", "DocumentReader", "HtmlDocument", "Skipped"]
