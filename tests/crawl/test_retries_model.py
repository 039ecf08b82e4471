"""No content is lost in any order of events: a model of crawls, without a network.

Pages arrive and are handled in an order that hypothesis chooses. Some are ban pages for their
first requests, some fail in their callback, some requests come to nothing. Whatever happens,
content that one page shows well must be kept.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st
from scrapy import Request

from scrapy_simhash import open_index
from scrapy_simhash.crawl.retries import DroppedCopy, Retries
from scrapy_simhash.evidence import NO_EVIDENCE
from scrapy_simhash.scheme import preset

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index import Observation

MAX_DISTANCE = 3
# Far apart; the first is that of a ban page.
CONTENTS = (0, 0x00FF_FFFF, 0xFFFF_0000_FF00_0000, 0x0F0F_0F0F_0F0F_0F0F)


@dataclass(frozen=True)
class Page:
    """The answers of the site for one URL.

    :param content: place in `CONTENTS`.
    :param variant: a bit in which the page differs from others of its content; none if negative.
    :param bans: for how many requests it is a ban page; the callback then asks for it again.
    :param eager: it does so first of all, and the page may be there before it ends.
    :param fails: its callback raises when it sees the content first.
    :param gone: number of the request that comes to nothing, from 1; 0 for none.
    :param silently: nobody is told.
    :param twice: it is asked for twice.
    """

    content: int
    variant: int
    bans: int
    eager: bool
    fails: bool
    gone: int
    silently: bool
    twice: bool

    @property
    def kept(self):
        """Return True if a crawl without the plugin would certainly keep the content."""
        return not self.fails and not self.gone


@dataclass
class Crawl:
    """A model of the middlewares.

    :param incremental: unchanged pages are dropped, too.
    :param late: the index is on the network: what it is told waits in `telling`, and pages that it
        has judged wait in `arriving`.
    """

    pages: dict[str, Page]
    queue: list[Request]
    incremental: bool
    late: bool = False
    telling: list[Callable[[], None]] = field(default_factory=list)
    arriving: list[Callable[[], None]] = field(default_factory=list)
    open: list[tuple[str, Observation, bool]] = field(default_factory=list)
    requested: Counter[str] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)
    kept: list[int] = field(default_factory=list)

    def __post_init__(self):
        self.index = open_index(
            "memory:",
            preset("classic").scheme,
            max_distance=MAX_DISTANCE,
            incremental=self.incremental,
        )
        self.retries = Retries(self.look, self.queue.append, self.index.rules, max_held=5)

    def look(self, copies, then):
        def look():
            found = [self.index.observe(copy.key, copy.fingerprint) for copy in copies]
            for seen in found:
                self.index.discard(seen)
            then(found)

        self.tell(look)

    def tell(self, order):
        if self.late:
            self.telling.append(order)
        else:
            order()

    def fetch(self, request):
        """Answer a request, as in the middlewares."""
        key = request.url
        page = self.pages[key]
        self.requested[key] += 1
        if self.requested[key] == page.gone:
            if not page.silently:
                self.retries.arrived(request, None)
            return
        banned = self.requested[key] <= page.bans
        bits = 0 if page.variant < 0 else 1 << page.variant
        fingerprint = CONTENTS[0 if banned else page.content] ^ bits
        seen = self.index.observe(key, fingerprint)
        self.arriving.append(lambda: self.arrive(request, seen, banned=banned))
        if not self.late:
            self.arriving.pop()()

    def arrive(self, request, seen, *, banned):
        """Decide what happens to a page that the index has judged."""
        key, fingerprint = seen.key, seen.fingerprint
        asked_again = self.retries.arrived(request, seen) or request.meta.get("by itself")
        if seen.kind == "near-duplicate" or (
            self.incremental and seen.kind == "unchanged" and not asked_again
        ):
            copy = DroppedCopy(key, fingerprint, evidence=NO_EVIDENCE, request=request)
            if not seen.provisional:
                return
            if not self.retries.full:
                self.retries.hold(seen.representative or key, copy)
                self.tell(lambda: self.index.discard(seen))
                return
        self.open.append((key, seen, banned))
        if banned and self.pages[key].eager:
            self.ask_again(key)

    def ask_again(self, key):
        """Repeat the request of a page, as its callback does."""
        self.retries.requested_by_callback(key)
        self.queue.append(Request(key, dont_filter=True, meta={"by itself": True}))

    def handle(self, place):
        """End the callback of a page."""
        key, seen, banned = self.open.pop(place)
        page = self.pages[key]
        if banned and not page.eager:
            self.ask_again(key)
        fails = banned or (page.fails and key not in self.failed)
        if fails:
            self.failed.add(key)
        else:
            self.kept.append(page.content)

        def settle():
            if fails:
                self.index.discard(seen)
                self.retries.discarded(key)
            else:
                self.index.confirm(seen)
                self.retries.confirmed(key, seen)

        self.tell(settle)

    @property
    def busy(self):
        """Return True if Scrapy would not call the spider idle."""
        return bool(self.queue or self.arriving or self.open)

    def step(self, what, place):
        """Let one thing happen."""
        waiting = [some for some in (self.queue, self.arriving, self.telling, self.open) if some]
        if not waiting:
            return
        some = waiting[what % len(waiting)]
        if some is self.open:
            self.handle(place % len(some))
        elif some is self.queue:
            self.fetch(some.pop(place % len(some)))
        else:
            some.pop(place % len(some))()


pages = st.builds(
    Page,
    content=st.integers(1, len(CONTENTS) - 1),
    variant=st.integers(-1, 1),
    bans=st.sampled_from([0, 0, 1, 2]),
    eager=st.booleans(),
    fails=st.booleans(),
    gone=st.sampled_from([0, 0, 0, 1, 2]),
    silently=st.booleans(),
    twice=st.booleans(),
)


BANNED = Page(1, -1, bans=1, eager=True, fails=False, gone=0, silently=False, twice=False)


@example(
    # The page arrives and is handled while its own ban page is still in its callback.
    [BANNED, replace(BANNED, content=2)],
    [(0, 0), (0, 0), (0, 0), (1, 1), (1, 0)],
    False,
    False,
)
@given(
    st.lists(pages, min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1 << 16)), max_size=80),
    st.booleans(),
    st.booleans(),
)
def test_what_one_page_shows_well_is_kept(pages, choices, incremental, late):
    named = {f"http://x.test/{number}": page for number, page in enumerate(pages)}
    queue = [Request(url) for url, page in named.items() for _ in range(1 + page.twice)]
    crawl = Crawl(named, queue, incremental, late)
    order = iter(choices)
    while crawl.busy or crawl.retries.idle() or crawl.telling:
        what, place = next(order, (0, 0))
        crawl.step(what, place)
        assert sum(crawl.requested.values()) < 1000, "pages are asked for without end"
    expected = {page.content for page in pages if page.kept}
    assert expected <= set(crawl.kept)
    # No held copy is left to take up room.
    assert crawl.retries.waiting == 0
