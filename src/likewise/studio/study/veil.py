"""What of an item would give its class away."""

from __future__ import annotations

from dataclasses import replace

from likewise.studio.records import Item


def veil_item(item: Item) -> Item:
    """Return an item as a participant may see it: without its name, which often tells the class.

    Files that are sorted into a folder for each class are called ``owl/17.png``, and rows in the order of a
    table tell as much, so that no number takes the place of the name.

    >>> shown = veil_item(Item(16, "owl/17.png", "image", "owl/17.png", media="owl/17.png", truth="owl"))
    >>> shown.id, shown.title, shown.truth
    ('item', 'item', None)
    """
    return replace(item, id="item", title="item", truth=None)
