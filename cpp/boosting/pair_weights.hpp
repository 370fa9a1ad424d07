// The weights of (sample, label) pairs, and the criterion of a split.
//
// With W+ and W- the total weights of the samples of a side with and without a label, the best split minimizes
//
//     sum over sides and labels of sqrt(W+ W-).
//
// Sums over labels are four partial sums, combined in a fixed order, so results are the same on every processor.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

constexpr Index pair_block = 4;

// For each sample the positive weights, then the negative ones; labels of weight 0 fill the last block.
class PairWeights {
public:
    PairWeights(Matrix<const double> positive, Matrix<const double> negative)
        : n_labels_((positive.n_columns() + pair_block - 1) / pair_block * pair_block),
          values_(positive.n_rows() * width(), 0.0),
          totals_(width(), 0.0) {
        double* row = values_.data();
        for (Index i = 0; i < positive.n_rows(); ++i, row += width()) {
            std::copy_n(positive.row(i).begin(), positive.n_columns(), row);
            std::copy_n(negative.row(i).begin(), negative.n_columns(), row + n_labels_);
            for (Index j = 0; j < width(); ++j) totals_[j] += row[j];
        }
    }

    Index n_labels() const { return n_labels_; }
    Index width() const { return 2 * n_labels_; }
    const double* row(Index i) const { return values_.data() + i * width(); }
    const std::vector<double>& totals() const { return totals_; }

private:
    Index n_labels_;
    std::vector<double> values_;
    std::vector<double> totals_;
};

inline void add_pairs(double* __restrict sums, const double* __restrict row, Index width) {
    for (Index j = 0; j < width; j += pair_block)
        for (Index lane = 0; lane < pair_block; ++lane) sums[j + lane] += row[j + lane];
}

// The square roots of one label if the weights x and y are on the left, and what they leave of the totals on the right.
inline double score_label_pairs(double x, double y, double total_x, double total_y) {
    return std::sqrt(x * y) + std::sqrt(std::max(total_x - x, 0.0) * std::max(total_y - y, 0.0));
}

// The criterion of a split with these weights on the left.
inline double score_pairs(const double* left, const double* totals, Index n_labels) {
    std::array<double, pair_block> partial{};
    for (Index first = 0; first < n_labels; first += pair_block)
        for (Index lane = 0; lane < pair_block; ++lane) {
            const Index j = first + lane;
            const Index k = n_labels + j;
            partial[lane] += score_label_pairs(left[j], left[k], totals[j], totals[k]);
        }
    return (partial[0] + partial[2]) + (partial[1] + partial[3]);
}

// A lower bound of the criterion over all splits with weights on the left from `least` to `most`: the score of a label
// is a concave function of its two weights, so its minimum is at a corner.
inline double bound_pairs(const double* least, const double* most, const double* totals, Index n_labels) {
    std::array<double, pair_block> partial{};
    for (Index first = 0; first < n_labels; first += pair_block)
        for (Index lane = 0; lane < pair_block; ++lane) {
            const Index j = first + lane;
            const Index k = n_labels + j;
            const double one = std::min(score_label_pairs(least[j], least[k], totals[j], totals[k]),
                                        score_label_pairs(least[j], most[k], totals[j], totals[k]));
            const double other = std::min(score_label_pairs(most[j], least[k], totals[j], totals[k]),
                                          score_label_pairs(most[j], most[k], totals[j], totals[k]));
            partial[lane] += std::min(one, other);
        }
    return (partial[0] + partial[2]) + (partial[1] + partial[3]);
}

}  // namespace fuselearn
