"""Label noise that depends on the features: near the border of a class, by neighbours, and along random directions.

Each function picks the samples to change and their wrong classes, from scaled features and class numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.integer]
Changes = tuple[Codes, Codes]

# At one standard deviation on either side of the mean, probabilities are as 7 to 1.
STEEPNESS = 2.0


def draw_boundary(features: Floats, codes: Codes, count: int, rng: np.random.Generator) -> Changes:
    """Change the samples nearest to the border of their class into the class on the other side."""
    inside, _ = find_nearest(features, codes, same=True)
    outside, enemy = find_nearest(features, codes, same=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = inside / outside
    ratio[outside == 0] = np.inf  # an equal sample of another class: nothing is nearer to the border
    ratio[np.isinf(inside)] = 0.0  # the only sample of its class has no border
    order = np.lexsort((rng.random(len(codes)), -ratio))
    rows = order[:count]
    return rows, codes[enemy[rows]]


def draw_neighbour(features: Floats, codes: Codes, count: int, rng: np.random.Generator) -> Changes:
    """Change samples drawn at random into the class of the nearest sample of another class."""
    rows = rng.choice(len(codes), count, replace=False)
    _, enemy = find_nearest(features, codes, same=False)
    return rows, codes[enemy[rows]]


def draw_dependent(features: Floats, codes: Codes, count: int, rng: np.random.Generator) -> Changes:
    """Change samples far along a random direction of their class, into classes chosen by other random directions."""
    from scipy.special import expit, softmax  # takes long to import

    n_classes = int(codes.max()) + 1
    scores = np.empty((len(codes), n_classes))
    for c in range(n_classes):
        directions = rng.standard_normal((features.shape[1], n_classes))
        scores[codes == c] = _standardise(features @ directions)[codes == c]
    scores *= STEEPNESS
    own = np.take_along_axis(scores, codes[:, None], axis=1)[:, 0]
    chance = expit(own)
    rows = rng.choice(len(codes), count, replace=False, p=chance / chance.sum())
    others = scores[rows]
    others[np.arange(count), codes[rows]] = -np.inf
    return rows, draw_classes(softmax(others, axis=1), rng)


def draw_classes(weights: Floats, rng: np.random.Generator) -> Codes:
    """Draw a class for each sample, with probabilities proportional to its row of weights."""
    ends = np.cumsum(weights, axis=1)
    # Scaling by the last cumulative sum, instead of dividing by it, keeps rounding from choosing an impossible class.
    points = rng.random(len(weights)) * ends[:, -1]
    classes: Codes = (points[:, None] >= ends).sum(axis=1)
    return classes


def find_nearest(features: Floats, codes: Codes, *, same: bool) -> tuple[Floats, Codes]:
    """Find the nearest sample of the same class, or of any other, for each sample.

    Returns
    -------
    distances : array of shape (n_samples,)
        Infinite if there is none.
    nearest : int array of shape (n_samples,)
        Its number; the sample's own if there is none.
    """
    from sklearn.neighbors import NearestNeighbors  # takes long to import

    distances, nearest = np.full(len(codes), np.inf), np.arange(len(codes))
    for c in np.unique(codes):
        members = np.flatnonzero(codes == c)
        pool = members if same else np.flatnonzero(codes != c)
        if len(pool) <= same:
            continue
        search = NearestNeighbors(n_neighbors=1).fit(features[pool])
        # Without a query, a sample is not its own neighbour.
        found, places = search.kneighbors() if same else search.kneighbors(features[members])
        distances[members], nearest[members] = found[:, 0], pool[places[:, 0]]
    return distances, nearest


def _standardise(scores: Floats) -> Floats:
    centred = scores - scores.mean(axis=0)
    spread = centred.std(axis=0)
    scaled: Floats = centred / np.where(spread > 0, spread, 1.0)
    return scaled
