// The best split of a category feature: which categories go left.
//
// With two classes the categories are ordered by the fraction of the second class, and the best of the cuts along that
// order is the best of all subsets (Breiman et al. 1984). With more classes all subsets of up to 10 categories are
// tried, in the order of a Gray code; beyond that, categories are ordered along the first principal axis of their class
// fractions (Coppersmith, Hong and Hosking 1999) and the cuts along that order are tried.
// tests/core/test_subsets.py compares with all subsets.

#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "sampling/random.hpp"
#include "support/views.hpp"
#include "trees/categories.hpp"
#include "trees/criterion.hpp"
#include "trees/settings.hpp"

namespace fuselearn {

constexpr Index exhaustive_categories = 10;
constexpr int power_steps = 30;
constexpr double no_subset = -1.0;  // the score if no subset leaves enough samples on both sides

// The left side of a subset that categories join and leave one by one.
class SubsetSide {
public:
    SubsetSide(Categories& found, const Parent& parent, const Limits& limits)
        : found_(found), parent_(parent), min_leaf_(static_cast<double>(limits.min_leaf)) {
        std::fill(found.left.begin(), found.left.end(), 0.0);
    }

    void move(Index c, double sign) {
        const auto sums = found_.sums(c);
        for (Index j = 0; j < ssize(sums); ++j) found_.left[j] += sign * sums[j];
        weight_ += sign * found_.weights[c];
        count_ += sign * found_.counts[c];
    }
    bool leaves_enough() const { return count_ >= min_leaf_ && parent_.n_copies - count_ >= min_leaf_; }
    double score() const {
        double left_squares = 0.0, right_squares = 0.0;
        for (Index j = 0; j < ssize(found_.left); ++j) {
            const double left = found_.left[j], right = parent_.totals[j] - left;
            left_squares += left * left;
            right_squares += right * right;
        }
        return left_squares / weight_ + right_squares / (parent_.weight - weight_);
    }

private:
    Categories& found_;
    const Parent& parent_;
    double min_leaf_;
    double weight_ = 0.0;
    double count_ = 0.0;
};

// Try all subsets: each differs from the last by one category.
inline double try_all_subsets(Categories& found, const Parent& parent, const Limits& limits) {
    SubsetSide side(found, parent, limits);
    double best = no_subset;
    Index best_code = 0;
    for (Index step = 1; step < Index{1} << (found.n_groups - 1); ++step) {
        const int moved = std::countr_zero(static_cast<std::size_t>(step));
        const Index code = step ^ (step >> 1);
        side.move(moved, (code >> moved) & 1 ? 1.0 : -1.0);
        if (!side.leaves_enough()) continue;
        if (const double score = side.score(); score > best) {
            best = score;
            best_code = code;
        }
    }
    for (Index c = 0; c < found.n_groups; ++c) found.is_left[c] = (best_code >> c) & 1;
    return best;
}

// Try the cuts along the order of the categories' positions.
inline double try_cuts_along(Categories& found, const Parent& parent, const Limits& limits) {
    const std::span order(found.order.data(), static_cast<std::size_t>(found.n_groups));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return found.positions[a] < found.positions[b]; });
    SubsetSide side(found, parent, limits);
    double best = no_subset;
    Index best_size = 0;
    for (Index k = 0; k + 1 < found.n_groups; ++k) {
        side.move(order[k], 1.0);
        if (!side.leaves_enough()) continue;
        if (const double score = side.score(); score > best) {
            best = score;
            best_size = k + 1;
        }
    }
    for (Index k = 0; k < found.n_groups; ++k) found.is_left[order[k]] = k < best_size;
    return best;
}

// Let each category go left or right by a bit that the key and its code decide.
inline double try_random_subset(Categories& found, const Parent& parent, const Limits& limits, Key key) {
    SubsetSide side(found, parent, limits);
    for (Index c = 0; c < found.n_groups; ++c) {
        found.is_left[c] = mix(key, static_cast<std::uint64_t>(found.codes[c])) & 1;
        if (found.is_left[c]) side.move(c, 1.0);
    }
    return side.leaves_enough() ? side.score() : no_subset;
}

// Place each category along the first principal axis of the class fractions, found by power steps.
//
// A category has few of many classes, so that steps run over the entries that are not zero: as many as there are
// samples, at most. The positions' weighted mean is zero, which is why the axis needs no centering.
inline void place_on_principal_axis(Categories& found, const Parent& parent) {
    struct Entry {
        Index label;
        double sum;
    };
    const Index n_classes = ssize(parent.totals);
    std::vector<Index> starts{0};
    std::vector<Entry> entries;
    Index heaviest = 0;
    for (Index c = 0; c < found.n_groups; ++c) {
        if (found.weights[c] > found.weights[heaviest]) heaviest = c;
        const auto sums = found.sums(c);
        for (Index j = 0; j < n_classes; ++j)
            if (sums[j] != 0.0) entries.push_back({j, sums[j]});
        starts.push_back(ssize(entries));
    }
    std::vector<double> axis(n_classes);
    for (Index j = 0; j < n_classes; ++j)
        axis[j] = found.sums(heaviest)[j] / found.weights[heaviest] - parent.totals[j] / parent.weight;
    for (int step = 0; step < power_steps; ++step) {
        double center = 0.0;
        for (Index j = 0; j < n_classes; ++j) center += parent.totals[j] / parent.weight * axis[j];
        for (Index c = 0; c < found.n_groups; ++c) {
            double position = 0.0;
            for (Index k = starts[c]; k < starts[c + 1]; ++k) position += entries[k].sum * axis[entries[k].label];
            found.positions[c] = position / found.weights[c] - center;
        }
        std::fill(axis.begin(), axis.end(), 0.0);
        for (Index c = 0; c < found.n_groups; ++c)
            for (Index k = starts[c]; k < starts[c + 1]; ++k)
                axis[entries[k].label] += found.positions[c] * entries[k].sum;
        double length = 0.0;
        for (const double part : axis) length += part * part;
        if (length == 0.0) break;
        for (double& part : axis) part /= std::sqrt(length);
    }
}

// Find the best subset of the groups of categories; return its score. A key other than 0 makes the choice random.
inline double find_subset(Categories& found, const Parent& parent, const Limits& limits, Key key) {
    if (found.n_groups < 2) return no_subset;
    if (key != 0) return try_random_subset(found, parent, limits, key);
    const Index n_values = ssize(parent.totals);
    // The fractions of two classes, or of one label, already lie on a line.
    const bool on_a_line = n_values == 1 || (n_values == 2 && !limits.multilabel);
    if (!on_a_line && found.n_groups <= exhaustive_categories) return try_all_subsets(found, parent, limits);
    if (on_a_line) {
        for (Index c = 0; c < found.n_groups; ++c) found.positions[c] = found.sums(c)[n_values - 1] / found.weights[c];
    } else {
        place_on_principal_axis(found, parent);
    }
    return try_cuts_along(found, parent, limits);
}

}  // namespace fuselearn
