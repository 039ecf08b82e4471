"""Ways to crawl: without the plugin, and with it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

OFF = "off"
_EXTRACTORS = {"readability": (), "segments": (), "resiliparse": ("resiliparse",)}
_WORKERS: tuple[int | Literal["by need"], ...] = (0, 1, 2, "by need")


class Contestant(NamedTuple):
    """One way to crawl.

    :param workers: processes that the plugin is to start: a number, "by need", or None without the
        plugin.
    :param packages: what it needs beyond ours, as pip and as Python name them.
    """

    name: str
    settings: dict[str, Any]
    workers: int | Literal["by need"] | None = None
    packages: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Return why it cannot run here; None if it can."""
        absent = [package for package in self.packages if find_spec(package) is None]
        return f"not installed: pip install {' '.join(absent)}" if absent else None


def _plugin(
    workers: int | Literal["by need"], extractor: str, packages: tuple[str, ...]
) -> Contestant:
    settings = {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_ENABLED": True,
        "SIMHASH_ACTION": "tag",
        "SIMHASH_WORKERS": None if workers == "by need" else workers,
        "SIMHASH_EXTRACTOR": extractor,
    }
    return Contestant(f"workers={workers} {extractor}", settings, workers, packages)


REDIS = "workers=1 readability redis"
REDIS_URL = "CRAWL_BENCHMARK_REDIS_URL"
"""The variable of the environment that names the server."""

_ALL = (
    Contestant(OFF, {}),
    *(
        _plugin(workers, extractor, packages)
        for extractor, packages in _EXTRACTORS.items()
        for workers in _WORKERS
    ),
    *(
        Contestant(
            f"workers=by need {extractor} drop",
            _plugin("by need", extractor, ()).settings | {"SIMHASH_ACTION": "drop"},
            "by need",
        )
        for extractor in ("readability", "segments")
    ),
    Contestant(
        REDIS,
        _plugin(1, "readability", ()).settings | {"SIMHASH_INDEX": "redis"},
        1,
        packages=("redis",),
    ),
)
CONTESTANTS = {contestant.name: contestant for contestant in _ALL}
NETWORK_BOUND = (OFF, "workers=0 readability", "workers=by need readability")
