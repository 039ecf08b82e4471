"""Hash what a callback is called with besides its page: `Evidence.request`.

What a callback gives depends on the page and on what its request carries. So a copy may only be
dropped if its callback would be called with the same arguments: callback (of a CrawlSpider, its
rule), ``cb_kwargs``, the user's own ``meta``, flags, headers, cookies and cookiejar. Values are
compared when the page arrives, because a callback may have changed an object that several requests
carry.

The user's own meta is what the request has when it leaves the spider middlewares, without the keys
that tell Scrapy or a package how to download. What downloader middlewares add later does not count,
nor does it if a callback copies it from the meta of its response. The user's own headers are those
that a request has then, without the ones by which it looks like a browser's.
"""

from __future__ import annotations

import enum
import functools
import pathlib
import re
import types
import uuid
from collections import deque
from dataclasses import replace
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import Item, Spider
from scrapy.spiders import CrawlSpider

from scrapy_simhash.evidence import UNLIKE_ANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_simhash.detector import PageFingerprint

CARRIED_META_KEY = "simhash_carried"
"""Three lists of a request: the names of the user's own meta, of the ``cb_kwargs``, and of the
user's own headers. The last one is missing in a request that an earlier version has stored.
"""

# Scrapy's "Request.meta special keys", and the other keys that its components use; a test looks for
# further ones in its source. A cookiejar is compared.
_SCRAPY = frozenset(
    (
        "ajax_crawlable allow_offsite autothrottle_dont_adjust_delay bindaddress cache_timestamp "
        "cached_response "
        "depth depth_reset dont_cache dont_merge_cookies dont_obey_robotstxt dont_redirect "
        "dont_retry download_fail_on_dataloss download_latency download_maxsize download_slot "
        "download_timeout download_warnsize ftp_local_filename ftp_passive ftp_password ftp_user "
        "give_up_log_level handle_httpstatus_all handle_httpstatus_list http_auth_domain http_pass "
        "http_user is_secure is_start_request is_unverifiable link_text max_retry_times "
        "priority_adjust proxy "
        "redirect_reasons redirect_times redirect_ttl redirect_urls referrer_policy retry_reason "
        "retry_times verbatim_url dont_simhash"
    ).split()
)
# Private keys, ours, and those of packages that render pages or choose proxies.
_PREFIXES = (
    "_",
    "simhash",
    "crawlera",
    "deltafetch",
    "crawl_once",
    "frontier",
    "impersonate",
    "playwright",
    "rotating_prox",
    "scrapeops",
    "selenium",
    "splash",
    "wayback",
    "zyte_api",
)
_BROWSER_HEADERS = re.compile(
    "accept.*|cache-control|connection|cookie|dnt|host|if-.*|keep-alive|origin|pragma|"
    "proxy-authorization|referer|sec-.*|te|upgrade-insecure-requests|user-agent|x-forwarded-for"
)
_MAX_DEPTH = 20
_CHANGEABLE = (list, dict, set, deque, bytearray)


class _NotComparableError(Exception):
    """A value cannot be compared with others."""


class Arguments:
    """Knows what the requests of one crawl carry, and hashes it.

    :param ignored: names of ``cb_kwargs``, meta and headers that don't count
        (SIMHASH_IGNORE_ARGUMENTS).
    :param crawler: has the spider of the crawl, once it is opened.
    """

    def __init__(self, ignored: Iterable[str] = (), crawler: Crawler | None = None) -> None:
        self._ignored = frozenset(ignored)
        self._crawler = crawler
        # Response → what downloader middlewares had added to the meta of its request.
        self._added: WeakKeyDictionary[Response, dict[str, Any]] = WeakKeyDictionary()

    def leaves_spider(self, request: Request, response: Response | None = None) -> None:
        """Record the names that a request carries when it leaves the spider middlewares.

        :param response: the response from whose callback it comes; None for a start request.
        """
        added = {} if response is None else self._added.get(response, {})
        names = [
            name
            for name, value in request.meta.items()
            if self._counts(name) and not (name in added and added[name] is value)
        ]
        keywords = [name for name in request.cb_kwargs if name not in self._ignored]
        headers = [name.decode("latin-1") for name in request.headers]
        headers = [
            name
            for name in headers
            if name not in self._ignored and not _BROWSER_HEADERS.fullmatch(name.lower())
        ]
        request.meta[CARRIED_META_KEY] = [names, keywords, headers]

    def reaches_spider(self, response: Response, request: Request) -> None:
        """Remove the record from a request whose callback is called next, and see what its meta
        has got on the way.
        """
        carried = request.meta.pop(CARRIED_META_KEY, None)
        if carried is not None:
            names = carried[0]
            added = {
                name: value
                for name, value in request.meta.items()
                if name not in names and self._counts(name)
            }
            if added:
                self._added[response] = added

    @property
    def _spider(self) -> Spider | None:
        return None if self._crawler is None else self._crawler.spider

    def hash(self, request: Request) -> bytes:
        """Return 8 bytes: the same for requests that call the same callback with equal arguments.

        :return: `UNLIKE_ANY` if a request carries an object that cannot be compared.
        """
        names, keywords, headers = self.names(request)
        spider = self._spider
        rule = _rule(request, spider)
        if rule is not None:
            names = [name for name in names if name != "rule"]
        values: tuple[Any, ...] = (
            {name: value for name, value in request.meta.items() if name in names},
            {name: value for name, value in request.cb_kwargs.items() if name in keywords},
            request.cookies or None,
        )
        if headers or request.flags:  # other requests have the hash that they always had
            sent = {name.lower(): request.headers.getlist(name) for name in headers}
            values = (*values, sent, request.flags)
        try:
            return _digest((rule or _callback(request, spider), values), spider)[:8]
        except (_NotComparableError, RecursionError):
            return UNLIKE_ANY

    def names(self, request: Request) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """Return the names of the user's own meta, of the ``cb_kwargs`` and of the user's own
        headers of a request.
        """
        carried = request.meta.get(CARRIED_META_KEY)
        if carried is not None:
            return carried[0], carried[1], carried[2] if len(carried) > 2 else ()  # noqa: PLR2004
        # It was scheduled past spider middlewares. Downloader middlewares have added headers.
        keywords = [name for name in request.cb_kwargs if name not in self._ignored]
        return [name for name in request.meta if self._counts(name)], keywords, ()

    def same_callback(self, one: Request, other: Request) -> bool:
        """Return True if two requests call the same callback, or rule of a CrawlSpider."""
        spider = self._spider
        of_one, of_other = (
            _rule(request, spider) or _callback(request, spider) for request in (one, other)
        )
        return bool(of_one == of_other)

    def callback_name(self, request: Request) -> str:
        """Return a text that is the same for requests with the same callback, in this process."""
        return repr(_rule(request, self._spider) or _callback(request, self._spider))

    def shown(self, request: Request) -> str:
        """Return a text with the values that a request carries."""
        _, meta, keywords = self._values(request)
        try:
            return repr((meta, keywords, request.cookies))
        except Exception:  # noqa: BLE001 - an object of the user's
            return ""

    def share_objects(self, one: Request, other: Request) -> bool:
        """Return True if two requests carry the same object, which a callback may change."""
        of_one, of_other = _changeable(self._values(one)), _changeable(self._values(other))
        return bool(of_one.keys() & of_other.keys() - {id(self._spider)})

    def _values(self, request: Request) -> Any:
        names, *_ = self.names(request)
        given = [value for name, value in request.meta.items() if name in names]
        return request.callback, given, [*request.cb_kwargs.values()]

    def _counts(self, name: object) -> bool:
        if name in _SCRAPY or name in self._ignored:
            return False
        return not str(name).startswith(_PREFIXES)


def with_request(page: PageFingerprint, request: Request, request_hash: bytes) -> PageFingerprint:
    """Return a page with what its callback is called with (`Arguments.hash`), and its depth."""
    depth = request.meta.get("depth")
    depth = depth if isinstance(depth, int) else 0
    return replace(page, evidence=page.evidence._replace(request=request_hash, depth=depth))


def _rule(request: Request, spider: Spider | None) -> Any:
    """Return what the rule of a CrawlSpider does with a page; None for any other callback."""
    if not isinstance(spider, CrawlSpider) or request.callback != spider._callback:  # noqa: SLF001
        return None
    try:
        rule = spider._rules[request.meta["rule"]]  # noqa: SLF001 - Scrapy has no other way to it
    except (KeyError, IndexError, TypeError):
        return None
    return ("rule", rule.callback, rule.cb_kwargs, rule.follow)


def _callback(request: Request, spider: Spider | None) -> Any:
    callback: Any = request.callback
    # Scrapy's `_parse` calls `parse`; that of a CrawlSpider does not.
    if callback is not None and getattr(type(spider), "_parse", None) is Spider._parse:  # noqa: SLF001
        callback = None if callback == getattr(spider, "parse", None) else callback
    return callback


def _changeable(value: Any, depth: int = 0) -> dict[int, Any]:
    """Return the objects in a value that can be changed, by their ids, which they keep."""
    try:
        _, parts = _parts(value)
    except _NotComparableError:
        return {id(value): value}
    found = {}
    if isinstance(value, _CHANGEABLE) or ItemAdapter.is_item(value):
        found[id(value)] = value
    if depth <= _MAX_DEPTH:
        for part in parts:
            found |= _changeable(part, depth + 1)
    return found


def _digest(value: Any, spider: Spider | None, depth: int = 0) -> bytes:
    """Return the digest of a value: equal for equal values of the same type.

    :param spider: the spider stands for itself.
    :raises _NotComparableError: the value, or one in it, has no value of its own to compare.
    """
    if depth > _MAX_DEPTH:
        raise _NotComparableError
    kind = type(value)
    hashed = blake2b(f"{kind.__module__}.{kind.__qualname__}".encode(), digest_size=16)
    if value is not spider:
        own, parts = _parts(value)
        hashed.update(own)
        digests = [_digest(part, spider, depth + 1) for part in parts]
        if isinstance(value, (dict, set, frozenset)):
            digests.sort()
        hashed.update(b"".join(digests))
    return hashed.digest()


def _parts(value: Any) -> tuple[bytes, Iterable[Any]]:
    """Return what distinguishes a value from others of its type: bytes, and values in it.

    Items of all kinds are compared by their fields. Other objects, such as selectors, responses,
    item loaders and generators, have no value that could be compared.

    :raises _NotComparableError: the value is such an object.
    """
    for kinds, parts_of in _PARTS:
        if isinstance(value, kinds):
            parts: tuple[bytes, Iterable[Any]] = parts_of(value)
            return parts
    if not ItemAdapter.is_item(value):
        raise _NotComparableError
    fields = dict(ItemAdapter(value))
    if not isinstance(value, Item):
        fields |= getattr(value, "__dict__", {})
    return b"", (fields,)


def _parts_of_function(value: types.FunctionType) -> tuple[bytes, Iterable[Any]]:
    name = _name(value)
    if b"<" not in name:
        return name, ()
    # A lambda, or a function in another one, has the code and the values of the place.
    values = (value.__closure__, value.__defaults__, value.__kwdefaults__)
    return name, (value.__code__, *values)


def _name(value: Any) -> bytes:
    return f"{value.__module__}.{value.__qualname__}".encode()


_PRINTED = (int, float, complex, range, date, time, timedelta, tzinfo, Decimal, Fraction, uuid.UUID)
# Types → function from a value to its parts. The first that fits counts.
_PARTS: tuple[tuple[Any, Callable[[Any], tuple[bytes, Iterable[Any]]]], ...] = (
    ((type(None), type(...)), lambda _: (b"", ())),
    (
        (str, re.Pattern, pathlib.PurePath),
        lambda value: (str(value).encode("utf-8", "surrogatepass"), ()),
    ),
    ((bytes, bytearray), lambda value: (bytes(value), ())),
    (_PRINTED, lambda value: (repr(value).encode(), ())),
    (enum.Enum, lambda value: (value.name.encode(), ())),
    ((list, tuple, deque, set, frozenset), lambda value: (b"", value)),
    (dict, lambda value: (b"", value.items())),
    (functools.partial, lambda value: (b"", (value.func, value.args, value.keywords))),
    (types.MethodType, lambda value: (b"", (value.__func__, value.__self__))),
    (types.FunctionType, _parts_of_function),
    ((type, types.BuiltinFunctionType), lambda value: (_name(value), ())),
    (
        types.CodeType,
        lambda value: (
            value.co_code,
            (value.co_names, value.co_varnames, value.co_freevars, value.co_consts),
        ),
    ),
    (types.CellType, lambda value: (b"", (value.cell_contents,))),
)
