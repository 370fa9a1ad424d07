// Rankings of classes: the number of classes that a member scores below each class minus the number above it, summed
// over members.
//
// All pairs of classes are compared: O(members x samples x classes^2), without branches. tests/combine/test_rules.py
// compares with scipy.stats.rankdata.

#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Outputs of members: scores of shape (n_members, n_samples, n_classes).
template <class Score>
struct MemberScores {
    const Score* data;
    Index n_members, n_samples, n_classes;

    Matrix<const Score> of_member(Index k) const { return {data + k * n_samples * n_classes, n_samples, n_classes}; }
};

// A pair of classes is compared for a block of samples at once, which lie side by side.
constexpr Index leads_block_size = 64;
template <class Number>
using SampleBlock = std::array<Number, leads_block_size>;

// Turn samples into columns, and count the scores that are NaN.
template <class Score>
Index turn_block(Matrix<const Score> scores, Index start, Index n_here, std::vector<SampleBlock<Score>>& turned) {
    Index n_gaps = 0;
    for (Index i = 0; i < n_here; ++i)
        for (Index c = 0; c < scores.n_columns(); ++c) {
            const Score score = scores(start + i, c);
            turned[c][i] = score;
            n_gaps += score != score;
        }
    return n_gaps;
}

// Write the sums, of shape (n_samples, n_classes), and return how many scores are NaN. Weights that are whole numbers
// make whole sums.
template <class Score>
Index sum_leads(const MemberScores<Score>& scores, std::span<const double> weights, Matrix<double> sums,
                Interrupt& interrupt) {
    const Index n_classes = scores.n_classes;
    std::vector<SampleBlock<Score>> turned(n_classes, SampleBlock<Score>{});
    std::vector<SampleBlock<double>> leads(n_classes);
    Index n_gaps = 0;
    for (Index start = 0; start < scores.n_samples; start += leads_block_size) {
        interrupt.check();
        const Index n_here = std::min(leads_block_size, scores.n_samples - start);
        for (auto& of_class : leads) of_class.fill(0.0);
        for (Index k = 0; k < scores.n_members; ++k) {
            n_gaps += turn_block(scores.of_member(k), start, n_here, turned);
            const double weight = weights[k];
            for (Index one = 0; one < n_classes; ++one)
                for (Index other = one + 1; other < n_classes; ++other)
                    for (Index i = 0; i < leads_block_size; ++i) {
                        const double lead = (turned[one][i] > turned[other][i] ? weight : 0.0) -
                                            (turned[one][i] < turned[other][i] ? weight : 0.0);
                        leads[one][i] += lead;
                        leads[other][i] -= lead;
                    }
        }
        for (Index i = 0; i < n_here; ++i)
            for (Index c = 0; c < n_classes; ++c) sums(start + i, c) = leads[c][i];
    }
    return n_gaps;
}

}  // namespace fuselearn
