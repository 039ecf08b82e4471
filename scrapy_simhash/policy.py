"""Decide what to do with a page or item, from its verdict and its context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scrapy_simhash.index.base import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from scrapy_simhash.verdict import Verdict

PolicyAction = Literal["drop", "tag"]
Outcome = Literal["dropped", "followed", "tagged", "passed"]
# An item of `start()` has no page to request again; `Retries` holds a limited number of copies.
NoRetry = Literal["no_page", "held_too_many"]
# What the callback of a copy may give that its page did not give.
MayGive = Literal["all", "items", "requests"]
KeptReason = Literal[
    "canonical",
    "flood",
    "method",
    "password",
    "asked_again",
    "refused",
    "rescheduled",
    "request",
    "depth",
    "no_items",
    "values",
    "leads_on",
    NoRetry,
]


@dataclass(frozen=True)
class Action:
    """The treatment of a page. For an item, only `items` counts.

    :param call: run the callback.
    :param items: pass the items of the callback on to the pipelines.
    :param follow: pass the requests of the callback on to the scheduler.
    """

    call: bool = True
    items: bool = True
    follow: bool = True


PASS = Action()
DROP = Action(call=False, items=False, follow=False)


STAND_IN_REASONS: tuple[KeptReason, ...] = ("no_items", "asked_again", "refused", "password")
"""Reasons for which a copy of a page that gave no items may take its place."""


def stands_in(verdict: Verdict, reason: KeptReason | None) -> bool:
    """Return True if a page passes for want of items of the page that it is a copy of."""
    observation = verdict.observation
    return (
        reason in STAND_IN_REASONS
        and observation is not None
        and not observation.earlier.gave_items
    )


def outcome_of(verdict: Verdict, action: Action) -> Outcome | None:
    """Return the outcome under which a page or item is counted; None for any other page or item.

    A near-duplicate, an unchanged page or an error page is ``tagged`` if its items pass, else
    ``followed`` if its callback runs, else ``dropped``. A page that is only similar is ``passed``.
    """
    if verdict.kind not in ("near-duplicate", "unchanged", "error-page"):
        return "passed" if verdict.similar_to is not None else None
    if action.items:
        return "tagged"
    return "followed" if action.call else "dropped"


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """What counts for the action on a page, besides its verdict.

    :param preferred: the representative names this page as its canonical URL, and the settings
        prefer canonical pages.
    :param is_flood: the cluster has as many copies as SIMHASH_CLUSTER_LIMIT allows.
    :param method: HTTP method of the request.
    :param has_password: returns True if the page has a field for a password.
    :param asked_again: the spider requested the page again after it was dropped.
    :param refused: callbacks have refused such content.
    :param rescheduled: a callback requested the page again, or its representative failed.
    :param request_has_changed: the callback would be called with other arguments by now.
    :param arguments: names of what the callback is called with.
    :param depth_limited: the crawl has a DEPTH_LIMIT.
    :param gives_items: the crawl takes items from pages. So a page that gave none may have been a
        wrong one, such as a version that the spider does not use.
    :param is_start: the request is one of ``start()``. Without the links on its page, the crawl
        would end at once.
    :param may_give: what the callback may give that the representative did not give: `all`, because
        a pipeline turned an item of the representative into a request; `items` that say something
        else; `requests`, because the representative leads on, or the spider waits for the page.
    :param no_retry: the reason why the page could not be requested again after a failure of its
        representative; None if it could.
    """

    preferred: bool = False
    is_flood: bool = False
    method: str = "GET"
    has_password: Callable[[], bool] = bool
    asked_again: bool = False
    refused: bool = False
    rescheduled: bool = False
    request_has_changed: bool = False
    arguments: Sequence[str] = ()
    depth_limited: bool = False
    gives_items: bool = False
    is_start: bool = False
    may_give: Collection[MayGive] = ()
    no_retry: NoRetry | None = None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The rules that map a verdict and its context to an action.

    :param action: ``drop`` hides seen content from the spider, ``tag`` only marks it.
    :param follow: follow the links on pages with seen content. With ``drop``, the callback then
        runs, because it finds the links, and only its items are dropped. None follows all links
        with ``tag`` and those on unchanged pages, and on other copies what `Copies` lets pass.
    :param incremental: content of earlier crawls counts as seen: unchanged pages are treated like
        near-duplicates.
    """

    action: PolicyAction = "drop"
    follow: bool | None = None
    incremental: bool = False

    @property
    def follows_chains(self) -> bool:
        """Return True if links of copies may be followed for what their originals gave."""
        return self.follow is not False

    def seen(self, verdict: Verdict) -> bool:
        """Return True if the content of a page was seen. Similar content does not count."""
        return verdict.kind == "near-duplicate" or (
            self.incremental and verdict.kind == "unchanged"
        )

    def decide(
        self, verdict: Verdict, around: Circumstances | None = None
    ) -> tuple[Action, KeptReason | None]:
        """Return the action, and the reason if a page with seen content passes nevertheless.

        With the reason ``no_items`` or ``values``, the callback runs, but links are followed only
        if those of seen content are. If the callback gives no items (with values of their own),
        nothing has passed.
        """
        around = around or Circumstances()
        hides_items = self.action == "drop"
        follow = not hides_items if self.follow is None else self.follow
        if verdict.kind == "unchanged":
            follow = self.follow is not False or around.is_start
        call = follow or "requests" in around.may_give or not hides_items
        if (follow and not hides_items) or not self.seen(verdict):
            return PASS, None
        observation = verdict.observation
        reason = self._reason_to_pass(verdict, around, hides_items=hides_items)
        if reason is not None:
            return PASS, reason
        gave_items = observation is None or observation.earlier.gave_items
        if not gave_items and (around.gives_items or call):
            return Action(follow=follow), "no_items" if hides_items else None
        if hides_items and "items" in around.may_give and gave_items:
            return Action(follow=follow), "values"
        if hides_items and around.is_flood:
            reason = "flood"
        elif observation is not None and observation.provisional:
            reason = around.no_retry
        action = Action(call=call, items=not hides_items, follow=follow)
        return (PASS if reason else action), reason

    def _reason_to_pass(
        self, verdict: Verdict, around: Circumstances, *, hides_items: bool
    ) -> KeptReason | None:
        """Return the first reason for which a page with seen content passes; None without one."""
        near_duplicate = verdict.kind == "near-duplicate"
        earlier = UNKNOWN if verdict.observation is None else verdict.observation.earlier
        reasons: dict[KeptReason, bool] = {
            "canonical": hides_items and around.preferred,
            # The answers to a form resemble each other, so only pages of GET requests are dropped.
            "method": hides_items and around.method != "GET",
            "asked_again": around.asked_again,
            "refused": around.refused,
            # An earlier response had this content, but was not used.
            "rescheduled": around.rescheduled and not near_duplicate,
            "request": not earlier.same_request or around.request_has_changed,
            # Links beyond the limit are not followed from the representative.
            "depth": around.depth_limited and earlier.nearer,
            "leads_on": hides_items and "all" in around.may_give,
        }
        reason = next((reason for reason, applies in reasons.items() if applies), None)
        if reason is None and hides_items and around.has_password():
            return "password"  # a login page stands before other pages
        return reason
