"""Commands in README and docs exist.

Blocks of Python are executed (test_documentation.py). All others are here: what a shell would run is
parsed by the parser that would parse it, and what is not run is known for what it is.
"""

import importlib.util
import re
import shlex

import pytest

from scrapy_simhash.choice import choose_preset
from scrapy_simhash.commands.main import build_parser
from scrapy_simhash.scheme import PRESETS

from .commands.test_documented import PARSERS, options_of
from .documentation_pages import NAMES, ROOT, blocks, inline_code

# Languages of blocks, and why each needs nothing more, or where it is tested.
LANGUAGES = {
    "python": "executed by test_documentation.py",
    "py": "needs a Redis server: executed by index/test_redis_index.py",
    "toml": "schemes, tested here",
    "text": "what a program prints, or a drawing: not run",
    "": "commands, tested here, but for OUTPUT",
}
# Blocks that name no language and are no commands: page, and how they begin.
OUTPUT = {
    ("README.md", "INFO: simhash: near-duplicate page"): "the log of the demo",
    ("docs/index-format.md", "manifest.json "): "files of an index",
    ("docs/dedupe.md", '{"key": '): "a line of verdicts",
    ("docs/url-rules.md", "5c0b7f5e "): "a rule of URLs",
}
# Programs that are not ours and stand in pipes.
OTHERS = {"curl", "grep", "gzip", "pdftotext", "head", "spark-submit", "zcat"}
PROGRAM = "scrapy simhash"
BLOCKS = list(blocks())


def is_output(block):
    return any(block.page == page and block.text.startswith(begins) for page, begins in OUTPUT)


def commands_of(block):
    """Lines for a shell: those after `$ ` where there are such, as the others are what they print."""
    lines = block.text.replace("\\\n", " ").splitlines()
    typed = [line[2:] for line in lines if line.startswith("$ ")]
    return typed or [line for line in lines if line.strip() and not line.startswith("#")]


def piped(line):
    """The commands of a line, in words, without the file to which the last one writes."""
    lexer = shlex.shlex(line.partition(" > ")[0], posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    words, found = [], []
    for word in lexer:
        if word == "|":
            found.append(words)
            words = []
        else:
            words.append(word)
    return [*found, words]


COMMANDS = [
    pytest.param(words, id=f"{block}-{' '.join(words)}"[:90])
    for block in BLOCKS
    if block.language == "" and not is_output(block)
    for line in commands_of(block)
    for words in piped(line)
]


def test_there_are_blocks_of_each_language_and_no_others():
    assert {block.language for block in BLOCKS} == set(LANGUAGES)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_in_a_block_is_one(words, capsys):
    check(words, capsys)


def check(words, capsys):
    if words[:3] == ["python", "-m", "pytest"]:
        words = words[2:]
    program, *arguments = words
    if words[:2] == ["scrapy", "simhash"] or words[:3] == ["python", "-m", "scrapy_simhash"]:
        arguments = words[2:] if program == "scrapy" else words[3:]
        try:
            build_parser(PROGRAM).parse_args(arguments)
        except SystemExit:
            pytest.fail(capsys.readouterr().err)
    elif program == "scrapy":
        assert importlib.util.find_spec(f"scrapy.commands.{arguments[0]}")
    elif program in ("python", ".venv/bin/python"):
        check_benchmark(*arguments)
    elif program.startswith("benchmarks/"):
        check_benchmark(*words)
    elif program == "make":
        assert set(arguments) <= make_targets()
    elif program == "pip":
        assert arguments[0] == "install"
        check_extras(" ".join(arguments))
    elif program == "pytest":
        assert all((ROOT / path).exists() for path in arguments if not path.startswith("-"))
    else:
        assert program in OTHERS


def check_benchmark(script, *arguments):
    """The file is there, and knows the options; it, or what it is made of."""
    path = ROOT / script
    assert path.is_file()
    folder = path.with_name(f"{path.stem}_lib")
    sources = "".join(
        file.read_text(encoding="utf-8") for file in (path, *sorted(folder.glob("*.py")))
    )
    for argument in arguments:
        if argument.startswith("--"):
            assert f'"{argument}"' in sources, argument


def make_targets():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))


def check_extras(text):
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (table,) = re.findall(
        r"^\[project.optional-dependencies\]\n(.*?)^\[", project, re.MULTILINE | re.DOTALL
    )
    known = set(re.findall(r"^([a-z]+) = ", table, re.MULTILINE))
    for extras in re.findall(r"scrapy-simhash\[([^\]]+)\]", text):
        assert set(extras.split(",")) <= known


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "toml"], ids=str)
def test_a_scheme_in_a_block_is_one(block, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(block.text, encoding="utf-8")
    assert choose_preset(str(path))[1].scheme not in {preset.scheme for preset in PRESETS.values()}


# In running text, a command may lack what it needs to be run.
PARTS = [
    pytest.param(code, id=f"{name}-{code}"[:90])
    for name in NAMES
    for code in inline_code(name)
    if re.match(r"(\$ )?(scrapy |python |\.venv/|benchmarks/\w+\.py|make [a-z]|pip |pytest )", code)
    and not re.search(r"SUBCOMMAND|^scrapy simhash …$|^python -m scrapy_simhash …$", code)
]


@pytest.mark.parametrize("code", PARTS)
def test_a_command_in_running_text_is_one(code, capsys):
    (words, *rest) = piped(code.rstrip(" …"))
    if words[:2] != ["scrapy", "simhash"] and words[:3] != ["python", "-m", "scrapy_simhash"]:
        check(words, capsys)
        return
    words = words[2:] if words[0] == "scrapy" else words[3:]
    name = words[0]
    if " ".join(words[:2]) in PARSERS:
        name = " ".join(words[:2])
    assert name in PARSERS
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert given <= options_of(PARSERS[name])
    assert not rest


def test_what_is_installed_in_running_text_can_be():
    for name in NAMES:
        for code in inline_code(name):
            check_extras(code)
