"""Hash what a callback is called with besides its page: `Evidence.request`.

What a callback gives depends on the page and on what its request carries. So a copy may only be
dropped if its callback would be called with the same arguments: callback (of a CrawlSpider, its
rule), ``cb_kwargs``, the user's own ``meta``, flags, headers, cookies, cookiejar, and what a
subclass of `Request` adds. Values are compared when the page arrives, because a callback may have
changed an object that several requests carry.

The user's own meta is what the request has when it leaves the spider middlewares, without the keys
that tell Scrapy or a package how to download. What downloader middlewares add later does not count,
nor does it if a callback copies it from the meta of its response. The user's own headers are those
that a request has then, without the ones by which it looks like a browser's.
"""

from __future__ import annotations

import copyreg
import enum
import io
import pathlib
import pickle
import re
import sys
import types
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import Item, Request, Spider
from scrapy.spiders import CrawlSpider
from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.evidence import UNLIKE_ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_simhash.detector import PageFingerprint

CARRIED_META_KEY = "simhash_carried"
"""Three lists of a request: the names of the user's own meta, of the ``cb_kwargs``, and of the
user's own headers.
"""

# Scrapy's "Request.meta special keys", and the other keys that its components use; a test looks for
# further ones in its source. A cookiejar is compared.
_SCRAPY = frozenset(
    (
        "ajax_crawlable allow_offsite autothrottle_dont_adjust_delay bindaddress cache_timestamp "
        "cached_response _auth_proxy _callback _depth _dont_cache _scheme_proxy "
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
# Our keys, and those of packages that render pages or choose proxies.
_PREFIXES = (
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
    "_pre_mw_headers",  # of scrapy-zyte-api
)
_BROWSER_HEADERS = re.compile(
    "accept(?!-language).*|cache-control|connection|dnt|host|if-.*|keep-alive|origin|pragma|"
    "proxy-authorization|referer|sec-.*|te|upgrade-insecure-requests|user-agent|x-forwarded-for"
)
_REMEMBERED_NAMES = 1000
# Of a value that is compared. One in which parts share parts would take endlessly.
_MAX_PARTS = 100_000
# Values that an item may have in place of a text of the page.
_WRITTEN = Decimal, Fraction, complex, pathlib.PurePath, uuid.UUID


class Arguments:
    """Knows what the requests of one crawl carry, and hashes it.

    :param ignored: names of ``cb_kwargs``, meta and headers that don't count
        (SIMHASH_IGNORE_ARGUMENTS).
    :param crawler: has the spider of the crawl, once it is opened.
    :param has_jar: Scrapy replaces the header ``Cookie`` (COOKIES_ENABLED), so it does not count.
    """

    def __init__(
        self,
        ignored: Iterable[str] = (),
        crawler: Crawler | None = None,
        *,
        has_jar: bool = True,
    ) -> None:
        self._has_jar = has_jar
        self._ignored = frozenset(ignored)
        self._crawler = crawler
        # Response → what downloader middlewares had added to the meta and headers of its request.
        self._added: WeakKeyDictionary[Response, tuple[dict[str, Any], dict[str, Any]]]
        self._added = WeakKeyDictionary()
        # Callback → its `callback_name`.
        self._names: LocalCache[Any, str] = LocalCache(_REMEMBERED_NAMES)
        # Callback → the hash of requests that carry nothing.
        self._plain: LocalCache[Any, bytes] = LocalCache(_REMEMBERED_NAMES)

    def leaves_spider(self, request: Request, response: Response | None = None) -> None:
        """Record the names that a request carries when it leaves the spider middlewares.

        :param response: the response from whose callback it comes; None for a start request.
        """
        added, added_headers = ({}, {}) if response is None else self._added.get(response, ({}, {}))
        names = [
            name
            for name, value in request.meta.items()
            if self._counts(name) and not (name in added and added[name] is value)
        ]
        keywords = [name for name in request.cb_kwargs if name not in self._ignored]
        headers = [
            name
            for name, values in self._headers(request).items()
            if name not in self._ignored and added_headers.get(name) != values
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
            headers = self._headers(request)
            added_headers = {name: headers[name] for name in {*headers}.difference(carried[2])}
            if added or added_headers:
                self._added[response] = added, added_headers

    def _headers(self, request: Request) -> dict[str, list[bytes]]:
        """Return the headers that may be the user's own."""
        names = {name.decode("latin-1") for name in request.headers}
        if self._has_jar and not request.meta.get("dont_merge_cookies"):
            names.discard("Cookie")
        return {
            name: request.headers.getlist(name)
            for name in sorted(names)
            if not _BROWSER_HEADERS.fullmatch(name.lower())
        }

    @property
    def _spider(self) -> Spider | None:
        return None if self._crawler is None else self._crawler.spider

    def hash(self, request: Request) -> bytes:
        """Return 8 bytes: the same for requests that call the same callback with equal arguments.

        :return: `UNLIKE_ANY` if a request carries an object that cannot be compared.
        """
        names, keywords, headers = self.names(request)
        spider = self._spider
        rule, own = _rule(request, spider), _own_attributes(request)
        callback = rule or _callback(request, spider)
        is_plain = not (names or keywords or headers or request.cookies or request.flags or own)
        is_plain &= callback is None or getattr(callback, "__self__", None) is spider is not None
        if is_plain and callback in self._plain:
            return self._plain[callback]
        values = (
            callback,
            {
                name: value
                for name, value in request.meta.items()
                if name in names and not (rule and name == "rule")
            },
            {name: value for name, value in request.cb_kwargs.items() if name in keywords},
            request.cookies or None,
            {name.lower(): request.headers.getlist(name) for name in headers},
            request.flags,
            {name: value for name, value in own.items() if name not in self._ignored},
        )
        digest = _Comparison(values, spider).digest
        if is_plain:
            self._plain[callback] = digest
        return digest

    def names(self, request: Request) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """Return the names of the user's own meta, of the ``cb_kwargs`` and of the user's own
        headers of a request.
        """
        if (carried := request.meta.get(CARRIED_META_KEY)) is not None:
            return tuple(carried)
        # It was scheduled past spider middlewares. Downloader middlewares have added headers.
        keywords = [name for name in request.cb_kwargs if name not in self._ignored]
        return [name for name in request.meta if self._counts(name)], keywords, ()

    def callback_name(self, request: Request) -> str:
        """Return a text that is the same for requests with the same callback (or rule of a
        CrawlSpider), in any process if it can be compared.
        """
        callback = _rule(request, self._spider) or _callback(request, self._spider)
        try:
            name = self._names.get(callback)
            if name is None:
                name = self._names[callback] = self._name_of(callback)
        except TypeError:  # it has no hash, such as the keywords of a rule
            return self._name_of(callback)
        return name

    def _name_of(self, callback: Any) -> str:
        digest = _Comparison(callback, self._spider).digest
        return repr(callback) if digest == UNLIKE_ANY else digest.hex()

    def shown(self, request: Request) -> str:
        """Return a text with the values that a request carries."""
        _, *values = self._values(request)
        try:
            return repr((values, request.cookies))
        except Exception:  # noqa: BLE001 - an object of the user's
            return ""

    def repeat(self, said: str, request: Request) -> bool:
        """Return True if a request carries several words that a page says, such as its name."""
        return any(
            " " in text and text.strip() in said
            for text in map(str, values_in(self._values(request)[1:]))
        )

    def share_objects(self, one: Request, other: Request) -> bool:
        """Return True if two requests carry the same object, which a callback may change."""
        of_one, of_other = (
            _Comparison(self._values(request), self._spider).changeable for request in (one, other)
        )
        return bool(of_one.keys() & of_other.keys())

    def _values(self, request: Request) -> Any:
        names, *_ = self.names(request)
        given = [value for name, value in request.meta.items() if name in names]
        return request.callback, given, [*request.cb_kwargs.values()], _own_attributes(request)

    def _counts(self, name: object) -> bool:
        if name in _SCRAPY or name in self._ignored:
            return False
        return not str(name).startswith(_PREFIXES)


def with_request(page: PageFingerprint, request: Request, request_hash: bytes) -> PageFingerprint:
    """Return a page with what its callback is called with (`Arguments.hash`), and its depth."""
    depth = request.meta.get("depth")
    depth = depth if isinstance(depth, int) else 0
    return replace(page, evidence=page.evidence._replace(request=request_hash, depth=depth))


def values_in(value: Any) -> Iterator[str | float]:
    """Yield the texts and numbers in a value, and in the containers in it, and dates as pages write
    them.
    """
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (int, float)):
        yield value
    elif isinstance(value, (set, frozenset)):
        yield from sorted((one for part in value for one in values_in(part)), key=str)
    elif isinstance(value, (dict, list, tuple, deque)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from values_in(part)
    elif (text := _written(value)) is not None:
        yield text
    elif ItemAdapter.is_item(value):
        yield from values_in(dict(ItemAdapter(value)))


def _written(value: Any) -> str | None:
    """Return a value that is neither a number nor a container as a text; None if it has none."""
    if isinstance(value, (str, *_WRITTEN)):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.decode(errors="backslashreplace")
    if isinstance(value, (datetime, time)):
        has_seconds = value.second or value.microsecond  # a time now has
        return value.replace(tzinfo=None).isoformat(timespec="auto" if has_seconds else "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta) and not value.microseconds:  # which one that is measured has
        return str(value)
    return None


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


def _own_attributes(request: Request) -> dict[str, Any]:
    """Return the attributes that a subclass of `Request` adds, by name."""
    added = () if type(request) is Request else {*type(request).attributes} - {*Request.attributes}
    return {name: getattr(request, name) for name in added} | getattr(request, "__dict__", {})


class _Comparison(pickle.Pickler):
    """Pickles a value so that equal values of one type have equal bytes, in any process.

    Items of all kinds are compared by their fields. Objects whose class does not say how they are
    pickled, such as selectors, responses and item loaders, cannot be compared, nor can iterators,
    nor values with more than 100,000 parts.

    :param spider: stands for itself.
    """

    def __init__(self, value: Any, spider: Spider | None) -> None:
        buffer = io.BytesIO()
        super().__init__(buffer, protocol=4)
        self.fast = True  # without references, which would tell one object from two equal ones
        self._spider = spider
        self._is_comparable = True
        self._parts_left = _MAX_PARTS
        self.changeable: dict[int, Any] = {}
        """The objects in the value that can be changed, by their ids, which they keep."""
        self.digest = UNLIKE_ANY
        """8 bytes: equal for equal values; `UNLIKE_ANY` if the value cannot be compared."""
        try:
            self.dump(value)
        except Exception:  # noqa: BLE001 - too large, in itself, or a user's object that fails
            return
        if self._is_comparable:
            self.digest = blake2b(buffer.getbuffer(), digest_size=8).digest()

    def persistent_id(self, value: Any) -> Any:
        """Return what is pickled in place of a value; None for one that pickle knows."""
        self._parts_left -= 1
        if self._parts_left < 0:
            raise OverflowError
        kind: Any = type(value)
        if kind in _PLAIN:
            return None
        if value is self._spider:
            return "spider"
        parts = _parts(value)
        if parts is None and kind.__hash__ in (None, object.__hash__):
            self.changeable[id(value)] = value
        if isinstance(value, (set, frozenset)):
            key = lambda part: _Comparison(part, self._spider).digest  # noqa: E731
            parts = *_name(kind), *sorted(value, key=key)
        elif isinstance(value, dict) or ItemAdapter.is_item(value):
            # Not by their values, which may contain many others.
            parts = *_name(kind), *sorted(_fields(value).items(), key=lambda field: repr(field[0]))
        if parts is None and not _is_pickled(value, kind):
            self._is_comparable, parts = False, _name(kind)
        return parts


def _fields(value: Any) -> dict[Any, Any]:
    """Return the content of a dict, or of an item of any kind."""
    own = {} if isinstance(value, (dict, Item)) else getattr(value, "__dict__", {})
    return {**(value if isinstance(value, dict) else ItemAdapter(value)), **own}


def _is_pickled(value: Any, kind: Any) -> bool:
    if isinstance(value, Iterator):  # a callback uses it up
        return False
    if isinstance(value, (complex, tuple, list, uuid.UUID)):
        return True
    own = kind.__reduce_ex__, kind.__reduce__
    return kind in copyreg.dispatch_table or own != (object.__reduce_ex__, object.__reduce__)


def _parts(value: Any) -> tuple[Any, ...] | None:
    """Return what distinguishes a class, a function, a part of one, or a value of a subclass of
    text or number, from others; None for other values.
    """
    if isinstance(value, type):
        return "itself", *_name(value)  # not an empty instance
    if isinstance(value, types.CodeType):
        return value.co_code, value.co_names, value.co_varnames, value.co_consts
    if isinstance(value, types.CellType):
        return (value.cell_contents,)
    if isinstance(value, (types.MethodType, types.BuiltinMethodType)):  # such as `append` of a list
        # Pickle takes the name, which may be that of a decorator's function.
        function, owner = getattr(value, "__func__", None), value.__self__
        # A built-in function belongs to its module.
        return function or _name(value), None if isinstance(owner, types.ModuleType) else owner
    for base in (str, bytes, int, float):
        if isinstance(value, base):  # of a subclass: it may know the page that it is from
            plain: Any = base
            return *_name(type(value)), *plain.__getnewargs__(value)
    return _parts_of_function(value) if isinstance(value, types.FunctionType) else None


def _parts_of_function(value: types.FunctionType) -> tuple[Any, ...]:
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is value:
        return _name(value)
    # A lambda, a function in another one, or one that has the name of another by functools.wraps
    # has the code and the values of the place.
    values = value.__closure__, value.__defaults__, value.__kwdefaults__
    return *_name(value), value.__code__, *values


def _name(value: Any) -> tuple[Any, ...]:
    return value.__module__, value.__qualname__


_PLAIN = frozenset((type(None), type(...), bool, int, float, complex, str, bytes, tuple))
