"""A download handler without Twisted, for the child process."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class UrllibDownloadHandler(BaseDownloadHandler):
    """Downloads in threads, because the library of Scrapy's own handler is not installed."""

    async def download_request(self, request: Request) -> Response:
        return await asyncio.to_thread(self._download, request)

    @staticmethod
    def _download(request: Request) -> Response:
        asked = urllib.request.Request(
            request.url, data=request.body or None, method=request.method
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            body = answer.read()
            headers = Headers(dict(answer.headers.items()))
            response_class = responsetypes.from_args(headers=headers, url=request.url, body=body)
            return response_class(
                url=request.url, status=answer.status, headers=headers, body=body, request=request
            )
