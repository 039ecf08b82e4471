"""Write the responses of a crawl to a WARC file, with warcio."""

from __future__ import annotations

import io
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from scrapy import signals
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class WarcMiddleware:
    """A downloader middleware that writes to the file of the setting WARC_FILE."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: PTH123, SIM115 - closed with the spider
        self._writer = WARCWriter(self._file, gzip=path.endswith(".gz"))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> WarcMiddleware:
        middleware = cls(crawler.settings["WARC_FILE"])
        crawler.signals.connect(middleware.closed, signals.spider_closed)
        return middleware

    def process_response(self, request: Request, response: Response) -> Any:
        headers = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in response.headers.items()
            for value in values
        ]
        status = f"{response.status} {HTTPStatus(response.status).phrase}"
        answer = self._writer.create_warc_record(
            response.url,
            "response",
            payload=io.BytesIO(response.body),
            http_headers=StatusAndHeaders(status, headers, protocol="HTTP/1.1"),
        )
        asked = self._writer.create_warc_record(
            request.url,
            "request",
            http_headers=StatusAndHeaders(f"{request.method} / HTTP/1.1", [], is_http_request=True),
        )
        self._writer.write_request_response_pair(asked, answer)
        return response

    def closed(self) -> None:
        self._file.close()
