// Apply a stump to samples, and convert it to a tree.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "boosting/pair_stumps.hpp"
#include "boosting/pair_table.hpp"
#include "support/views.hpp"
#include "trees/growth.hpp"
#include "trees/splits.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

inline bool goes_left(const Stump& stump, Index code, Index missing_code) {
    return code == missing_code ? stump.missing_left : stump.first <= code && code <= stump.last;
}

inline void mark_left(const PairTable& table, const Stump& stump, std::span<bool> is_left) {
    const Index f = stump.feature;
    const Index missing_code = table.coding().missing_code(f);
    std::fill(is_left.begin(), is_left.end(), goes_left(stump, table.rest_code(f), missing_code));
    const auto samples = table.samples(f);
    const auto codes = table.codes(f);
    for (Index k = 0; k < ssize(samples); ++k) is_left[samples[k]] = goes_left(stump, codes[k], missing_code);
}

// The smallest code above the cut that a sample has, or the one for missing values.
inline Index first_code_right(const PairTable& table, const Stump& stump) {
    const Index f = stump.feature;
    const auto codes = table.codes(f);
    const auto above = std::upper_bound(codes.begin(), codes.end(), stump.last);
    Index first = above == codes.end() ? table.coding().missing_code(f) : *above;
    if (ssize(codes) < table.n_samples() && table.rest_code(f) > stump.last)
        first = std::min(first, table.rest_code(f));
    return first;
}

// A tree whose leaves hold the votes of both sides, the left ones first; its weights are numbers of samples.
inline Tree make_stump_tree(const PairTable& table, const Stump& stump, Matrix<const double> votes) {
    const Index n_samples = table.n_samples();
    const std::unique_ptr<bool[]> is_left(new bool[n_samples]);
    mark_left(table, stump, {is_left.get(), static_cast<std::size_t>(n_samples)});
    const Index n_left = std::count(is_left.get(), is_left.get() + n_samples, true);

    Split split;
    split.feature = stump.feature;
    split.missing_code = table.coding().missing_code(stump.feature);
    split.is_category = table.coding().is_category_column(stump.feature);
    split.missing_left = stump.missing_left;
    split.has_missing = true;
    split.last_left = stump.last;
    if (split.is_category) {
        split.sides.assign(split.missing_code + 1, Side::right);
        split.sides[stump.first] = Side::left;
    } else {
        split.first_right = first_code_right(table, stump);
    }
    Growth growth(table.coding(), votes.n_columns());
    growth.add_leaf(static_cast<double>(n_samples), n_samples);
    const Index left = growth.add_children();
    growth.write_split(0, left, split, 0.0, {static_cast<double>(n_left), n_left});
    for (const Index side : {0, 1})
        std::copy_n(votes.row(side).begin(), votes.n_columns(), growth.values(left + side).begin());
    return std::move(growth.tree());
}

}  // namespace fuselearn
