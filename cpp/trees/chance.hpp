// The gain of a split by categories, corrected for chance. The cost is proportional to categories times classes.
//
// A feature with many categories always has a subset that seems to separate the classes, even if the categories are
// assigned at random, and more so with more categories. Two steps correct for this bias.
//
// Pooling. A category with a single sample is no evidence for other samples of the category, so all categories of a
// node with one sample each are treated as one category.
//
// Correction. Let the best subset differ from the others by d, the difference between the class fractions on its two
// sides, and let B be the weighted sum of squares between the m categories along d, and T that of all samples along d.
// If the categories were assigned at random to N samples, the expectation of B would be T (m - 1) / (N - 1). The
// expected part of the gain is subtracted; the corrected gain is
//
//     gain * max(0, 1 - E / B),     E = T max(0, m - k) / (N - 1),
//
// for k classes in the node. A subset chooses among m - 1 differences between categories. Of these, k - 1 are not
// corrected, because a split of a numeric feature also chooses its direction among the k classes, without a correction.
// Gains of up to k categories are therefore unchanged, and those of categories with many samples nearly so. For
// multi-label data, k - 1 is the number of labels that vary in the node.
//
// Copies of a sample are no additional evidence. With weights w_i, w_c and q_c the sums of w_i and w_i^2 in category c,
// and w and q those of the node, 1 / (N - 1) is replaced by
//
//     (sum_c q_c / w_c - q / w) / ((m - 1) (w - q / w)),
//
// which is the same if all weights are equal. A category has a single sample if q_c = w_c^2.
// tests/core/test_chance.py has hand-computed numbers.

#pragma once

#include <algorithm>
#include <span>

#include "support/views.hpp"
#include "trees/categories.hpp"
#include "trees/criterion.hpp"

namespace fuselearn {

// Join the categories that have a single sample each into one group.
inline void pool_single_samples(Categories& found) {
    Index pool = -1;
    found.n_groups = 0;
    const auto move_to = [&found](Index c, Index group) {
        if (group == c) return;
        found.weights[group] = found.weights[c];
        found.squared_weights[group] = found.squared_weights[c];
        found.counts[group] = found.counts[c];
        std::copy(found.sums(c).begin(), found.sums(c).end(), found.sums(group).begin());
    };
    for (Index c = 0; c < found.n_present; ++c) {
        const bool is_single = found.squared_weights[c] == found.weights[c] * found.weights[c];
        if (is_single && pool >= 0) {
            found.groups[c] = pool;
            found.weights[pool] += found.weights[c];
            found.squared_weights[pool] += found.squared_weights[c];
            found.counts[pool] += found.counts[c];
            for (Index j = 0; j < ssize(found.sums(c)); ++j) found.sums(pool)[j] += found.sums(c)[j];
            continue;
        }
        if (is_single) pool = found.n_groups;
        found.groups[c] = found.n_groups;
        move_to(c, found.n_groups);
        ++found.n_groups;
    }
}

// Write into `direction` by how much the class fractions on the left exceed those on the right.
inline void point_from_right_to_left(Categories& found, const Parent& parent) {
    std::fill(found.left.begin(), found.left.end(), 0.0);
    double left_weight = 0.0;
    for (Index c = 0; c < found.n_groups; ++c) {
        if (!found.is_left[c]) continue;
        left_weight += found.weights[c];
        for (Index j = 0; j < ssize(found.left); ++j) found.left[j] += found.sums(c)[j];
    }
    for (Index j = 0; j < ssize(found.left); ++j)
        found.direction[j] =
            found.left[j] / left_weight - (parent.totals[j] - found.left[j]) / (parent.weight - left_weight);
}

// The weighted squares of the positions of samples with one class each along `direction`.
inline double squared_lengths(const Categories& found, const Parent& parent) {
    double lengths = 0.0;
    for (Index j = 0; j < ssize(parent.totals); ++j)
        lengths += parent.totals[j] * found.direction[j] * found.direction[j];
    return lengths;
}

// Take from a subset's score the part of its gain that is put down to chance, given the weighted sum of the samples'
// squared positions along `direction`.
inline double subtract_chance(const Categories& found, const Parent& parent, double lengths, bool multilabel,
                              double score) {
    const double weight = parent.weight;
    Index n_varying = 0;
    double mean = 0.0;
    double unsplit = 0.0;
    for (Index j = 0; j < ssize(parent.totals); ++j) {
        const double total = parent.totals[j];
        unsplit += total * total / weight;
        n_varying += 0 < total && total < weight;
        mean += total * found.direction[j] / weight;
    }
    const Index n_free = multilabel ? n_varying : n_varying - 1;
    if (found.n_groups - 1 <= n_free) return score;
    double between = -weight * mean * mean;
    double squares = 0.0;
    double inverse_sizes = 0.0;
    for (Index c = 0; c < found.n_groups; ++c) {
        double position = 0.0;
        for (Index j = 0; j < ssize(parent.totals); ++j) position += found.sums(c)[j] * found.direction[j];
        between += position * position / found.weights[c];
        squares += found.squared_weights[c];
        inverse_sizes += found.squared_weights[c] / found.weights[c];
    }
    const double evidence = (inverse_sizes - squares / weight) / (weight - squares / weight);
    const double n_choices = static_cast<double>(found.n_groups) - 1.0;
    const double choices = (n_choices - static_cast<double>(n_free)) / n_choices;
    const double expected = (lengths - weight * mean * mean) * evidence * choices;
    return unsplit + (score - unsplit) * std::max(0.0, 1.0 - expected / between);
}

}  // namespace fuselearn
