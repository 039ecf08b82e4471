"""The signals of a crawl, for ``crawler.signals.connect(handler, signal=signals.page_judged)``.

All of them are sent in the event loop. An error in a handler is logged, and changes nothing.
`PageState` (`scrapy_simhash.crawl.settlement`) says what is known of a page.
"""

from __future__ import annotations

page_fingerprinted = object()
"""Sent for a downloaded page before the index is asked, with ``request``, ``response`` and ``page``
(a `PageFingerprint`). Handlers may be coroutines. A handler that knows the page itself returns
(`Verdict`, `Action`): then the index is not asked.
"""

page_judged = object()
"""Sent before the callback of a page runs, with ``page`` (a `PageState`) and ``response``. Also
sent for pages that are dropped.
"""

item_judged = object()
"""Sent in the item pipeline for an item that is not dropped, with ``item``, ``page`` (None for an
item of ``start()``), ``ordinal`` (its position among the items of the page, from 0) and ``text``
(None without SIMHASH_ITEM_FIELDS).
"""

page_settled = object()
"""Sent when a page is done, with ``page`` and ``confirmed``: was it handled without an error?
The verdict of the page is None if it was not judged.
"""

crawl_settled = object()
"""Sent once at the end, when all pages are done, and the index is still open. No arguments."""
