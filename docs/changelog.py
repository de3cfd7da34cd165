"""Print the notes of ``changes/`` as the list for the next release: ``python docs/changelog.py``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

NOTES = Path(__file__).parents[1] / "changes"


def assemble(folder: Path = NOTES) -> str:
    """Return the notes in the order of their numbers, one item each: what changed, then why.

    Without notes, as after a release, it is empty.
    """
    items = []
    for path in sorted(folder.glob("[0-9]*.md")):
        lines = path.read_text(encoding="utf-8").split("\n")
        items.append("- " + "\n  ".join(line.strip() for line in lines if line.strip()) + "\n")
    return re.sub(r"[ \t]+\n", "\n", "".join(items))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stdout.write(assemble())
