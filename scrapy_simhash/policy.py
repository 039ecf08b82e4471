"""Decide what to do with a page or item, from its verdict and its context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from scrapy_simhash.verdict import Verdict

PolicyAction = Literal["drop", "tag"]
Outcome = Literal["dropped", "followed", "tagged", "passed"]
# An item of `start()` has no page to request again; `Retries` holds a limited number of copies.
NoRetry = Literal["no_page", "held_too_many"]
KeptReason = Literal["canonical", "flood", "method", "rescheduled", NoRetry]


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
class Policy:
    """The rules that map a verdict and its context to an action.

    :param action: ``drop`` hides seen content from the spider, ``tag`` only marks it.
    :param follow: follow the links on pages with seen content. With ``drop``, the callback then
        runs, because it finds the links, and only its items are dropped.
    :param incremental: content of earlier crawls counts as seen: unchanged pages are treated like
        near-duplicates.
    """

    action: PolicyAction = "drop"
    follow: bool = False
    incremental: bool = False

    def seen(self, verdict: Verdict) -> bool:
        """Return True if the content of a page was seen. Similar content does not count."""
        return verdict.kind == "near-duplicate" or (
            self.incremental and verdict.kind == "unchanged"
        )

    def decide(
        self,
        verdict: Verdict,
        *,
        preferred: bool = False,
        flood: bool = False,
        method: str = "GET",
        requested_again: bool = False,
        no_retry: NoRetry | None = None,
    ) -> tuple[Action, KeptReason | None]:
        """Return the action, and the reason if a page with seen content passes nevertheless.

        :param preferred: the representative names this page as its canonical URL, and the settings
            prefer canonical pages.
        :param flood: the cluster has more pages than SIMHASH_CLUSTER_LIMIT.
        :param method: HTTP method of the request.
        :param requested_again: a callback requested the page again, or its representative failed.
        :param no_retry: the reason why the page could not be requested again after a failure of its
            representative; None if it could.
        """
        if not self.seen(verdict):
            return PASS, None
        if self.action == "tag":
            action = Action(follow=self.follow)
        else:
            action = Action(call=self.follow, items=False, follow=self.follow)
        if action == PASS:
            return PASS, None
        # The answers to a form resemble each other, so only pages of GET requests are dropped.
        if not action.items and (preferred or flood or method != "GET"):
            return PASS, "canonical" if preferred else "flood" if flood else "method"
        # An earlier response had this content, but was not used: see `requested_again`.
        if requested_again and verdict.kind != "near-duplicate":
            return PASS, "rescheduled"
        if no_retry and verdict.observation and verdict.observation.provisional:
            return PASS, no_retry
        return action, None
