"""The rules for imports, checked in the source and in separate processes."""

import ast
import pkgutil
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import scrapy_simhash
from scrapy_simhash.slices import slices

PACKAGE = Path(scrapy_simhash.__file__).parent
NAME = scrapy_simhash.__name__
# The adapters to Scrapy, and the slices beside the core; the rest is the core.
ADAPTERS = ("crawl", "commands", "extras")
# Back ends that need a driver.
DRIVEN = {
    *(f"{NAME}.index.leveldb", f"{NAME}.index.rocksdb", f"{NAME}.index.redis.server"),
    *(f"{NAME}.extras.spark.{name}" for name in ("fingerprinting", "frames", "judging")),
}
FOREIGN = ["scrapy", "twisted", "plyvel", "rocksdict", "redis", "pyspark"]
HEAVY = ["jieba", "numpy", "lxml", "plyvel", "rocksdict", "readability", "scrapy", "twisted"]


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
# What needs numpy or jieba all the time, and is imported when an index is opened, pairs are asked
# for, or a text is tagged.
NUMERIC = {
    *(f"{NAME}.index.{name}" for name in ("entry_tables", "store")),
    *(f"{NAME}.index.redis.{name}" for name in ("store", "replica")),
    *(name for name in MODULES if name.startswith(f"{NAME}.index.tables.")),
    f"{NAME}.calibration",
    f"{NAME}.tokens.tagging",
    *(name for name in MODULES if name.startswith(f"{NAME}.clustering.")),
}
# It runs the commands.
MAIN = f"{NAME}.__main__"
CORE = {
    name: path
    for name, path in MODULES.items()
    if not (set(name.split(".")) & set(ADAPTERS)) and name != MAIN
}
# What the commands import when they need Scrapy: to be one of its own, and for a project and a page.
WITH_SCRAPY = {f"{NAME}.commands.{name}" for name in ("scrapy_command", "_settings", "_fetching")}
COMMANDS = {
    MAIN,
    *(name for name in MODULES if ".commands" in name or name.endswith(".command")),
} - WITH_SCRAPY


def is_type_checking(node):
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports(name, *, type_checking=False):
    """(module, line) of the imports in a module's source; `from a import b` is a.b if a module."""
    path = MODULES[name]

    def walk(node):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name if path.name == "__init__.py" else name.rpartition(".")[0]
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *base.split(".")]).rstrip(".")
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if full in MODULES else base, node.lineno
        elif is_type_checking(node) and not type_checking:
            for child in node.orelse:
                yield from walk(child)
        else:
            for child in ast.iter_child_nodes(node):
                yield from walk(child)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")))


def belongs(module, *packages):
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def run(code, *arguments):
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "utf8", "-c", code, *arguments],
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr


def test_the_modules_were_found():
    assert {NAME, f"{NAME}.scheme", f"{NAME}.index", f"{NAME}.crawl.addon"} <= set(MODULES)
    assert f"{NAME}.crawl.addon" not in CORE
    assert {f"{NAME}.errors", f"{NAME}.features"} <= {at for at, _ in imports(f"{NAME}.scheme")}


def test_the_core_never_imports_scrapy_or_an_adapter():
    adapters = [f"{NAME}.{adapter}" for adapter in ADAPTERS]
    for name in CORE:
        # The package offers the add-on lazily, and names it for type checkers.
        found = imports(name, type_checking=name != NAME)
        assert [at for at in found if belongs(at[0], "scrapy", "twisted", *adapters)] == [], name


def test_commands_import_scrapy_where_they_need_it():
    assert f"{NAME}.commands.main" in COMMANDS
    assert set(MODULES) >= WITH_SCRAPY
    adapters = [f"{NAME}.crawl"]
    for name in WITH_SCRAPY:
        assert any(belongs(at, "scrapy") for at, _ in imports(name)), name
    for name in COMMANDS:
        found = imports(name)
        assert [at for at in found if belongs(at[0], "scrapy", "twisted", *adapters)] == [], name


def test_the_core_names_no_slice():
    """The registry finds them: in `scrapy_simhash.slices`."""
    names = [slice_.name for slice_ in pkgutil.iter_modules([str(PACKAGE / "extras")])]
    settings = [one.name for slice_ in slices() for one in slice_.settings]
    words = [*names, *(name.replace("_", "-") for name in names), *settings]
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    files = [path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".j2", ".js"}]
    core = [path for path in files if "extras" not in path.relative_to(PACKAGE).parts]
    assert len(names) == 4
    assert len(core) > 150
    for path in core:
        assert not pattern.search(path.read_text(encoding="utf-8")), path


def test_the_package_itself_imports_no_module_of_its_own():
    assert [at for at in imports(NAME) if belongs(at[0], NAME)] == []
    assert set(scrapy_simhash._MODULES) == set(scrapy_simhash.__all__)
    assert set(scrapy_simhash._MODULES.values()) <= set(MODULES)


def test_there_are_no_import_cycles():
    graph = {name: {m for m, _ in imports(name) if m in MODULES and m != name} for name in MODULES}
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)


BLOCK = """
import sys
blocked = sys.argv[1].split()
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocker())
try:
    import scrapy
except ImportError:
    pass
else:
    raise AssertionError("nothing is blocked")
"""

USE = """
import importlib
for name in sys.argv[2].split():
    importlib.import_module(name)
from scrapy_simhash import Detector, Scheme, open_index
from scrapy_simhash.errors import SimhashError
words = ["the ferry waits at pier %d for bread, post and %d passengers" % (n, n) for n in range(9)]
page = "<html><body><div class='article'><p>%s</p></div></body></html>" % ".</p><p>".join(words)
with open_index("memory:", Scheme.preset("wide")) as index:
    check = Detector(Scheme.preset("wide")).check
    first = check(index, "a", page)
    index.confirm(first.observation)
    assert len(index) == 1
    found = check(index, "b", page.replace("passengers", "travellers", 1))
    assert (first.kind, found.kind, found.representative) == ("new", "near-duplicate", "a"), found
for kind, package in (("leveldb", "plyvel"), ("rocksdb", "rocksdict")):
    try:
        open_index(kind + ":" + sys.argv[3] + "/index")
    except SimhashError as error:
        assert package in str(error), error
    else:
        raise AssertionError(package + " was not needed")
"""


def test_the_core_works_where_scrapy_and_the_drivers_are_missing(tmp_path):
    run(BLOCK + USE, " ".join(FOREIGN), " ".join(set(CORE) - DRIVEN), str(tmp_path))


def test_importing_the_core_a_command_or_a_public_name_does_no_work():
    # One process is enough: none of them may load anything heavy.
    code = (
        "import sys, importlib, scrapy_simhash as package\n"
        "def check(name):\n"
        "    loaded = {m.partition('.')[0] for m in sys.modules} & set(sys.argv[2].split())\n"
        "    assert not loaded, f'importing {name} loads {loaded}'\n"
        "adapters = {name for name, home in package._MODULES.items() if '.crawl.' in home}\n"
        "for name in set(package.__all__) - adapters:\n"
        "    getattr(package, name)\n"
        "    check(name)\n"
        "for name in sys.argv[1].split():\n"
        "    importlib.import_module(name)\n"
        "    check(name)\n"
    )
    run(code, " ".join(sorted((set(CORE) | COMMANDS) - DRIVEN - NUMERIC)), " ".join(HEAVY))


def test_a_command_that_asks_for_no_setting_does_not_load_scrapy(tmp_path):
    code = (
        "import sys\n"
        "from scrapy_simhash import open_index\n"
        "from scrapy_simhash.commands.main import main\n"
        "open_index(sys.argv[1]).close()\n"
        "assert main(['index', 'stats', '--index', sys.argv[1]]) == 0\n"
        "assert not {'scrapy', 'twisted'} & set(sys.modules)\n"
        "assert main(['index', 'stats', '--index', sys.argv[1], '-s', 'SIMHASH_NO=1']) == 1\n"
    )
    run(code, str(tmp_path / "index"))


def test_the_architecture_page_names_files_that_exist():
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table, folder = {}, ""
    for line in page.splitlines():
        if line.startswith("In `"):
            folder = line.split("`")[1]
            table[folder] = (PACKAGE / folder).exists()
            continue
        if line.startswith(("The other packages", "## ")):
            folder = ""
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", line):
            table[name] = (PACKAGE / folder / name).exists() or (PACKAGE.parent / name).exists()
    assert len(table) > 40
    assert [name for name, exists in table.items() if not exists] == []
    own = [*PACKAGE.glob("*.py"), *PACKAGE.glob("crawl/*.py"), *PACKAGE.glob("extraction/*.py")]
    assert [path for path in own if path.name not in page and "__" not in path.name] == []
