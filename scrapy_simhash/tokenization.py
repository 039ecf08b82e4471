"""Text to tokens: jieba's words for runs of Han characters, Unicode words for the rest.

Scripts that write no spaces and have no segmenter here (kana, Thai, Lao, Khmer, Burmese) become
overlapping pairs of characters: single characters are shared by every page, whole runs by none.
Character ranges are written out rather than asked of `unicodedata`, so that a newer Python cuts
the same text in the same tokens.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import tempfile
import threading
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

logger = logging.getLogger(__name__)

_loading = threading.Lock()

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\u3005\u3007"
_UNSPACED = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3"  # Burmese, Khmer
)
# Combining marks are no word characters to `re`, yet Hindi, Tamil, Hebrew or pointed Arabic
# words hold them: whole Indic blocks but the danda, and the marks of the others.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_TOKEN = re.compile(
    f"(?P<han>[{_HAN}]+)|(?P<unspaced>[{_UNSPACED}]+)"
    f"|(?P<word>(?:(?![{_HAN}{_UNSPACED}])[^\\W_]|[{_MARKS}])+)"
)
# Soft hyphen, word joiner, byte order mark: shown as nothing, and inside words.
_NOTHING = {0x00AD: None, 0x2060: None, 0xFEFF: None}


def normalize(text: str) -> str:
    """NFKC and case folding: full-width and half-width forms, ligatures and case are one."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Again, for case folding takes a few letters apart.
    return unicodedata.normalize("NFKC", folded).translate(_NOTHING)


def _split(text: str, segment_han: Callable[[str], list[str]]) -> Iterator[str]:
    for match in _TOKEN.finditer(normalize(text)):
        run = match.group()
        if match.lastgroup == "han":
            yield from segment_han(run)
        elif match.lastgroup == "unspaced" and len(run) > 1:
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        elif run[0].isalnum() or any(map(str.isalnum, run)):  # not marks alone
            yield run


def jieba_tokens(text: str) -> list[str]:
    """Words; Chinese ones by jieba's dictionary, without its statistical guesses (HMM off)."""
    return list(_split(text, lambda run: jieba_tokenizer().lcut(run, HMM=False)))


def word_tokens(text: str) -> list[str]:
    """Words; each run of Han characters is one."""
    return list(_split(text, lambda run: [run]))


TOKENIZERS: Mapping[str, Callable[[str], list[str]]] = {
    "jieba": jieba_tokens,
    "words": word_tokens,
}


def jieba_tokenizer() -> Any:
    """A jieba.Tokenizer of our own: the module's global one changes with load_userdict()."""
    with _loading:  # one thread loads it, however many meet Chinese at the same time
        return _load_jieba()


@lru_cache(maxsize=1)
def _load_jieba() -> Any:
    """Load the dictionary.

    It takes about a second and is cached by jieba as a marshalled file,
    which is code to whoever can write it: so it lies in a directory that only we can write.
    """
    import jieba

    if jieba.default_logger.level == logging.DEBUG:
        jieba.setLogLevel(logging.INFO)  # its "Building prefix dict" lines on stderr
    tokenizer = jieba.Tokenizer()
    directory = owner_only_cache_directory()
    if directory is not None:
        tokenizer.tmp_dir = str(directory)
        tokenizer.initialize()
    else:
        with tempfile.TemporaryDirectory(prefix="scrapy-simhash-") as temporary:
            tokenizer.tmp_dir = temporary
            tokenizer.initialize()
    return tokenizer


def owner_only_cache_directory() -> Path | None:
    """$XDG_CACHE_HOME/scrapy-simhash (or ~/.cache/…) with rights for its owner alone, or None."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        directory = Path(base).expanduser() / "scrapy-simhash"
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat(follow_symlinks=False)
        trusted = (
            stat.S_ISDIR(status.st_mode)
            and status.st_uid == os.getuid()
            and not status.st_mode & 0o022
            and os.access(directory, os.W_OK)
        )
    except (OSError, RuntimeError) as error:
        logger.debug("no cache directory for jieba's dictionary: %s", error)
        return None
    return directory if trusted else None
