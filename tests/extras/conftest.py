"""Slices are tested with the fixtures of commands and of crawls."""

from tests.commands.conftest import (  # noqa: F401
    folder,
    interruptible,
    ran_json,
    run,
    run_process,
)
from tests.crawl.conftest import every_index, module_path, site  # noqa: F401
from tests.index.conftest import backend, redis_cluster  # noqa: F401
