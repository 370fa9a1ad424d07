// A tree: its nodes, the root first and every child after its parent, the weights of the classes (or labels) in each
// node, and the subsets of its category splits.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

// The layout is that of a NumPy record with aligned fields; model files and Python read it.
struct Node {
    double threshold = 0.0;     // numeric split: values below it go left
    double gain = 0.0;          // impurity removed, less what is put down to chance, in units of weight
    double weight = 0.0;        // weight of the training samples that reached the node
    std::int32_t count = 0;     // number of them, with their copies
    std::int32_t feature = -1;  // column of the split; -1 for a leaf
    std::int32_t left = -1;     // left child; the right one follows it
    std::int32_t cut = -1;      // numeric: largest code that goes left; category: first word of its subset
    bool is_category = false;
    bool missing_left = true;               // learned, or the heavier child where nothing was missing
    bool heavier_left = true;               // where unknown categories go
    std::array<std::uint8_t, 5> padding{};  // so that equal trees are equal bytes

    bool is_leaf() const { return feature < 0; }
    // Look like a leaf that was never split.
    void clear_split() {
        threshold = gain = 0.0;
        feature = left = cut = -1;
        is_category = false;
        missing_left = heavier_left = true;
    }
};
static_assert(sizeof(Node) == 48 && offsetof(Node, is_category) == 40, "the layout of NODE in nodes.py");

struct Tree {
    std::vector<Node> nodes;
    std::vector<double> values;          // n_nodes * n_values: the weight of each class or label in each node
    std::vector<std::uint32_t> subsets;  // one bit per category, from the word `cut` on; a set bit goes left
    Index n_values = 0;

    Index n_nodes() const { return ssize(nodes); }
    Matrix<const double> value_matrix() const { return {values.data(), n_nodes(), n_values}; }

    // Send a code of the node's column left or right.
    bool goes_left(const Node& node, Index code, Index missing_code) const {
        if (code == missing_code) return node.missing_left;
        if (!node.is_category) return code <= node.cut;
        const auto word = subsets[node.cut + code / 32];
        return ((word >> (code % 32)) & 1u) != 0;
    }
};

}  // namespace fuselearn
