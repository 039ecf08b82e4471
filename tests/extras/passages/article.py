"""An invented article, checked against invented documents, as a report."""

from scrapy_simhash.extras.passages.result import CheckedPassage, PassageReport, Source, summed_up

GUIDE = "https://harbour.example/ferries/night-boat.html"
BLOG = "https://walks.example/the-last-boat"
LEAFLET = "leaflets/夜航须知.txt"
FOOTER = "https://harbour.example/imprint"

# Paragraphs of passages: what it says, its level, and where it stands: (similarity, document,
# place, text there).
_ARTICLE = (
    [
        ("The night boat leaves the old pier at twenty past eleven.",),
        ("Hardly anybody takes it for the crossing.",),
        (
            (
                "People take it for the engine's hum, the weak tea, and the one lamp that the crew "
                "leaves burning on the upper deck."
            ),
            "high",
            (
                0.96,
                GUIDE,
                1204,
                (
                    "Many take it for the engine's hum, the weak tea, and the one lamp that the crew "
                    "leaves burning on the upper deck."
                ),
            ),
            (
                0.91,
                BLOG,
                310,
                (
                    "I took it for the engine's hum, the weak tea, and the one lamp the crew leaves "
                    "burning on the upper deck."
                ),
            ),
        ),
        ("From there you see three lighthouses at once, and none of them agrees with the others.",),
    ],
    [
        ("A notice by the gangway says the same in two languages.",),
        (
            "夜航船不设座位预订，请在开船前十分钟到达码头，并把自行车放在船尾的架子上。",
            "high",
            (
                0.94,
                LEAFLET,
                42,
                "夜航船不设座位预订，请于开船前十分钟到达码头，并将自行车放在船尾的架子上。",
            ),
        ),
        (
            "The English half is shorter, and leaves out the bicycles.",
            "medium",
            (0.79, BLOG, 2240, "The English half is short and does without the bicycles."),
        ),
    ],
    [
        ("I asked the mate how many passengers it takes to be worth the fuel.",),
        (
            "“Nine,” he said, “or one with a piano.”",
            "medium",
            (0.81, BLOG, 1877, "“Eight,” she said, “or one who brings a piano.”"),
        ),
        ("He had carried four pianos so far, and had opinions about all of them.",),
        (
            (
                "The timetable has not changed since the breakwater was built, apart from the winter "
                "when the harbour froze and the boat was used as a post office."
            ),
            "high",
            (
                1.0,
                GUIDE,
                2051,
                (
                    "The timetable has not changed since the breakwater was built, apart from the "
                    "winter when the harbour froze and the boat was used as a post office."
                ),
            ),
        ),
    ],
    [
        ("Out on the water the town folds itself up like a chair.",),
        (
            (
                "First the shop windows go, then the church clock, and last the red light of the "
                "bakery, where they have begun by then."
            ),
            "medium",
            (
                0.84,
                GUIDE,
                3310,
                (
                    "The shop windows go first, then the church clock, and at last the red lamp of "
                    "the bakery, where work has begun by then."
                ),
            ),
        ),
        ("It takes forty minutes, and nobody has ever asked for less.",),
        ("On the other side there is a bench, a dog, and a bus that is never late.",),
    ],
    [
        ("Timetables are given without warranty.", "common", (1.0, FOOTER, 12, "")),
        ("All times are local.", "short"),
    ],
)


def article() -> tuple[PassageReport, str]:
    """The report, and the text that was checked."""
    text, passages = "", []
    for number, paragraph in enumerate(_ARTICLE):
        text += "\n" if number else ""
        for place, (words, *found) in enumerate(paragraph):
            text += " " if place else ""
            level = found[0] if found else "none"
            sources = tuple(
                Source(
                    document=document,
                    start=start,
                    end=start + len(there or words),
                    similarity=similarity,
                    distance=round(60 * (1 - similarity)),
                    text=there,
                )
                for similarity, document, start, there in found[1:]
            )
            passages.append(
                CheckedPassage(
                    start=len(text),
                    end=len(text) + len(words),
                    text=words,
                    level="none" if level == "short" else level,
                    sources=sources,
                    documents=1320 if level == "common" else len(sources),
                    short=level == "short",
                )
            )
            text += words
    report = summed_up("drafts/the-night-boat.txt", text, passages, mode="exact", verified=True)
    return report, text
