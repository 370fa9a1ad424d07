// The trees of a forest, laid out for prediction.
//
// A packed forest compares values with thresholds as integers: the thresholds of a column over all trees are sorted, a
// node stores the rank of its threshold, and a sample is coded once, by the number of thresholds that each of its
// values reaches. Codes have two bytes unless a column has more thresholds or categories, so a node takes eight bytes.
// Node k of a tree is node roots[tree] + k of the forest. A leaf points to itself, so a group of samples can descend
// without checking which of them have reached a leaf.
//
// Rarely used data are stored separately, in one number per node: whether missing values go left, where the subset of a
// category split begins, or the index of a leaf.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "support/views.hpp"
#include "tables/lookup.hpp"

namespace fuselearn {

// Number of samples that descend together, see descent.hpp.
inline constexpr Index n_abreast = 16;

template <class Code>
struct PackedNode {
    Code cut;            // larger codes go right, none in a leaf or by category
    Code offset;         // of its column's codes in a group of samples, see descent.hpp; 0 in a leaf
    std::uint32_t left;  // the right child follows; a leaf points to itself
};

// A number per node; its lowest bits tell what the rest of it is.
class Tag {
public:
    static Tag numeric(bool missing_left) { return Tag(missing_left ? missing_left_bit : 0u); }
    static Tag category(std::uint32_t first_word) { return Tag((first_word << n_bits) | category_bit); }
    static Tag leaf(std::uint32_t number) { return Tag(number << n_bits); }

    // Not in leaves and category splits.
    bool missing_left() const { return (bits_ & missing_left_bit) != 0; }
    bool is_category() const { return (bits_ & category_bit) != 0; }
    // The number of a leaf, or the first word of a category split's subset.
    std::uint32_t number() const { return bits_ >> n_bits; }

    static constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max() >> 2;

    Tag() = default;

private:
    static constexpr std::uint32_t missing_left_bit = 1, category_bit = 2, n_bits = 2;
    explicit Tag(std::uint32_t bits) : bits_(bits) {}
    std::uint32_t bits_ = 0;
};

// A column that is split, and how its values are coded.
//
// A number is coded by how many thresholds it reaches, and a missing one by the largest Code there is. A category is
// its own code; behind the categories come one code for unknown ones and one for missing values, which have bits in the
// subsets like any other.
struct PackedColumn {
    Index feature;
    Index n_categories;  // 0 for numbers
    Lookup lookup;
};

template <class Code>
struct PackedForest {
    // The code of missing numbers; no rank and no category may come this far.
    static constexpr Code missing = std::numeric_limits<Code>::max();
    // In leaves and splits by category, so that no code goes right by it.
    static constexpr Code no_cut = std::numeric_limits<Code>::max();

    std::vector<PackedNode<Code>> nodes;
    std::vector<Tag> tags;
    std::vector<std::uint32_t> subsets;
    std::vector<std::uint32_t> roots;
    std::vector<double> thresholds;     // of all columns; the lookups refer to them
    std::vector<PackedColumn> columns;  // only those that are split
    bool has_categories = false;        // whether a split is by categories

    // The same nodes where numbers are missing, see samples.hpp: those that send missing values left look at the second
    // half of the codes. Made on first use.
    const std::vector<PackedNode<Code>>& nodes_by_side() const {
        std::call_once(*by_side_once_, [this] {
            by_side_ = nodes;
            const auto half = static_cast<Code>(n_columns() * n_abreast);
            for (std::size_t k = 0; k < by_side_.size(); ++k)
                if (tags[k].missing_left()) by_side_[k].offset = static_cast<Code>(by_side_[k].offset + half);
        });
        return by_side_;
    }

    PackedForest() = default;
    PackedForest(PackedForest&&) = default;
    PackedForest& operator=(PackedForest&&) = default;

    Index n_trees() const { return ssize(roots); }
    Index n_columns() const { return ssize(columns); }

private:
    // Behind a pointer, so that forests can be moved.
    std::unique_ptr<std::once_flag> by_side_once_ = std::make_unique<std::once_flag>();
    mutable std::vector<PackedNode<Code>> by_side_;
};

}  // namespace fuselearn
