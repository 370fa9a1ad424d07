"""Random numbers made of keys."""

import numpy as np

from fuselearn.engines.tree.random import draw_into


def test_every_item_is_drawn_once():
    items = np.arange(20)
    drawn = [draw_into(items, position, np.uint64(3)) for position in range(20)]
    assert sorted(drawn) == list(range(20))
    assert drawn != list(range(20))
