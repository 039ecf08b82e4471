"""Names in the workflows, tox and pre-commit exist, and actions are pinned."""

import re
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_actions_are_pinned_by_commit():
    used = [line for path in WORKFLOWS for line in path.read_text().splitlines() if "uses:" in line]
    assert len(used) >= 8
    pinned = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
    assert [line for line in used if not pinned.search(line)] == []


def test_workflows_use_environments_of_tox_and_targets_of_make():
    tox = ConfigParser()
    tox.read(ROOT / "tox.ini")
    factors = set(re.findall(r"[\w-]+", tox["tox"]["env_list"]))
    workflow = text(".github/workflows/tests.yml")
    lists = re.findall(r"^ +env: \[(.+)\]$", workflow, re.MULTILINE)
    named = {env.strip() for line in lists for env in line.split(",")}
    named |= set(re.findall(r"env: ([\w-]+)[,\s}]", workflow))
    assert {"newest", "lowest", "lint", "core"} <= named
    assert named - factors <= {"newest", "lowest"}
    assert {"-newest", "-lowest"} <= factors  # of py310-newest and others
    for name in (*(path.relative_to(ROOT) for path in WORKFLOWS), "tox.ini"):
        for targets in re.findall(r"(?:run|\w+): make ([\w -]+)$", text(name), re.MULTILINE):
            assert set(targets.split()) <= TARGETS, name
    for path in re.findall(r"tests/[\w/.]+", text("tox.ini")):
        assert (ROOT / path).exists(), path
