// Means of the middle: what members say about a cell, less the smallest and the largest values.
//
// A selection network compares the same pairs of members for all cells, so a block of cells needs no branch. Costs
// O(pairs x cells). tests/combine/test_order_statistics.py pins it against np.median and scipy.stats.trim_mean.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Members whose values are brought in order, the smaller one first.
struct SelectionNetwork {
    Matrix<const std::int64_t> pairs;  // of shape (n_pairs, 2)
    Index n_cut;                       // how many values at each end are left out
};

// Write the means, one for each column of `values`, and return how many values are NaN: their cells have no mean.
template <class Value>
Index average_middle(Matrix<const Value> values, const SelectionNetwork& network, std::span<double> means,
                     Interrupt& interrupt) {
    constexpr Index block_size = 64;
    using Block = std::array<Value, block_size>;
    const Index n_members = values.n_rows(), n_cells = values.n_columns();
    std::vector<Block> block(n_members, Block{});
    Index n_gaps = 0;
    for (Index start = 0; start < n_cells; start += block_size) {
        interrupt.check();
        const Index n_here = std::min(block_size, n_cells - start);
        for (Index k = 0; k < n_members; ++k) {
            const auto source = values.row(k).subspan(start, n_here);
            std::copy(source.begin(), source.end(), block[k].begin());
            for (const Value value : source) n_gaps += value != value;
        }
        for (Index pair = 0; pair < network.pairs.n_rows(); ++pair) {
            Block& low = block[network.pairs(pair, 0)];
            Block& high = block[network.pairs(pair, 1)];
            for (Index i = 0; i < block_size; ++i) {
                const Value one = low[i], other = high[i];
                low[i] = std::min(one, other);
                high[i] = std::max(one, other);
            }
        }
        std::array<double, block_size> total{};
        for (Index k = network.n_cut; k < n_members - network.n_cut; ++k)
            for (Index i = 0; i < block_size; ++i) total[i] += static_cast<double>(block[k][i]);
        const auto n_kept = static_cast<double>(n_members - 2 * network.n_cut);
        for (Index i = 0; i < n_here; ++i) means[start + i] = total[i] / n_kept;
    }
    return n_gaps;
}

}  // namespace fuselearn
