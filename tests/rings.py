"""Choose what CI runs: ``python -m tests.rings`` prints the test files for the thorough ring.

First those of the areas that the commit touches, then one in four of the others. The commit's hash
decides which one, so that a few commits run them all.

``python -m tests.rings FOLDER`` prints all files of a folder. CI may have no time for the last
ones, so the commit's hash decides which one is the first.
"""

import subprocess
import sys
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parent.parent
PARTS = 4
# tests/ mirrors the package, and has a folder for each of these.
OTHERS = {"example_project": "example"}


def area(path):
    """Return the folder of tests/ that tests a file of the repository, "" for tests/ itself."""
    top, *rest = PurePath(path).parts
    if top in {"scrapy_simhash", "tests"}:
        depth = 2 if rest[0] == "extras" else 1  # each slice has a folder
        return "/".join(rest[:-1][:depth])
    return OTHERS.get(top)


def choose(files, changed, commit):
    """Return the files to run, those that the change touches first."""
    touched = {area(path) for path in changed}
    first = [file for file in files if area(file) in touched]
    others = [file for file in files if area(file) not in touched]
    return first + others[int(commit, 16) % PARTS :: PARTS]


def rotate(files, commit):
    """Return all files, beginning with one that depends on the commit."""
    first = int(commit, 16) % max(len(files), 1)
    return [*files[first:], *files[:first]]


def test_files():
    """Return all test files; pytest runs of them what is marked as thorough."""
    return [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("tests/**/test_*.py"))]


def git(*arguments):
    """Return what git prints; nothing where it fails, as for a parent that was not cloned."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def changed_files(commit):
    """Return what a branch changes since it left the main branch, else what the commit changes."""
    base = git("merge-base", "HEAD", "origin/HEAD")
    if base in {"", commit}:
        base = "HEAD~1"
    return git("diff", "--name-only", base, "HEAD").splitlines()


if __name__ == "__main__":
    head = git("rev-parse", "HEAD") or "0"
    if sys.argv[1:]:
        print(*rotate([file for file in test_files() if file.startswith(sys.argv[1])], head))
    else:
        print(*choose(test_files(), changed_files(head), head))
