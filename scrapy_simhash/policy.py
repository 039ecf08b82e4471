"""Policy: verdict → action. Pure; tagging, dropping and following are separate choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from scrapy_simhash.verdict import Verdict

PolicyAction = Literal["drop", "tag"]


@dataclass(frozen=True)
class Action:
    """What to do with a page.

    :param call: the callback runs.
    :param items: its items go on to the pipelines.
    :param follow: its requests go on to the scheduler.
    """

    call: bool = True
    items: bool = True
    follow: bool = True


PASS = Action()


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Maps verdicts to actions.

    :param action: ``drop`` keeps content that was seen from the spider, ``tag`` marks it.
    :param follow: whether links on a page whose content was seen are followed. To follow links
        of dropped pages the callback must run; its items are then dropped instead.
    :param drop_weak: whether weak verdicts are acted upon as others are; else their pages are
        tagged, and their links followed.
    :param incremental: content of earlier crawls counts as seen: unchanged pages are treated as
        near-duplicates are.
    """

    action: PolicyAction = "drop"
    follow: bool = False
    drop_weak: bool = False
    incremental: bool = False

    def seen(self, verdict: Verdict) -> bool:
        """Whether the content of a page counts as seen."""
        return verdict.kind == "near-duplicate" or (
            self.incremental and verdict.kind == "unchanged"
        )

    def decide(self, verdict: Verdict) -> Action:
        """The action for a verdict."""
        if not self.seen(verdict) or (verdict.weak and not self.drop_weak):
            return PASS
        if self.action == "tag":
            return Action(call=True, items=True, follow=self.follow)
        return Action(call=self.follow, items=False, follow=self.follow)
