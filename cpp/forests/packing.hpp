// Packing trees into a forest, see packed.hpp.
//
// The cost is two passes over the nodes and a sort of the distinct thresholds, which in large forests are few compared
// with nodes. Trees must be valid for the features, see trees/soundness.hpp.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "forests/packed.hpp"
#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// Collect distinct numbers, by hashing, since many thresholds are equal.
class DistinctNumbers {
public:
    void add(double number) {
        number += 0.0;  // one zero
        if (2 * (ssize(numbers_) + 1) > ssize(slots_)) grow();
        std::uint32_t& slot = slot_of(number);
        if (slot != 0) return;
        numbers_.push_back(number);
        slot = static_cast<std::uint32_t>(numbers_.size());
    }

    Index size() const { return ssize(numbers_); }
    std::vector<double> take_sorted() {
        std::sort(numbers_.begin(), numbers_.end());
        return std::move(numbers_);
    }

private:
    std::uint32_t& slot_of(double number) {
        const std::size_t last = slots_.size() - 1;
        std::size_t s =
            static_cast<std::size_t>((std::bit_cast<std::uint64_t>(number) * 0x9E3779B97F4A7C15u) >> 20) & last;
        while (slots_[s] != 0 && numbers_[slots_[s] - 1] != number) s = (s + 1) & last;
        return slots_[s];
    }

    void grow() {
        slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0);
        for (std::size_t k = 0; k < numbers_.size(); ++k) slot_of(numbers_[k]) = static_cast<std::uint32_t>(k + 1);
    }

    std::vector<double> numbers_;
    std::vector<std::uint32_t> slots_;  // 0, or one more than an index in numbers_
};

// The features that the splits of a forest use, and the thresholds of each.
struct SplitValues {
    std::vector<std::int32_t> column_of;  // of each feature, -1 if nothing splits it
    std::vector<Index> features;
    std::vector<DistinctNumbers> thresholds;
    Index n_nodes = 0;

    // Whether codes of two bytes do.
    bool is_narrow(std::span<const std::int32_t> n_categories) const {
        constexpr Index most = std::numeric_limits<std::uint16_t>::max() - 1;
        if (2 * ssize(features) * n_abreast > most) return false;
        for (std::size_t c = 0; c < features.size(); ++c)
            if (std::max<Index>(thresholds[c].size(), n_categories[static_cast<std::size_t>(features[c])] + 1) > most)
                return false;
        return true;
    }
};

inline SplitValues collect_splits(std::span<const Tree* const> trees, Index n_features, Interrupt& interrupt) {
    SplitValues splits;
    splits.column_of.assign(static_cast<std::size_t>(n_features), -1);
    for (const Tree* tree : trees) {
        interrupt.check();
        splits.n_nodes += tree->n_nodes();
        for (const Node& node : tree->nodes) {
            if (node.is_leaf()) continue;
            std::int32_t& column = splits.column_of[static_cast<std::size_t>(node.feature)];
            if (column < 0) {
                column = static_cast<std::int32_t>(splits.features.size());
                splits.features.push_back(node.feature);
                splits.thresholds.emplace_back();
            }
            if (!node.is_category) splits.thresholds[static_cast<std::size_t>(column)].add(node.threshold);
        }
    }
    return splits;
}

// The number of a leaf, given its node among those of all trees; by default leaves are numbered through.
class LeafNumbers {
public:
    explicit LeafNumbers(std::span<const std::int32_t> given) : given_(given) {}
    std::uint32_t next(Index node) {
        return given_.empty() ? n_leaves_++ : static_cast<std::uint32_t>(given_[static_cast<std::size_t>(node)]);
    }

private:
    std::span<const std::int32_t> given_;
    std::uint32_t n_leaves_ = 0;
};

// Append the subset of a category split, and behind it where unknown categories and missing values go.
inline std::uint32_t append_subset(std::vector<std::uint32_t>& subsets, const Tree& tree, const Node& node,
                                   Index n_categories) {
    const auto first_word = static_cast<std::uint32_t>(subsets.size());
    const Index n_words = (n_categories + 2 + 31) / 32;
    subsets.resize(subsets.size() + static_cast<std::size_t>(n_words), 0);
    std::uint32_t* const words = subsets.data() + first_word;
    const auto set = [words](Index code) { words[code / 32] |= 1u << (code % 32); };
    for (Index c = 0; c < n_categories; ++c)
        if ((tree.subsets[static_cast<std::size_t>(node.cut + c / 32)] >> (c % 32)) & 1u) set(c);
    if (node.heavier_left) set(n_categories);
    if (node.missing_left) set(n_categories + 1);
    return first_word;
}

template <class Code>
PackedForest<Code> pack_trees(std::span<const Tree* const> trees, SplitValues splits,
                              std::span<const std::int32_t> n_categories, LeafNumbers leaf_numbers,
                              Interrupt& interrupt) {
    PackedForest<Code> forest;
    std::vector<std::size_t> starts(1, 0);
    for (DistinctNumbers& numbers : splits.thresholds) {
        const std::vector<double> sorted = numbers.take_sorted();
        forest.thresholds.insert(forest.thresholds.end(), sorted.begin(), sorted.end());
        starts.push_back(forest.thresholds.size());
    }
    const std::span<const double> thresholds = forest.thresholds;
    for (std::size_t c = 0; c < splits.features.size(); ++c) {
        const auto own = thresholds.subspan(starts[c], starts[c + 1] - starts[c]);
        const Index feature = splits.features[c];
        forest.columns.push_back({feature, n_categories[static_cast<std::size_t>(feature)], Lookup(own, ssize(own))});
    }
    const auto rank = [&](double threshold, std::size_t column) {
        // Infinity is above all numbers, so the lookup leaves it out.
        if (threshold == std::numeric_limits<double>::infinity())
            return static_cast<Index>(starts[column + 1] - starts[column]) - 1;
        return forest.columns[column].lookup.count_not_above(threshold) - 1;
    };

    forest.nodes.reserve(static_cast<std::size_t>(splits.n_nodes));
    forest.tags.reserve(static_cast<std::size_t>(splits.n_nodes));
    for (const Tree* tree : trees) {
        interrupt.check();
        const auto root = static_cast<std::uint32_t>(forest.nodes.size());
        forest.roots.push_back(root);
        for (const Node& node : tree->nodes) {
            const auto here = static_cast<std::uint32_t>(forest.nodes.size());
            if (node.is_leaf()) {
                forest.nodes.push_back({PackedForest<Code>::no_cut, 0, here});
                forest.tags.push_back(Tag::leaf(leaf_numbers.next(here)));
                continue;
            }
            const auto column = static_cast<std::size_t>(splits.column_of[static_cast<std::size_t>(node.feature)]);
            PackedNode<Code> packed{PackedForest<Code>::no_cut, static_cast<Code>(column * n_abreast),
                                    root + static_cast<std::uint32_t>(node.left)};
            if (node.is_category) {
                forest.has_categories = true;
                forest.tags.push_back(
                    Tag::category(append_subset(forest.subsets, *tree, node, forest.columns[column].n_categories)));
            } else {
                packed.cut = static_cast<Code>(rank(node.threshold, column));
                forest.tags.push_back(Tag::numeric(node.missing_left));
            }
            forest.nodes.push_back(packed);
        }
    }
    return forest;
}

}  // namespace fuselearn
