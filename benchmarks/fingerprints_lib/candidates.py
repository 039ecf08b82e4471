r"""Ours and the others: from a text, and from its features.

A peer gets a text as its users give it one: its own way to split it where it has one, else words,
which are ``\w+`` in lower case in English and `jieba.lcut` in Chinese. Features are those of our
preset ``wide``, for everybody; peers without weights get each once.
trafilatura keeps the vectors of 16384 tokens, which are warm here.
"""

from __future__ import annotations

import re
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import (
    find_spec,
    module_from_spec,
    spec_from_file_location,
    spec_from_loader,
)
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from fingerprints_lib.timing import Candidate, Missing
from scrapy_simhash import Scheme, folding, tokenization
from scrapy_simhash.hashes import token_hashes
from scrapy_simhash.sketch import sketch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Factory = Callable[[str, "Path | None"], list[Candidate]]

_WORD = re.compile(r"\w+")
WIDE = Scheme.preset("wide")


def segmenter() -> str:
    """The package that cuts Chinese for us here."""
    return "jieba" if find_spec("rjieba") is None else "rjieba"


def tokens_without_rjieba() -> Callable[[str], list[str]]:
    """Our tokenizer as it is where rjieba is not installed: from a second copy of its module."""
    spec = spec_from_file_location("tokenization_without_rjieba", tokenization.__file__)
    if spec is None or spec.loader is None:
        raise ImportError(f"{tokenization.__file__} cannot be loaded")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    tokens: Callable[[str], list[str]] = module.jieba_tokens
    with patch.dict(sys.modules, {"rjieba": None}):
        tokens("\u4e2d\u6587")  # loads the dictionary
    return tokens


def wide_features(text: str) -> dict[str, float]:
    """Features and weights that all get, where they take features."""
    return WIDE.features(WIDE.tokens(text))


def ours(language: str) -> tuple[list[Candidate | Missing], list[Candidate | Missing]]:
    """From text and from features; the first of each is the base."""
    schemes = {name: Scheme.preset(name) for name in ("wide", "classic", "leonsim")}
    from_text: list[Candidate | Missing]
    if language == "zh":
        tokens = tokens_without_rjieba()
        names = ("wide", "classic")
        slow = [
            Candidate(f"ours {name}, jieba", _from_tokens(schemes[name], tokens)) for name in names
        ]
        fast = [Candidate(f"ours {name}, rjieba", schemes[name].fingerprint) for name in names]
        if segmenter() == "rjieba":
            from_text = [*fast, *slow]
        else:
            from_text = [*slow, Missing("ours, rjieba", "not installed: pip install rjieba")]
        from_text.append(Candidate("ours leonsim", schemes["leonsim"].fingerprint))
    else:
        from_text = [Candidate(f"ours {name}", s.fingerprint) for name, s in schemes.items()]
    return from_text, [
        Candidate(f"ours {name}", scheme.fingerprint_features, wide_features)
        for name, scheme in schemes.items()
    ]


def _from_tokens(scheme: Scheme, tokens: Callable[[str], list[str]]) -> Callable[[str], int]:
    return lambda text: scheme.fingerprint_tokens(tokens(text))


def steps() -> list[Candidate]:
    """What our preset wide does with a text, step by step; the first is all of it but the sketch,
    which confirms copies.
    """

    def tokens_and_hashes(text: str) -> tuple[list[str], Any]:
        tokens = WIDE.tokens(text)
        return tokens, token_hashes(tokens)

    return [
        Candidate("text to fingerprint", WIDE.fingerprint),
        Candidate("tokenization", WIDE.tokens),
        Candidate("  of it normalization", folding.normalize),
        Candidate("hashing of tokens", token_hashes, WIDE.tokens),
        Candidate(
            "features and sums",
            lambda pair: WIDE.certain_fingerprint(*pair),
            tokens_and_hashes,
        ),
        Candidate("sketch", sketch, lambda text: tokens_and_hashes(text)[1]),
    ]


def peers(
    language: str, folder: Path | None = None
) -> tuple[list[Candidate | Missing], list[Candidate | Missing]]:
    """From text and from features.

    :param folder: where python-simhash is, if not in place of simhash.
    """
    found: tuple[list[Candidate | Missing], list[Candidate | Missing]] = ([], [])
    for name, (install, from_text, from_features) in _PEERS.items():
        for factory, rows in zip((from_text, from_features), found, strict=True):
            if factory is None:
                continue
            try:
                rows.extend(factory(language, folder))
            except ImportError:
                rows.append(Missing(name, f"not installed: {install}"))
    return found


def _words(language: str) -> Callable[[str], list[str]]:
    if language == "zh":
        import jieba

        jieba.setLogLevel("INFO")
        jieba.initialize()
        cut: Callable[[str], list[str]] = jieba.lcut
        return cut
    return lambda text: _WORD.findall(text.lower())


def _words_name(language: str) -> str:
    return "jieba.lcut(text)" if language == "zh" else "words"


def _names(text: str) -> list[str]:
    return list(wide_features(text))


def _simhash(language: str, _folder: Path | None) -> list[Candidate]:
    from simhash import Simhash

    words = _words(language)
    return [
        Candidate("simhash: Simhash(text)", Simhash),
        Candidate(f"simhash: Simhash({_words_name(language)})", lambda text: Simhash(words(text))),
    ]


def _simhash_features(_language: str, _folder: Path | None) -> list[Candidate]:
    from simhash import Simhash

    return [Candidate("simhash: Simhash({feature: weight})", Simhash, wide_features)]


def _gaoya_index() -> Any:
    from gaoya.simhash import SimHashStringIndex

    return SimHashStringIndex(hash_size=64, analyzer="word", lowercase=True, ngram_range=(1, 1))


def _gaoya(language: str, _folder: Path | None) -> list[Candidate]:
    if language == "zh":  # its own words are between spaces; others only go into an index
        words = _words(language)
        insert = _gaoya_index().index.insert_tokens
        return [
            Candidate("gaoya: insert_tokens(jieba.lcut(text))", lambda text: insert(0, words(text)))
        ]
    return [Candidate("gaoya: doc2signature(text)", _gaoya_index().index.doc2signature)]


def _gaoya_features(_language: str, _folder: Path | None) -> list[Candidate]:
    insert = _gaoya_index().index.insert_tokens
    return [Candidate("gaoya: insert_tokens (with index)", lambda names: insert(0, names), _names)]


def _python_simhash_function(folder: Path | None) -> Callable[..., int]:
    """Its `simhash`; it calls its package simhash, too, so that one displaces the other."""
    if folder is None:
        import simhash

        if hasattr(simhash, "Simhash"):
            raise ImportError("that is the other package")
        function: Callable[..., int] = simhash.simhash
        return function
    path = next((folder / "simhash").glob("_simhash*"), None)
    if path is None:
        raise ImportError(f"{folder} has no simhash/_simhash")
    loader = ExtensionFileLoader("_simhash", str(path))
    spec = spec_from_loader("_simhash", loader)
    if spec is None:
        raise ImportError(f"{path} cannot be loaded")
    module = module_from_spec(spec)
    loader.exec_module(module)
    extension: Callable[..., int] = module.simhash
    return extension


def _python_simhash(language: str, folder: Path | None) -> list[Candidate]:
    simhash = _python_simhash_function(folder)
    words = _words(language)
    name = f"python-simhash: simhash({_words_name(language)})"
    return [Candidate(name, lambda text: simhash(words(text), hasher="xxh3"))]


def _python_simhash_features(_language: str, folder: Path | None) -> list[Candidate]:
    simhash = _python_simhash_function(folder)
    name = "python-simhash: simhash(features)"
    return [Candidate(name, lambda names: simhash(names, hasher="xxh3"), _names)]


def _trafilatura(_language: str, _folder: Path | None) -> list[Candidate]:
    from trafilatura.deduplication import Simhash

    return [Candidate("trafilatura: Simhash(text)", Simhash)]


def _min_hash(names: list[str]) -> object:
    from datasketch import MinHash

    sketch = MinHash(num_perm=128)
    sketch.update_batch([name.encode() for name in names])
    return sketch


def _datasketch(language: str, _folder: Path | None) -> list[Candidate]:
    import datasketch  # noqa: F401

    words = _words(language)
    name = f"datasketch: MinHash(128) of {_words_name(language)}"
    return [Candidate(name, lambda text: _min_hash(words(text)))]


def _datasketch_features(_language: str, _folder: Path | None) -> list[Candidate]:
    import datasketch  # noqa: F401

    return [Candidate("datasketch: MinHash(128)", _min_hash, _names)]


def _text_dedup(_language: str, _folder: Path | None) -> list[Candidate]:
    from text_dedup.simhash import embed_func
    from text_dedup.utils import xxh3_64_digest

    def run(text: str) -> object:
        return embed_func(text, 0, ngram=3, permutations=None, hash_func=xxh3_64_digest)

    return [Candidate("text-dedup: embed_func(text)", run)]


def _text_dedup_features(_language: str, _folder: Path | None) -> list[Candidate]:
    from text_dedup.simhash import _unsigned_hash, compute
    from text_dedup.utils import xxh3_64_digest

    def run(names: list[str]) -> object:
        return compute([_unsigned_hash(name.encode(), xxh3_64_digest) for name in names])

    return [Candidate("text-dedup: compute(features)", run, _names)]


_PEERS: Mapping[str, tuple[str, Factory, Factory | None]] = {
    "simhash": ("pip install simhash", _simhash, _simhash_features),
    "gaoya": ("pip install gaoya", _gaoya, _gaoya_features),
    "python-simhash": (
        "pip install --target FOLDER python-simhash, and --python-simhash FOLDER",
        _python_simhash,
        _python_simhash_features,
    ),
    "trafilatura": ("pip install trafilatura", _trafilatura, None),
    "datasketch": ("pip install datasketch", _datasketch, _datasketch_features),
    "text-dedup": (
        "pip install text-dedup (it brings pyspark, datasets, pyarrow and onnxruntime)",
        _text_dedup,
        _text_dedup_features,
    ),
}
