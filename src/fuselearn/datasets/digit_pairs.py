"""A multi-label dataset that needs no download: images of two digits."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from fuselearn._messages import show
from fuselearn._random import make_generator
from fuselearn.datasets.dataset import Dataset

LAYOUTS = ("side_by_side", "overlaid")


def make_digit_pairs(
    n_samples: int = 1000,
    layout: str = "side_by_side",
    *,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
) -> Dataset:
    """Generate images that show two handwritten digits each; the labels are the digits present.

    The digits are scikit-learn's: 1797 real scans of 8 by 8 pixels. The two digits of a pair are drawn
    independently and uniformly, with replacement.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of images.
    layout : {"side_by_side", "overlaid"}, default="side_by_side"
        Two digits next to each other (8 by 16 pixels, 128 features), or one on top of the other
        (64 features, each the darker of the two pixels), which is harder.
    random_state : int, Generator, RandomState or None
        Pass an int for reproducible images.

    Returns
    -------
    Dataset
        `X` has a feature ``pixel_r_c`` per pixel, from 0 to 16; `y` has the labels ``digit_0`` to
        ``digit_9``. Two equal digits make one label, so a sample has one label or two.

    Notes
    -----
    A scan may occur in several images, so a random split puts the same scans, in other pairs, into
    training and test sets.

    Examples
    --------
    >>> from fuselearn.datasets import make_digit_pairs
    >>> X, Y = make_digit_pairs(200, random_state=0)
    >>> X.shape, Y.shape
    ((200, 128), (200, 10))
    >>> sorted(Y.sum(axis=1).unique().tolist())
    [1, 2]
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be 'side_by_side' or 'overlaid', not {show(layout)}.")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, not {show(n_samples)}.")
    digits = load_digits()
    rng = make_generator(random_state)
    first, second = rng.integers(len(digits.images), size=(2, n_samples))
    if layout == "side_by_side":
        pictures = np.concatenate([digits.images[first], digits.images[second]], axis=2)
    else:
        pictures = np.maximum(digits.images[first], digits.images[second])
    labels = np.zeros((n_samples, 10), dtype=np.int64)
    for drawn in (first, second):
        labels[np.arange(n_samples), digits.target[drawn]] = 1
    height, width = pictures.shape[1:]
    pixels = [f"pixel_{row}_{column}" for row in range(height) for column in range(width)]
    return Dataset(
        pd.DataFrame(pictures.reshape(n_samples, -1), columns=pixels),
        pd.DataFrame(labels, columns=[f"digit_{digit}" for digit in range(10)]),
        name=f"digit_pairs_{layout}",
        description="Pictures of two handwritten digits; the labels are the digits present.",
        source="scikit-learn's digits",
    )
