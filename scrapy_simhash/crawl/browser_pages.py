"""Close the browser pages of dropped responses.

With ``playwright_include_page``, scrapy-playwright leaves closing a browser page to the callback.
The callback of a dropped response does not run, and a crawl whose browser pages all stay open
would wait for a free one for ever.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_simhash.crawl.stats import ErrorLog

# Ending of the meta keys of such objects: `playwright_page`, and the like in similar packages.
_KEY_ENDING = "_page"


def close_browser_pages(request: Request, errors: ErrorLog) -> None:
    """Close the browser pages in the meta of a request, without waiting. Errors are counted."""
    for key, page in request.meta.items():
        if key.endswith(_KEY_ENDING) and callable(getattr(page, "close", None)):
            deferred_from_coro(_close(page, request.url, errors))


async def _close(page: Any, url: str, errors: ErrorLog) -> None:
    try:
        answer = page.close()
        if inspect.isawaitable(answer):
            await answer
    except Exception as error:  # noqa: BLE001 - the browser may have crashed
        errors.count_error("browser_page", error, url)
