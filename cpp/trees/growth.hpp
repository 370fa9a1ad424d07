// The nodes of a growing tree, and operations common to all storages: stopping rules, writing a split.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sampling/random.hpp"
#include "support/views.hpp"
#include "tables/coding.hpp"
#include "trees/criterion.hpp"
#include "trees/settings.hpp"
#include "trees/splits.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// A leaf from which a tree grows on.
struct Root {
    Index node = 0;
    Index depth = 0;
    Key key = 0;
};

// What a node is called once it is one side of a split.
struct Half {
    double weight = 0.0;
    Index count = 0;      // copies of samples
    Index n_samples = 0;  // samples that are listed
};

class Growth {
public:
    Growth(const Coding& coding, Index n_values) : coding_(&coding) { tree_.n_values = n_values; }

    Tree& tree() { return tree_; }
    const Tree& tree() const { return tree_; }
    const Coding& coding() const { return *coding_; }
    Index n_nodes() const { return tree_.n_nodes(); }
    const Node& node(Index k) const { return tree_.nodes[k]; }
    std::span<double> values(Index k) {
        return {tree_.values.data() + k * tree_.n_values, static_cast<std::size_t>(tree_.n_values)};
    }
    std::span<const double> values(Index k) const {
        return {tree_.values.data() + k * tree_.n_values, static_cast<std::size_t>(tree_.n_values)};
    }

    // Make room for a tree with so many leaves.
    void reserve(Index n_leaves) {
        const Index n_nodes = std::max<Index>(1, 2 * n_leaves - 1);
        tree_.nodes.reserve(n_nodes);
        tree_.values.reserve(n_nodes * tree_.n_values);
    }

    // Append a leaf without class weights.
    Index add_leaf(double weight, Index count) {
        Node& leaf = tree_.nodes.emplace_back();
        leaf.weight = weight;
        leaf.count = static_cast<std::int32_t>(count);
        tree_.values.resize(tree_.values.size() + tree_.n_values, 0.0);
        return n_nodes() - 1;
    }

    Parent describe_node(Index k) const {
        return describe(values(k), node(k).weight, static_cast<double>(node(k).count));
    }

    // Whether a node stays a leaf without a search for a split.
    bool is_terminal(Index k, Index depth, const Limits& limits) const {
        if (node(k).count < limits.min_split || depth >= limits.max_depth) return true;
        return is_pure(values(k), node(k).weight) ||
               risk(values(k), node(k).weight, limits.multilabel) <= limits.min_risk;
    }

    // Append the two children of a node that is about to be split; return the left one.
    Index add_children() {
        const Index left = add_leaf(0.0, 0);
        add_leaf(0.0, 0);
        return left;
    }

    // Turn a leaf into a split, given its left child's class weights, which are in `values` already.
    void write_split(Index k, Index left, const Split& split, double gain, const Half& half) {
        Node& parent = tree_.nodes[k];
        Node& left_child = tree_.nodes[left];
        Node& right_child = tree_.nodes[left + 1];
        left_child.weight = half.weight;
        left_child.count = static_cast<std::int32_t>(half.count);
        right_child.weight = parent.weight - half.weight;
        right_child.count = parent.count - left_child.count;
        const auto of_parent = values(k);
        const auto of_left = values(left);
        const auto of_right = values(left + 1);
        for (Index j = 0; j < tree_.n_values; ++j) of_right[j] = of_parent[j] - of_left[j];

        parent.feature = static_cast<std::int32_t>(split.feature);
        parent.left = static_cast<std::int32_t>(left);
        parent.gain = gain;
        parent.heavier_left = left_child.weight >= right_child.weight;
        if (split.is_category) {
            const Side missing = split.sides[split.missing_code];
            parent.is_category = true;
            parent.cut = static_cast<std::int32_t>(write_subset(split, parent.heavier_left));
            parent.missing_left = missing == Side::absent ? parent.heavier_left : missing == Side::left;
        } else {
            const auto [threshold, cut] = place_cut(*coding_, split.feature, split.last_left, split.first_right);
            parent.threshold = threshold;
            parent.cut = static_cast<std::int32_t>(cut);
            parent.missing_left = split.has_missing ? split.missing_left : parent.heavier_left;
        }
    }

    // Put a branch, which grew from a copy of a leaf, in the place of that leaf; its other nodes follow those of the
    // tree.
    void graft(const Tree& branch, Index k) {
        const Index first_node = n_nodes();
        const auto first_word = static_cast<std::int32_t>(tree_.subsets.size());
        const auto adopt = [&](Node node) {
            if (!node.is_leaf()) {
                node.left += static_cast<std::int32_t>(first_node) - 1;
                if (node.is_category) node.cut += first_word;
            }
            return node;
        };
        tree_.nodes[k] = adopt(branch.nodes[0]);
        for (Index other = 1; other < branch.n_nodes(); ++other) tree_.nodes.push_back(adopt(branch.nodes[other]));
        tree_.values.insert(tree_.values.end(), branch.values.begin() + branch.n_values, branch.values.end());
        tree_.subsets.insert(tree_.subsets.end(), branch.subsets.begin(), branch.subsets.end());
    }

    // A growth of its own whose root is a copy of a leaf.
    Growth cut_out(Index k) const {
        Growth branch(*coding_, tree_.n_values);
        branch.tree_.nodes.push_back(node(k));
        branch.tree_.values.assign(values(k).begin(), values(k).end());
        return branch;
    }

private:
    // Write the bits of a category split; categories absent from the node follow the heavier child.
    Index write_subset(const Split& split, bool heavier_left) {
        const Index first = ssize(tree_.subsets);
        const Index n_categories = split.missing_code;
        tree_.subsets.resize(first + (n_categories + 31) / 32, 0);
        for (Index c = 0; c < n_categories; ++c) {
            const Side side = split.sides[c];
            if (side == Side::left || (side == Side::absent && heavier_left))
                tree_.subsets[first + c / 32] |= std::uint32_t{1} << (c % 32);
        }
        return first;
    }

    const Coding* coding_;
    Tree tree_;
};

}  // namespace fuselearn
