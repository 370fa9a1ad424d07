// Prune a tree as rpart does: by misclassification risk, relative to the root's. One pass over the nodes.
//
// The complexity of a split is
//
//     (risk of the node - risk of the leaves below it) / number of splits below it,
//
// excluding descendants that are pruned before it. Splits whose complexity is at most `complexity` times the root's
// risk are pruned, from the leaves upward. This is Breiman's cost-complexity pruning with misclassification as the
// cost, unlike scikit-learn's ccp_alpha, whose cost is the impurity. tests/core/test_pruning.py compares with outputs
// of rpart.

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/views.hpp"
#include "tables/coding.hpp"
#include "trees/criterion.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// Turn splits that are not worth more than `min_worth` into leaves.
inline void collapse(Tree& tree, double min_worth, bool multilabel) {
    struct Below {
        double risk;          // of the node as a leaf
        double subtree_risk;  // of the leaves below it
        double worth;
        Index n_splits;
    };
    std::vector<Below> below(tree.nodes.size());
    for (Index k = tree.n_nodes() - 1; k >= 0; --k) {
        Node& node = tree.nodes[k];
        const double own_risk = risk(tree.value_matrix().row(k), node.weight, multilabel);
        below[k] = {own_risk, own_risk, min_worth, 0};
        if (node.is_leaf()) continue;
        const Below* first = &below[node.left];
        const Below* second = &below[node.left + 1];
        if (second->worth <= first->worth) std::swap(first, second);
        double subtree_risk = first->subtree_risk + second->subtree_risk;
        Index n_splits = first->n_splits + second->n_splits + 1;
        double worth = (own_risk - subtree_risk) / static_cast<double>(n_splits);
        // A child that is worth less than its parent collapses before it and does not count.
        for (const Below* child : {first, second}) {
            if (!(worth > child->worth)) break;
            subtree_risk += child->risk - child->subtree_risk;
            n_splits -= child->n_splits;
            worth = (own_risk - subtree_risk) / static_cast<double>(n_splits);
        }
        if (worth <= min_worth)
            node.feature = -1;
        else
            below[k] = {own_risk, subtree_risk, worth, n_splits};
    }
}

// The nodes that can be reached from the root, level by level, so that a tree is the same however it grew.
inline Tree compact(const Tree& grown, const Coding& coding) {
    std::vector<Index> order{0};
    order.reserve(grown.nodes.size());
    for (Index k = 0; k < ssize(order); ++k)
        if (const Node& node = grown.nodes[order[k]]; !node.is_leaf()) {
            order.push_back(node.left);
            order.push_back(node.left + 1);
        }
    Tree tree;
    tree.n_values = grown.n_values;
    tree.nodes.reserve(order.size());
    tree.values.reserve(order.size() * grown.n_values);
    std::int32_t next_child = 1;
    for (const Index k : order) {
        Node node = grown.nodes[k];
        const auto values = grown.value_matrix().row(k);
        tree.values.insert(tree.values.end(), values.begin(), values.end());
        if (node.is_leaf()) {
            node.clear_split();
        } else {
            node.left = next_child;
            next_child += 2;
            if (node.is_category) {
                const auto first = grown.subsets.begin() + node.cut;
                node.cut = static_cast<std::int32_t>(tree.subsets.size());
                tree.subsets.insert(tree.subsets.end(), first, first + (coding.missing_code(node.feature) + 31) / 32);
            }
        }
        tree.nodes.push_back(node);
    }
    return tree;
}

}  // namespace fuselearn
