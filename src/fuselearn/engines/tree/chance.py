"""What a split by categories gains beyond chance.

A column with many categories always has a subset that seems to separate the classes, even if the categories were dealt
out at random: the more categories for the same samples, the better it seems. Two steps allow for that.

*Pooling.* A category with a single sample says nothing about the next sample that has it, so all of a node's categories
with one sample each count as one category.

*Correction.* Let the best subset differ from the others by d, the difference between the class shares on its two sides,
and let B be the weighted sum of squares between the m categories along d, T that of all samples along d. Were the
categories dealt out at random among N samples, B would be expected to be T (m - 1) / (N - 1). So that part of the gain
is taken for chance, and the gain counts

    gain * max(0, 1 - E / B),     E = T max(0, m - k) / (N - 1),

for k classes in the node. A subset has the choice among m - 1 differences between categories; k - 1 of them remain
free, as a cut through a column of numbers may also choose its direction among the k classes, and nothing is subtracted
for that. So gains of up to k categories stay as they are, and nearly so do those of categories with many samples each.
With several labels per sample, k - 1 is the number of labels that vary in the node.

Copies of a sample are no further evidence. With weights w_i, w_c and q_c the sums of w_i and w_i^2 in category c, and w
and q those of the node, 1 / (N - 1) becomes

    (sum_c q_c / w_c - q / w) / ((m - 1) (w - q / w)),

which is the same if all weights are equal. A category has a single sample if q_c = w_c^2.
"""

from fuselearn._kernels import borrowing


@borrowing
def pool_single_samples(found, n_present, n_classes):  # type: ignore[no-untyped-def]
    """Join the categories that have a single sample each; return how many groups of categories there are.

    The groups take the first places in ``found``, and ``found.groups`` says to which of them each category belongs.
    """
    pool = -1
    n_groups = 0
    for c in range(n_present):
        is_single = found.squares[c] == found.weights[c] * found.weights[c]
        if is_single and pool >= 0:
            found.groups[c] = pool
            found.weights[pool] += found.weights[c]
            found.squares[pool] += found.squares[c]
            found.counts[pool] += found.counts[c]
            for j in range(n_classes):
                found.sums[pool, j] += found.sums[c, j]
            continue
        if is_single:
            pool = n_groups
        found.groups[c] = n_groups
        if n_groups < c:
            found.weights[n_groups] = found.weights[c]
            found.squares[n_groups] = found.squares[c]
            found.counts[n_groups] = found.counts[c]
            for j in range(n_classes):
                found.sums[n_groups, j] = found.sums[c, j]
        n_groups += 1
    return n_groups


@borrowing
def point_from_right_to_left(found, n_groups, parent):  # type: ignore[no-untyped-def]
    """Write into ``found.direction`` by how much the class shares on the left exceed those on the right."""
    totals, weight, left = parent.totals, parent.weight, found.left
    for j in range(len(totals)):
        left[j] = 0.0
    left_weight = 0.0
    for c in range(n_groups):
        if found.sides[c] == 1:
            left_weight += found.weights[c]
            for j in range(len(totals)):
                left[j] += found.sums[c, j]
    for j in range(len(totals)):
        found.direction[j] = left[j] / left_weight - (totals[j] - left[j]) / (weight - left_weight)


@borrowing
def squared_lengths(totals, direction):  # type: ignore[no-untyped-def]
    """Sum the weighted squares of the positions of samples with one class each along a direction."""
    lengths = 0.0
    for j in range(len(totals)):
        lengths += totals[j] * direction[j] * direction[j]
    return lengths


@borrowing
def lessen(found, n_groups, parent, lengths, multilabel, score):  # type: ignore[no-untyped-def]
    """Take from a subset's score the part of its gain that is put down to chance.

    ``lengths`` is the weighted sum of the samples' squared positions along ``found.direction``.
    """
    totals, weight = parent.totals, parent.weight
    n_varying = 0
    mean = 0.0
    unsplit = 0.0
    for j in range(len(totals)):
        unsplit += totals[j] * totals[j] / weight
        n_varying += 0 < totals[j] < weight
        mean += totals[j] * found.direction[j] / weight
    n_free = n_varying if multilabel else n_varying - 1
    if n_groups - 1 <= n_free:
        return score
    between = -weight * mean * mean
    squares = 0.0
    inverse_sizes = 0.0
    for c in range(n_groups):
        position = 0.0
        for j in range(len(totals)):
            position += found.sums[c, j] * found.direction[j]
        between += position * position / found.weights[c]
        squares += found.squares[c]
        inverse_sizes += found.squares[c] / found.weights[c]
    evidence = (inverse_sizes - squares / weight) / (weight - squares / weight)
    choices = (n_groups - 1.0 - n_free) / (n_groups - 1.0)
    expected = (lengths - weight * mean * mean) * evidence * choices
    return unsplit + (score - unsplit) * max(0.0, 1.0 - expected / between)
