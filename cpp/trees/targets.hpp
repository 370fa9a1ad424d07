// The target of the samples of a table, and the samples drawn for one tree.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// One class per sample.
struct ClassTarget {
    static constexpr bool multilabel = false;
    std::span<const std::int32_t> classes;
    Index n_values = 0;

    Index n_samples() const { return ssize(classes); }
    void add(Index i, double weight, std::span<double> sums) const { sums[classes[i]] += weight; }
};

// A list of labels per sample: those of sample i are labels[starts[i]] to labels[starts[i + 1] - 1].
struct LabelTarget {
    static constexpr bool multilabel = true;
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> labels;
    Index n_values = 0;

    Index n_samples() const { return ssize(starts) - 1; }
    std::span<const std::int32_t> of(Index i) const { return labels.subspan(starts[i], starts[i + 1] - starts[i]); }
    void add(Index i, double weight, std::span<double> sums) const {
        for (const std::int32_t label : of(i)) sums[label] += weight;
    }
};

// How often each sample was drawn, and whole weights, which are the counts where there are no others.
struct Draw {
    std::span<const std::int32_t> counts;
    std::span<const std::int32_t> weights;

    bool weighted() const { return weights.data() != counts.data(); }
    std::vector<std::uint32_t> list() const {
        std::vector<std::uint32_t> drawn(counts.size());
        Index n_drawn = 0;
        for (Index i = 0; i < ssize(counts); ++i) {
            drawn[n_drawn] = static_cast<std::uint32_t>(i);
            n_drawn += counts[i] > 0;
        }
        drawn.resize(n_drawn);
        return drawn;
    }
};

// Replace the class weights in every node by sums of the given weights, as a tree is grown on rounded ones.
template <class Target, class CodeOf>
void weigh(Tree& tree, const Target& target, const Draw& draw, std::span<const double> weights, const CodeOf& leaf_of) {
    std::fill(tree.values.begin(), tree.values.end(), 0.0);
    for (Node& node : tree.nodes) node.weight = 0.0;
    const auto values = [&tree](Index k) {
        return std::span<double>(tree.values.data() + k * tree.n_values, static_cast<std::size_t>(tree.n_values));
    };
    for (Index i = 0; i < ssize(draw.counts); ++i) {
        if (draw.counts[i] <= 0) continue;
        const Index leaf = leaf_of(i);
        target.add(i, weights[i], values(leaf));
        tree.nodes[leaf].weight += weights[i];
    }
    for (Index k = tree.n_nodes() - 1; k >= 0; --k) {
        Node& node = tree.nodes[k];
        if (node.is_leaf()) continue;
        node.weight += tree.nodes[node.left].weight + tree.nodes[node.left + 1].weight;
        for (const Index child : {Index{node.left}, Index{node.left} + 1})
            for (Index j = 0; j < tree.n_values; ++j) values(k)[j] += values(child)[j];
    }
}

}  // namespace fuselearn
