// The best split of a node on one feature, for trees on gradients.
//
// The codes of a node move to the left side one by one; missing values may go to either side, and a category is split
// from all others. The cost is proportional to the number of codes in the node, times labels.
// tests/core/test_gradient_trees.py compares with a naive search.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "boosting/gradient_bins.hpp"
#include "boosting/gradient_sums.hpp"
#include "support/views.hpp"

namespace fuselearn {

struct GradientRules {
    Index min_leaf;
    double l2;
};

struct GradientSplit {
    double gain = 0.0;
    Index feature = -1;
    Index last_left = 0;  // of a category split, the category on the left
    Index first_right = 0;
    bool missing_left = false;
    bool has_missing = false;
};

class GradientSearch {
public:
    GradientSearch(const GradientRules& rules, Index n_labels)
        : rules_(rules), n_labels_(n_labels), left_(2 * n_labels), joined_(2 * n_labels) {}

    // Replace the best split so far if this feature has a better one.
    template <class Code>
    void look(const GradientColumn<Code>& column, const GradientNode& node, const GradientBins& bins,
              GradientSplit& best) {
        if (column.is_category)
            try_categories(column, node, bins, best);
        else
            try_cuts(column, node, bins, best);
    }

private:
    bool leaves_enough(Index n_left, Index n_samples) const {
        return std::min(n_left, n_samples - n_left) >= rules_.min_leaf;
    }

    void consider(const double* left, const GradientNode& node, const GradientSplit& split, GradientSplit& best) const {
        const double gain = score_sides(left, node.totals, n_labels_, rules_.l2) - node.score;
        if (gain > best.gain) {
            best = split;
            best.gain = gain;
        }
    }

    template <class Code>
    void try_categories(const GradientColumn<Code>& column, const GradientNode& node, const GradientBins& bins,
                        GradientSplit& best) {
        const bool has_missing = bins.count(column.missing_code) > 0;
        for (const std::int32_t code : bins.codes())
            if (leaves_enough(bins.count(code), ssize(node.samples)))
                consider(bins.sums(code), node,
                         {0.0, column.feature, code, code, code == column.missing_code, has_missing}, best);
    }

    template <class Code>
    void try_cuts(const GradientColumn<Code>& column, const GradientNode& node, const GradientBins& bins,
                  GradientSplit& best) {
        const Index n_samples = ssize(node.samples);
        const Index n_missing = bins.count(column.missing_code);
        std::fill(left_.begin(), left_.end(), 0.0);
        Index n_left = 0;
        Index last = -1;
        for (const Index code : bins.codes()) {
            if (last >= 0 && leaves_enough(n_left, n_samples))
                consider(left_.data(), node, {0.0, column.feature, last, code, false, n_missing > 0}, best);
            if (last >= 0 && n_missing > 0 && code < column.missing_code &&
                leaves_enough(n_left + n_missing, n_samples)) {
                std::copy(left_.begin(), left_.end(), joined_.begin());
                add_to(joined_.data(), bins.sums(column.missing_code), bins.width());
                consider(joined_.data(), node, {0.0, column.feature, last, code, true, true}, best);
            }
            add_to(left_.data(), bins.sums(code), bins.width());
            n_left += bins.count(code);
            last = code;
        }
    }

    GradientRules rules_;
    Index n_labels_;
    std::vector<double> left_;
    std::vector<double> joined_;
};

}  // namespace fuselearn
