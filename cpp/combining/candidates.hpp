// The score of the current sum of members with each candidate added.
//
// `values` has the output of one member per row; the cost is one pass over the rows of the candidates.
// tests/combine/test_candidates.py compares with scikit-learn's metrics.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

struct Candidates {
    Matrix<const double> values;
    std::span<const std::int64_t> members;  // rows of the candidates
};

// Average log((total + value) / size) over cells, for each candidate, by logarithms of products: sixteen probabilities
// of at least 2e-16 have a product above the smallest number.
inline void average_logarithms(const Candidates& candidates, std::span<const double> total, double size,
                               std::span<double> means, Interrupt& interrupt) {
    constexpr Index block_size = 64, n_factors = 16;
    constexpr double smallest = std::numeric_limits<double>::epsilon();
    const Index n_cells = ssize(total);
    for (Index m = 0; m < ssize(candidates.members); ++m) {
        interrupt.check();
        const auto candidate = candidates.values.row(candidates.members[m]);
        double logarithms = 0.0;
        for (Index group = 0; group < n_cells; group += block_size * n_factors) {
            std::array<double, block_size> products;
            products.fill(1.0);
            const Index group_stop = std::min(n_cells, group + block_size * n_factors);
            for (Index start = group; start < group_stop; start += block_size) {
                const Index n_here = std::min(block_size, n_cells - start);
                for (Index i = 0; i < n_here; ++i)
                    products[i] *= std::max(total[start + i] + candidate[start + i], smallest * size) / size;
            }
            for (const double product : products) logarithms += std::log(product);
        }
        means[m] = logarithms / static_cast<double>(n_cells);
    }
}

struct ScoredSamples {
    Matrix<const double> total;              // of shape (n_samples, n_classes)
    std::span<const std::int64_t> truth;     // number of the true class of each sample
    std::span<const double> weights;         // what each sample counts
    std::span<const std::int64_t> selected;  // the samples to count
};

// Count true against predicted classes, for the sum with each candidate, in tables of shape (n_classes, n_classes); the
// candidates' values have a row of n_samples x n_classes numbers.
inline void tally_classes(const Candidates& candidates, const ScoredSamples& samples, std::span<double> tables,
                          Interrupt& interrupt) {
    const Index n_classes = samples.total.n_columns();
    std::fill(tables.begin(), tables.end(), 0.0);
    for (Index m = 0; m < ssize(candidates.members); ++m) {
        interrupt.check();
        const auto candidate = candidates.values.row(candidates.members[m]);
        const auto table = tables.subspan(m * n_classes * n_classes, n_classes * n_classes);
        for (const std::int64_t i : samples.selected) {
            const auto so_far = samples.total.row(i);
            const auto added = candidate.subspan(i * n_classes, n_classes);
            double largest = so_far[0] + added[0];
            Index best = 0;
            for (Index c = 1; c < n_classes; ++c) {
                const double score = so_far[c] + added[c];
                best = score > largest ? c : best;
                largest = score > largest ? score : largest;
            }
            table[samples.truth[i] * n_classes + best] += samples.weights[i];
        }
    }
}

}  // namespace fuselearn
