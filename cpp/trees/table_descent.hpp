// The leaves that the samples of a coded table reach in a tree.
//
// Samples of a dense table descend side by side, which takes a quarter of the time of one after the other. A node keeps
// the codes that go right as one range, so that missing values, which have the last code, need no branch; a leaf points
// to itself. Costs one pass over the nodes and a step per sample and level. The tree must fit the table, see
// trees/soundness.hpp.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "tables/sparse_table.hpp"
#include "tables/table.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// The leaf of one sample, given how to look up its code in a column.
template <class CodeOf>
Index find_leaf(const Tree& tree, const Coding& coding, const CodeOf& code_of) {
    Index k = 0;
    while (!tree.nodes[static_cast<std::size_t>(k)].is_leaf()) {
        const Node& node = tree.nodes[static_cast<std::size_t>(k)];
        const bool left = tree.goes_left(node, code_of(node.feature), coding.missing_code(node.feature));
        k = node.left + (left ? 0 : 1);
    }
    return k;
}

// The nodes of a tree as a table's samples descend them.
class TableSteps {
public:
    TableSteps(const Tree& tree, const Coding& coding) : steps_(tree.nodes.size()) {
        for (std::size_t k = 0; k < steps_.size(); ++k) {
            const Node& node = tree.nodes[k];
            if (node.is_leaf())
                steps_[k] = {0, 0, 0, static_cast<std::uint32_t>(k)};
            else if (node.is_category)
                steps_[k] = category_step(tree, node, coding.missing_code(node.feature));
            else
                steps_[k] = numeric_step(node, coding.missing_code(node.feature));
        }
    }

    bool has_categories() const { return !words_.empty(); }

    // Go one step down, given the codes of a sample; stay in a leaf.
    template <bool with_categories, class Code>
    std::uint32_t next(std::uint32_t here, const Code* codes) const {
        const Step step = steps_[here];
        const std::uint32_t code = codes[step.column];
        auto right = static_cast<std::uint32_t>(code - step.first_right < step.n_right);
        if constexpr (with_categories) {
            // Without a branch: other nodes look at the first word for nothing.
            const std::uint32_t mask = step.n_right == by_category ? ~0u : 0u;
            const std::uint32_t word = words_[(step.first_right + code / 32u) & mask];
            right = (right & ~mask) | ((word >> (code % 32u)) & mask & 1u);
        }
        return step.left + right;
    }

private:
    static constexpr std::uint32_t by_category = 0xFFFFFFFF;  // more codes than there are
    struct Step {
        std::uint32_t first_right;  // codes from here on go right; by category: the first word of those that do
        std::uint32_t n_right;      // so many; none in a leaf
        std::uint32_t column;
        std::uint32_t left;
    };

    static Step numeric_step(const Node& node, Index missing_code) {
        const Index first = Index{node.cut} + 1;
        const Index n_right =
            std::clamp<Index>(missing_code + (node.missing_left ? 0 : 1) - first, 0, missing_code + 1);
        return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(n_right),
                static_cast<std::uint32_t>(node.feature), static_cast<std::uint32_t>(node.left)};
    }

    // With a bit for each code that goes right, that of missing values included.
    Step category_step(const Tree& tree, const Node& node, Index missing_code) {
        const std::size_t first_word = words_.size();
        words_.resize(first_word + static_cast<std::size_t>(missing_code / 32 + 1), 0);
        for (Index code = 0; code <= missing_code; ++code)
            if (!tree.goes_left(node, code, missing_code))
                words_[first_word + static_cast<std::size_t>(code / 32)] |= 1u << (code % 32);
        return {static_cast<std::uint32_t>(first_word), by_category, static_cast<std::uint32_t>(node.feature),
                static_cast<std::uint32_t>(node.left)};
    }

    std::vector<Step> steps_;
    std::vector<std::uint32_t> words_;
};

// Call visit(k, leaf) for each of n samples, whose codes begin at codes_of(k).
template <bool with_categories, class CodesOf, class Visit>
void descend_table(const TableSteps& steps, Index n, const CodesOf& codes_of, Interrupt& interrupt,
                   const Visit& visit) {
    constexpr std::size_t n_abreast = 8;
    constexpr Index n_between_checks = 4096;
    using Code = std::remove_cvref_t<decltype(*codes_of(0))>;
    Index k = 0;
    for (; k + static_cast<Index>(n_abreast) <= n; k += n_abreast) {
        if (k % n_between_checks == 0) interrupt.check();
        std::array<const Code*, n_abreast> codes;
        for (std::size_t r = 0; r < n_abreast; ++r) codes[r] = codes_of(k + static_cast<Index>(r));
        std::array<std::uint32_t, n_abreast> here{};
        std::uint32_t moved = 1;
        while (moved != 0) {
            moved = 0;
            for (std::size_t r = 0; r < n_abreast; ++r) {
                const std::uint32_t next = steps.next<with_categories>(here[r], codes[r]);
                moved |= next ^ here[r];
                here[r] = next;
            }
        }
        for (std::size_t r = 0; r < n_abreast; ++r) visit(k + static_cast<Index>(r), static_cast<Index>(here[r]));
    }
    for (; k < n; ++k) {
        std::uint32_t here = 0;
        for (std::uint32_t next = 1; next != here;) {
            next = here;
            here = steps.next<with_categories>(here, codes_of(k));
        }
        visit(k, static_cast<Index>(here));
    }
}

// All samples of a table, or those with some indices.
struct Chosen {
    std::span<const std::int64_t> indices;
    Index n_all;
    bool is_all;

    Index size() const { return is_all ? n_all : ssize(indices); }
    Index operator[](Index k) const { return is_all ? k : static_cast<Index>(indices[static_cast<std::size_t>(k)]); }
};

template <class Visit>
void visit_leaves(const Tree& tree, const Table& table, const Chosen& chosen, Interrupt& interrupt,
                  const Visit& visit) {
    if (tree.n_nodes() == 1) {  // perhaps of a table without columns
        for (Index k = 0; k < chosen.size(); ++k) visit(k, 0);
        return;
    }
    const TableSteps steps(tree, table.coding());
    table.visit([&](const auto& codes) {
        const auto codes_of = [&](Index k) { return codes.row(chosen[k]).data(); };
        if (steps.has_categories())
            descend_table<true>(steps, chosen.size(), codes_of, interrupt, visit);
        else
            descend_table<false>(steps, chosen.size(), codes_of, interrupt, visit);
    });
}

template <class Visit>
void visit_leaves(const Tree& tree, const SparseTable& table, const Chosen& chosen, Interrupt& interrupt,
                  const Visit& visit) {
    constexpr Index n_between_checks = 1024;
    for (Index k = 0; k < chosen.size(); ++k) {
        if (k % n_between_checks == 0) interrupt.check();
        visit(k, find_leaf(tree, table.coding, [&](Index f) { return table.code(chosen[k], f); }));
    }
}

// The class of the largest weight in each leaf, the first of equal ones.
inline std::vector<std::int32_t> choose_classes(const Tree& tree) {
    std::vector<std::int32_t> classes(tree.nodes.size(), 0);
    for (Index k = 0; k < tree.n_nodes(); ++k) {
        if (!tree.nodes[static_cast<std::size_t>(k)].is_leaf()) continue;
        const auto values = tree.value_matrix().row(k);
        classes[static_cast<std::size_t>(k)] =
            static_cast<std::int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
    }
    return classes;
}

}  // namespace fuselearn
