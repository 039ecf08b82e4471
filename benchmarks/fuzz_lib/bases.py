"""The pages that are mutated: of page sets, of any folder, or written here."""

from __future__ import annotations

import gzip
import json
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_SUFFIXES = (".html", ".htm", ".html.gz", ".htm.gz")
_WORDS = {
    "en": "the ferry waits at pier nine for bread post and forty passengers who left before dawn",
    "zh": "每天 清晨 开往 北方 群岛 的 第一班 渡轮 准时 离开 码头 旅客 只能 等到 中午 邮件 面包",
    "ja": "朝 の フェリー は 港 を 出て 島 に 向かい 乗客 と 手紙 を 運ぶ こと に なって いる",
    "th": "เรือ ข้าม ฟาก ออก จาก ท่า ตอน เช้า พร้อม ผู้ โดยสาร และ จดหมาย ไป ยัง เกาะ",
    "hi": "नाव सुबह बंदरगाह से निकलती है और यात्रियों को द्वीप तक ले जाती है रोटी डाक",
    "ar": "تغادر العبارة الميناء في الصباح وتحمل البريد والخبز والركاب إلى الجزر البعيدة",
    "ru": "паром ждёт у причала почту хлеб и сорок пассажиров которые вышли до рассвета",
}
_UNSPACED = {"zh", "ja", "th"}


def read_pages(folders: Iterable[Path]) -> list[tuple[str, bytes]]:
    """(name, body) of the pages of folders. :raises SystemExit: there are none."""
    pages = [page for folder in folders for page in _pages_of(folder)]
    if not pages:
        raise SystemExit("there is no page in these folders")
    return pages


def _pages_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    if (folder / "docs.jsonl").is_file():
        lines = (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()
        files = [folder / doc["file"] for doc in map(json.loads, lines) if doc.get("file")]
    else:
        files = sorted(path for path in folder.rglob("*") if path.name.endswith(_SUFFIXES))
    for path in files:
        body = path.read_bytes()
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        yield f"{folder.name}/{path.relative_to(folder)}", body


def written_pages(seed: int, count: int = 60) -> list[tuple[str, bytes]]:
    """Pages of several kinds and scripts, the same for the same seed."""
    rng = Random(f"pages {seed}")
    kinds = (_article, _reference, _table, _forum)
    pages = []
    for number in range(count):
        language = rng.choice(list(_WORDS))
        kind = kinds[number % len(kinds)]
        body = "".join(kind(rng, language))
        page = (
            f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8">'
            f"<title>{_sentence(rng, language, 5)}</title>"
            "<style>p { color: navy }</style><script>track('visit');</script></head>"
            f"<body class='page'>{body}<footer>{_sentence(rng, language, 8)}</footer></body></html>"
        )
        pages.append((f"written/{number}-{kind.__name__[1:]}-{language}", page.encode()))
    return pages


def _sentence(rng: Random, language: str, words: int) -> str:
    chosen = rng.choices(_WORDS[language].split(), k=words)
    return ("" if language in _UNSPACED else " ").join(chosen) + ", " + rng.choice(chosen) + "."


def _text(rng: Random, language: str, sentences: int) -> str:
    return " ".join(_sentence(rng, language, rng.randint(4, 14)) for _ in range(sentences))


def _article(rng: Random, language: str) -> Iterator[str]:
    yield '<nav class="menu"><ul>'
    yield from (f'<li><a href="/{n}">{_sentence(rng, language, 2)}</a></li>' for n in range(9))
    yield f'</ul></nav><div id="content" class="article"><h1>{_sentence(rng, language, 4)}</h1>'
    for number in range(rng.randint(2, 12)):
        yield f"<p>{_text(rng, language, rng.randint(1, 6))}<br><b>{number}</b> &nbsp;&amp;</p>"
        if number % 4 == 0:
            yield f'<img src="{number}.png" alt=""><blockquote>{_text(rng, language, 1)}'
            yield "</blockquote><div style='display:none'>hidden</div>"
    yield '</div><div class="sidebar comment">'
    yield from (f"<p>{_text(rng, language, 2)}</p>" for _ in range(3))
    yield "</div>"


def _reference(rng: Random, language: str) -> Iterator[str]:
    for number in range(rng.randint(4, 15)):
        yield f'<section id="s{number}"><h2>{_sentence(rng, language, 3)}</h2><dl>'
        yield f"<dt><code>f{number}(x)</code><dd>{_text(rng, language, 2)}</dl>"
        yield f"<pre>{_sentence(rng, language, 6)}\n  return {number}</pre></section>"


def _table(rng: Random, language: str) -> Iterator[str]:
    yield "<form action='/search'><input type=hidden name=q><select>"
    yield from (f"<option>{_sentence(rng, language, 1)}" for _ in range(5))
    yield "</select></form><table>"
    for _ in range(rng.randint(5, 40)):
        yield f"<tr><td>{_sentence(rng, language, 3)}<td>{_text(rng, language, 1)}</tr>"
    yield "</table>"


def _forum(rng: Random, language: str) -> Iterator[str]:
    for number in range(rng.randint(3, 20)):
        yield f'<div class="post"><div class="head"><a href="#{number}">#{number}</a></div><div>'
        yield f"<span>{_text(rng, language, 2)}</span><br><br>{_text(rng, language, 1)}</div></div>"
