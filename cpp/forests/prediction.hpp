// Sums of leaf values, and leaves, for many samples and all trees of a forest.
//
// Blocks of samples descend one tree after the other, so that its nodes stay in the processor's cache. A block is first
// sorted by the leaves of the first tree: neighboring samples then take similar paths through the other trees, reach
// leaves at similar depths, and use nodes that are in the cache. This halves the time for 100 trees of 7,000 leaves.
// tests/core/test_blocks.py compares with a naive descent.

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "forests/descent.hpp"
#include "forests/packed.hpp"
#include "forests/samples.hpp"
#include "support/interrupt.hpp"
#include "support/parallel.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Number of samples of a block: neighbors in larger blocks are more similar after sorting.
inline constexpr Index most_block_samples = 1 << 16;
// Maximum memory of a block.
inline constexpr Index most_block_bytes = 16 << 20;
// Minimum number of samples and of trees for which samples are sorted.
inline constexpr Index least_sorted_samples = 1024;
inline constexpr Index least_sorting_trees = 8;
// Minimum number of samples times trees for which threads pay off.
inline constexpr Index least_threaded_work = 500'000;

// Divide samples into blocks of about equal size, as many for each thread.
class Blocks {
public:
    Blocks(Index n_samples, Index n_trees, Index bytes_per_sample, int n_threads) : n_samples_(n_samples) {
        const Index fitting = most_block_bytes / std::max<Index>(1, bytes_per_sample);
        const Index most = std::clamp(fitting, n_abreast, most_block_samples);
        n_threads_ = n_samples * n_trees >= least_threaded_work ? std::max(1, n_threads) : 1;
        const Index n_rounds = (n_samples + most * n_threads_ - 1) / (most * n_threads_);
        const Index n_blocks = std::max<Index>(1, n_rounds * n_threads_);
        size_ = std::max(n_abreast, fill_groups((n_samples + n_blocks - 1) / n_blocks));
    }

    Index count() const { return (n_samples_ + size_ - 1) / size_; }
    Index first(Index block) const { return block * size_; }
    Index size(Index block) const { return std::min(size_, n_samples_ - first(block)); }
    int n_threads() const { return n_threads_; }

private:
    Index n_samples_;
    Index size_;
    int n_threads_;
};

// Call work(step) with the steps that the codes of a block need.
template <class Code, class Work>
void with_step(const PackedForest<Code>& forest, bool by_side, const Work& work) {
    const PackedNode<Code>* nodes = by_side ? forest.nodes_by_side().data() : forest.nodes.data();
    if (forest.has_categories)
        work(Step<Code, true>{nodes, forest.tags.data(), forest.subsets.data()});
    else
        work(Step<Code, false>{nodes, forest.tags.data(), forest.subsets.data()});
}

// Order samples by the leaf that they have reached in the first tree.
inline std::vector<std::uint32_t> order_by_leaf(std::span<const std::uint32_t> reached) {
    const std::uint32_t n_nodes = reached.empty() ? 0 : *std::max_element(reached.begin(), reached.end()) + 1;
    std::vector<std::uint32_t> next(static_cast<std::size_t>(n_nodes) + 1, 0);
    for (const std::uint32_t leaf : reached) ++next[leaf + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::uint32_t> order(reached.size());
    for (std::size_t i = 0; i < reached.size(); ++i) order[next[reached[i]]++] = static_cast<std::uint32_t>(i);
    return order;
}

// The codes of samples in another order.
template <class Code>
std::vector<Code> arrange(const CodeGroups<Code>& groups, std::span<const std::uint32_t> order) {
    std::vector<Code> arranged(groups.codes.size());
    const CodeGroups<Code> target_groups{arranged, groups.n_columns};
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Code* const source = &groups.at(order[i], 0);
        Code* const target = &target_groups.at(static_cast<Index>(i), 0);
        for (Index c = 0; c < groups.n_columns; ++c) target[c * n_abreast] = source[c * n_abreast];
    }
    return arranged;
}

// Add to each sample's sums the values of the leaves that it reaches, tree by tree.
template <class T, class Code>
void sum_block(const PackedForest<Code>& forest, const Samples<T>& samples, Matrix<const double> leaf_values,
               Matrix<double> sums, Interrupt& interrupt) {
    CodedBlock<Code> block(forest, samples);
    const Index n_values = leaf_values.n_columns();
    constexpr Index n_at_once = 512;  // leaves that are looked up before the next samples descend
    std::vector<std::uint32_t> order;
    with_step(forest, block.by_side(), [&](const auto& step) {
        if (samples.n_samples >= least_sorted_samples && forest.n_trees() >= least_sorting_trees) {
            std::vector<std::uint32_t> reached(static_cast<std::size_t>(fill_groups(samples.n_samples)));
            descend(step, forest.roots.front(), block.groups(), 0, samples.n_samples, reached.data());
            reached.resize(static_cast<std::size_t>(samples.n_samples));
            order = order_by_leaf(reached);
            block.replace(arrange(block.groups(), order));
        }
        std::fill(sums.flat().begin(), sums.flat().end(), 0.0);
        std::array<std::uint32_t, n_at_once> reached;
        for (const std::uint32_t root : forest.roots) {
            interrupt.check();
            for (Index first = 0; first < samples.n_samples; first += n_at_once) {
                const Index end = std::min(first + n_at_once, samples.n_samples);
                descend(step, root, block.groups(), first, end, reached.data());
                double* sum = sums.data() + first * n_values;
                for (Index i = first; i < end; ++i, sum += n_values) {
                    const std::uint32_t leaf = forest.tags[reached[static_cast<std::size_t>(i - first)]].number();
                    const double* const values = leaf_values.data() + static_cast<Index>(leaf) * n_values;
                    for (Index j = 0; j < n_values; ++j) sum[j] += values[j];
                }
            }
        }
    });
    if (order.empty()) return;
    const std::vector<double> sorted(sums.flat().begin(), sums.flat().end());
    for (std::size_t i = 0; i < order.size(); ++i)
        std::copy_n(sorted.begin() + static_cast<Index>(i) * n_values, n_values,
                    sums.data() + static_cast<Index>(order[i]) * n_values);
}

// Compute for each sample the sum of the values of the leaves that it reaches, one leaf per tree.
template <class T, class Code>
void sum_leaf_values(const PackedForest<Code>& forest, const Samples<T>& samples, Matrix<const double> leaf_values,
                     Matrix<double> sums, int n_threads, Interrupt& interrupt) {
    const Index n_values = leaf_values.n_columns();
    const Index n_bytes = 2 * forest.n_columns() * static_cast<Index>(sizeof(Code)) + n_values * Index{sizeof(double)};
    const Blocks blocks(samples.n_samples, forest.n_trees(), n_bytes, n_threads);
    run_pieces(blocks.count(), blocks.n_threads(), interrupt, [&](Index b) {
        const Index first = blocks.first(b);
        const Matrix<double> own(sums.data() + first * n_values, blocks.size(b), n_values);
        sum_block(forest, samples.part(first, blocks.size(b)), leaf_values, own, interrupt);
    });
}

// Find for each sample and tree the node of that tree in which the sample ends.
template <class T, class Code>
void find_leaves(const PackedForest<Code>& forest, const Samples<T>& samples, Matrix<std::int32_t> leaves,
                 int n_threads, Interrupt& interrupt) {
    constexpr Index n_at_once = 512;
    const Index n_bytes = forest.n_columns() * static_cast<Index>(sizeof(Code));
    const Blocks blocks(samples.n_samples, forest.n_trees(), n_bytes, n_threads);
    run_pieces(blocks.count(), blocks.n_threads(), interrupt, [&](Index b) {
        const Index n = blocks.size(b);
        CodedBlock<Code> block(forest, samples.part(blocks.first(b), n));
        with_step(forest, block.by_side(), [&](const auto& step) {
            std::array<std::uint32_t, n_at_once> reached;
            for (Index t = 0; t < forest.n_trees(); ++t) {
                interrupt.check();
                const std::uint32_t root = forest.roots[static_cast<std::size_t>(t)];
                for (Index first = 0; first < n; first += n_at_once) {
                    const Index end = std::min(first + n_at_once, n);
                    descend(step, root, block.groups(), first, end, reached.data());
                    for (Index i = first; i < end; ++i)
                        leaves(blocks.first(b) + i, t) =
                            static_cast<std::int32_t>(reached[static_cast<std::size_t>(i - first)] - root);
                }
            }
        });
    });
}

}  // namespace fuselearn
