"""Remove from an item what would reveal its class."""

from __future__ import annotations

from dataclasses import replace

from likewise.studio.records import Item


def veil_item(item: Item) -> Item:
    """Return an item as a participant may see it: without its name, which often reveals the class.

    Files sorted into one folder per class have names such as ``owl/17.png``. Row numbers reveal as much in a
    sorted table, so no number replaces the name.

    >>> shown = veil_item(Item(16, "owl/17.png", "image", "owl/17.png", media="owl/17.png", truth="owl"))
    >>> shown.id, shown.title, shown.truth
    ('item', 'item', None)
    """
    return replace(item, id="item", title="item", truth=None)
