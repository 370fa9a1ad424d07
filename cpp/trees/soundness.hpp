// Checks that nodes form a valid tree, and that a tree is valid for a table.
//
// Trees are restored from files, pickles and other processes. Kernels do not check bounds, so everything used as an
// index is checked once, when a tree is restored. The cost is one pass over the nodes.

#pragma once

#include <limits>
#include <vector>

#include "tables/coding.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// A sentence's end ("has children out of place"), or nullptr for a sound tree. Every node but the root must be the
// child of exactly one earlier node, so that every descent ends.
inline const char* find_fault(const Tree& tree) {
    const Index n_nodes = tree.n_nodes();
    if (n_nodes == 0) return "is missing";
    std::vector<bool> has_parent(n_nodes, false);
    for (Index k = 0; k < n_nodes; ++k) {
        const Node& node = tree.nodes[k];
        if (k > 0 && !has_parent[k]) return "has no parent or several";
        if (node.is_leaf()) {
            if (node.is_category) return "takes numbers for categories, or categories for numbers";
            continue;
        }
        const Index left = node.left;
        if (left <= k || left + 1 >= n_nodes) return "has children out of place";
        if (has_parent[left] || has_parent[left + 1]) return "has no parent or several";
        has_parent[left] = has_parent[left + 1] = true;
        if (node.is_category && (node.cut < 0 || node.cut > ssize(tree.subsets)))
            return "refers to categories out of place";
        // Infinity is above all numbers, but not above missing ones.
        if (!node.is_category && !(node.threshold > -std::numeric_limits<double>::infinity()))
            return "has a threshold that is no number";
    }
    return nullptr;
}

// The same for a sound tree beside columns with so many categories each, 0 for a numeric column.
template <class CategoriesOf>
const char* find_misfit(const Tree& tree, Index n_columns, const CategoriesOf& n_categories_of) {
    for (const Node& node : tree.nodes) {
        if (node.is_leaf()) continue;
        if (node.feature >= n_columns) return "splits a column that does not exist";
        const Index n_categories = n_categories_of(node.feature);
        if (node.is_category != (n_categories > 0)) return "takes numbers for categories, or categories for numbers";
        if (node.is_category && node.cut + (n_categories + 31) / 32 > ssize(tree.subsets))
            return "refers to categories out of place";
    }
    return nullptr;
}

inline const char* find_misfit(const Tree& tree, const Coding& coding) {
    return find_misfit(tree, coding.n_columns(), [&coding](Index f) -> Index {
        return coding.is_category_column(f) ? coding.missing_code(f) : 0;
    });
}

}  // namespace fuselearn
