// Move the samples of a level to the nodes of the next one, in one part of a table.
//
// Samples in a node stay in order. The cost is proportional to the number of samples.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "levels/part.hpp"
#include "support/interrupt.hpp"
#include "support/prefetch.hpp"
#include "support/views.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// The split nodes of a level: their records, and the positions of their children in the next level, -1 for a missing
// child. Existing children are numbered in the order of their parents.
struct LevelSplits {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> subsets;
    std::vector<std::int64_t> children;  // two for each node
    Index n_children = 0;

    Index child(Index node, int side) const { return children[2 * node + side]; }
    bool goes_on(Index node) const { return child(node, 0) >= 0 || child(node, 1) >= 0; }
};

struct Descended {
    std::vector<std::uint32_t> samples;
    std::vector<std::int32_t> copies;
    std::vector<std::int64_t> ends;
};

template <class Code>
class Descent {
public:
    Descent(const PartColumns<Code>& columns, const LevelSplits& splits) : columns_(columns), splits_(splits) {}

    Descended descend(const DrawnSamples& drawn, Interrupt& interrupt) {
        Index n_most = 0, largest = 0;
        for (Index node = 0; node < drawn.n_nodes(); ++node)
            if (splits_.goes_on(node)) {
                n_most += drawn.size(node);
                largest = std::max(largest, drawn.size(node));
            }
        // Room for one more: a sample is written before it is known where it goes.
        next_.samples.resize(n_most + 1);
        next_.copies.resize(n_most + 1);
        next_.ends.assign(splits_.n_children, 0);
        aside_samples_.resize(largest + 1);
        aside_copies_.resize(largest + 1);
        for (Index node = 0; node < drawn.n_nodes(); ++node) {
            interrupt.check();
            if (splits_.goes_on(node)) divide(node, drawn.of(node));
        }
        next_.samples.resize(n_next_);
        next_.copies.resize(n_next_);
        return std::move(next_);
    }

private:
    void divide(Index node, const DrawnSamples& drawn) {
        const Node& split = splits_.nodes[node];
        if (split.is_category)
            deal(
                drawn, split.feature,
                [&, missing = columns_.n_codes[split.feature]](Code code) {
                    return goes_left(split, splits_.subsets, code, missing);
                },
                node);
        else
            deal(
                drawn, split.feature,
                [cut = split.cut, missing = columns_.n_codes[split.feature],
                 missing_left = split.missing_left](Code code) { return code == missing ? missing_left : code <= cut; },
                node);
    }

    // The samples on the left follow those of the nodes before, and those on the right wait aside.
    template <class GoesLeft>
    void deal(const DrawnSamples& drawn, Index f, const GoesLeft& is_left, Index node) {
        const Index last = ssize(drawn.samples) - 1;
        std::uint32_t* const samples = next_.samples.data();
        std::int32_t* const copies = next_.copies.data();
        Index n_left = n_next_, n_right = 0;
        for (Index k = 0; k <= last; ++k) {
            prefetch(columns_.row(drawn.samples[std::min(k + samples_ahead, last)]) + columns_.features[f]);
            const std::uint32_t i = drawn.samples[k];
            const bool left = is_left(columns_.code(i, f));
            samples[n_left] = aside_samples_[n_right] = i;
            copies[n_left] = aside_copies_[n_right] = drawn.copies[k];
            n_left += left;
            n_right += !left;
        }
        const Index left_child = splits_.child(node, 0), right_child = splits_.child(node, 1);
        if (left_child >= 0) {
            n_next_ = n_left;
            next_.ends[left_child] = n_next_;
        }
        if (right_child >= 0) {
            std::copy_n(aside_samples_.begin(), n_right, samples + n_next_);
            std::copy_n(aside_copies_.begin(), n_right, copies + n_next_);
            n_next_ += n_right;
            next_.ends[right_child] = n_next_;
        }
    }

    static bool goes_left(const Node& split, std::span<const std::uint32_t> subsets, Index code, Index missing_code) {
        if (code >= missing_code) return split.missing_left;
        return ((subsets[split.cut + code / 32] >> (code % 32)) & 1u) != 0;
    }

    PartColumns<Code> columns_;
    const LevelSplits& splits_;
    Descended next_;
    Index n_next_ = 0;
    std::vector<std::uint32_t> aside_samples_;
    std::vector<std::int32_t> aside_copies_;
};

}  // namespace fuselearn
