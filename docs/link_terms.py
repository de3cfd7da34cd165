"""Link the first use of each glossary term on a page to the glossary: ``python docs/link_terms.py``."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent
TERMS = {
    "hint": r"hints?",
    "must-link": r"must-link(?:s|ed)?",
    "cannot-link": r"cannot-link(?:s|ed)?",
    "triplet": r"triplets?",
    "bag": r"bags?",
    "closure": r"closure",
    "interview": r"interviews?",
    "oracle": r"oracles?",
    "strategy": r"strateg(?:y|ies)",
    "suspect-answer": r"suspect answers?",
    "hinted-row": r"hinted rows?",
    "adjusted-rand-index": r"adjusted Rand index|ARI",
    "unlabelled": r"unlabelled",
    "annotator": r"annotators?",
    "tray": r"trays?",
}
OWN = {"glossary", "index", "api"}  # pages that are lists of names themselves
# What is not prose: code, formulas, headings, tables, links and pictures, HTML.
OTHER = re.compile(
    r"^(?:```|\$\$)[\s\S]*?^(?:```|\$\$)[ \t]*$|^[#|].*$|`[^`]*`|\$[^$\n]*\$|!?\[[^\]]*\]\([^)]*\)|<[^>\n]*>",
    re.MULTILINE,
)


def find_pages() -> list[Path]:
    """Return the pages whose terms are linked."""
    return sorted(page for page in FOLDER.glob("*.md") if page.stem not in OWN)


def link_text(text: str) -> str:
    """Return the text with a link at the first use of each term that is not linked yet."""
    for anchor, pattern in TERMS.items():
        target = f"glossary.md#{anchor}"
        if f"({target})" in text:
            continue
        excluded = [match.span() for match in OTHER.finditer(text)]
        for match in re.finditer(rf"(?<![\w/.-])(?:{pattern})(?![\w/-])", text, flags=re.IGNORECASE):
            if not any(start <= match.start() < end for start, end in excluded):
                text = f"{text[: match.start()]}[{match[0]}]({target}){text[match.end() :]}"
                break
    return text


def link(page: Path) -> str:
    """Return the text of a page with its terms linked."""
    return link_text(page.read_text(encoding="utf-8"))


def main() -> None:
    """Link the terms of all pages in place."""
    for page in find_pages():
        linked = link(page)
        if linked != page.read_text(encoding="utf-8"):
            page.write_text(linked, encoding="utf-8")
            print(f"linked terms in {page.name}")


if __name__ == "__main__":
    main()
