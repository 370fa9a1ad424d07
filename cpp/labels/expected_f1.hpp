// The number of most probable labels with the largest expected F1 (Ye, Chai, Lee and Chieu, 2012).
//
// O(labels^2) per sample, by recursions over the labels. tests/multilabel/decisions/test_sets.py pins it against
// sums over all sets of labels.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

class BestSize {
public:
    // `empty` is the F1 of an empty set with an empty true set.
    explicit BestSize(double empty) : empty_(empty) {}

    // Return the best number of labels with these falling probabilities, none of which is 0.
    Index find(std::span<const double> p) {
        n_sizes_ = largest_candidate(p) + 1;
        count_true_labels(p);
        // inverses[a] = s_k(a), for k from the last label down; each step knows one a less.
        Index n_inverses = ssize(p) + n_sizes_;
        inverses_.resize(n_inverses);
        for (Index a = 1; a < n_inverses; ++a) inverses_[a] = 1.0 / static_cast<double>(a);
        expected_.assign(n_sizes_, 0.0);
        for (Index k = ssize(p); k > 0; --k) {
            if (k < n_sizes_)
                for (Index i = 1; i <= k; ++i)
                    expected_[k] += 2.0 * static_cast<double>(i) * chances_[k * n_sizes_ + i] * inverses_[k + i];
            --n_inverses;
            const double probability = p[k - 1];
            for (Index a = 1; a < n_inverses; ++a)
                inverses_[a] = probability * inverses_[a + 1] + (1.0 - probability) * inverses_[a];
        }
        double none = 1.0;
        for (const double probability : p) none *= 1.0 - probability;
        expected_[0] = empty_ * none;
        return std::max_element(expected_.begin(), expected_.end()) - expected_.begin();
    }

private:
    // The last size whose upper bound reaches the best lower bound.
    static Index largest_candidate(std::span<const double> p) {
        double total = 0.0;
        for (const double probability : p) total += probability;
        double best_lower = 0.0, running = 0.0;
        for (Index k = 1; k <= ssize(p); ++k) {
            running += p[k - 1];
            best_lower = std::max(best_lower, 2.0 * running / (static_cast<double>(k) + 1.0 + total));
        }
        Index largest = 0;
        running = 0.0;
        for (Index k = 1; k <= ssize(p); ++k) {
            running += p[k - 1];
            if (2.0 * running / (static_cast<double>(k) + running) >= best_lower * (1.0 - 1e-12)) largest = k;
        }
        return largest;
    }

    // chances[k, i] = P(T_k = i), the probability that i of the first k labels are true.
    void count_true_labels(std::span<const double> p) {
        chances_.assign(n_sizes_ * n_sizes_, 0.0);
        const Matrix<double> chances(chances_.data(), n_sizes_, n_sizes_);
        chances(0, 0) = 1.0;
        for (Index k = 1; k < n_sizes_; ++k) {
            const double probability = p[k - 1];
            chances(k, 0) = (1.0 - probability) * chances(k - 1, 0);
            for (Index i = 1; i <= k; ++i)
                chances(k, i) = probability * chances(k - 1, i - 1) + (1.0 - probability) * chances(k - 1, i);
        }
    }

    double empty_;
    Index n_sizes_ = 0;
    std::vector<double> chances_, inverses_, expected_;
};

// Write the best number of labels for each row of falling probabilities.
inline void find_best_sizes(Matrix<const double> ordered, double empty, std::span<std::int64_t> sizes,
                            Interrupt& interrupt) {
    BestSize best_size(empty);
    for (Index i = 0; i < ordered.n_rows(); ++i) {
        interrupt.check();
        const auto p = ordered.row(i);
        // Labels with probability 0 are last and have no effect.
        const auto n_impossible = static_cast<std::size_t>(std::count(p.begin(), p.end(), 0.0));
        sizes[i] = best_size.find(p.first(p.size() - n_impossible));
    }
}

}  // namespace fuselearn
