// Grow a tree from a table, a target and the counts of drawn samples, prune it and sort its nodes.
//
// The storage of the samples depends on their number and on the number of features per node; the tree does not depend
// on the storage. tests/core/test_growing.py compares the storages.

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "support/interrupt.hpp"
#include "support/parallel.hpp"
#include "support/views.hpp"
#include "tables/sparse_table.hpp"
#include "tables/table.hpp"
#include "trees/entry_storage.hpp"
#include "trees/gathered_storage.hpp"
#include "trees/grower.hpp"
#include "trees/growth.hpp"
#include "trees/histogram_storage.hpp"
#include "trees/job.hpp"
#include "trees/pruning.hpp"
#include "trees/search.hpp"
#include "trees/settings.hpp"
#include "trees/sorted_storage.hpp"
#include "trees/targets.hpp"

namespace fuselearn {

// A tree that begins: its root, the samples drawn for it, and how it is to be grown.
struct Planted {
    Growth growth;
    std::vector<std::uint32_t> drawn;
    Limits limits;
    Root root;
};

template <class Target>
Planted plant(const Coding& coding, const Target& target, const Draw& draw, const Job& job) {
    Planted planted{Growth(coding, target.n_values), draw.list(), {}, {0, 0, job.seed}};
    double weight = 0.0;
    Index count = 0;
    for (const std::uint32_t i : planted.drawn) {
        weight += draw.weights[i];
        count += draw.counts[i];
    }
    planted.growth.reserve(std::min(ssize(planted.drawn), count / std::max<Index>(1, job.settings.min_leaf)));
    planted.growth.add_leaf(weight, count);
    const auto sums = planted.growth.values(0);
    for (const std::uint32_t i : planted.drawn) target.add(i, draw.weights[i], sums);
    planted.limits = make_limits(job.settings, coding.n_columns(), weight, risk(sums, weight, Target::multilabel),
                                 Target::multilabel);
    return planted;
}

inline Tree finish(Planted& planted, const TreeSettings& settings) {
    if (settings.complexity >= 0) collapse(planted.growth.tree(), planted.limits.min_risk, planted.limits.multilabel);
    return compact(planted.growth.tree(), planted.growth.coding());
}

// Grow in one piece, by the samples of few features in each node, or in the order of all features.
template <class Items>
void grow_whole(Planted& planted, const Table& table, Items& items, const Job& job) {
    auto& [growth, drawn, limits, root] = planted;
    Search search(table.coding(), limits, growth.tree().n_values);
    using Sorted = SortedStorage<Items>;
    const bool few = job.looks_at_few(table.n_columns());
    const Index most_sorted = std::min<Index>(job.plan.most_sorted, Sorted::most_samples);
    if (few || table.n_samples() > most_sorted) {
        table.visit([&](const auto& codes) {
            GatheredStorage storage(growth, search, job.interrupt, table, codes, items, drawn);
            storage.grow(root, few ? 0 : most_sorted, job.plan.samples_per_code);
        });
    } else if (table.n_samples() <= Table::most_sorted_samples) {
        Sorted storage(table.coding());
        storage.items() = std::move(items);
        storage.load_drawn(table, ssize(drawn), [&](Index i) { return storage.items().count(i) > 0; });
        grow_subtree(growth, storage, search, root, ssize(drawn), job.interrupt);
    } else {
        table.visit([&](const auto& codes) {
            Sorted storage(table.coding());
            grow_sorted(growth, search, storage, items, codes, drawn, root, job.interrupt);
        });
    }
}

// Grow the upper part of a tree on histograms, then the branches below it, several at a time, and join them.
template <int NClasses, class Code>
void grow_in_branches(Planted& planted, const Matrix<const Code>& codes, const ClassSamples<NClasses, false>& samples,
                      const Job& job) {
    auto& [growth, drawn, limits, root] = planted;
    const Coding& coding = growth.coding();
    const double n_codes = std::accumulate(coding.n_codes.begin(), coding.n_codes.end(), 0.0);
    const auto small_node =
        std::max(static_cast<Index>(job.plan.least_histogram),
                 static_cast<Index>(job.plan.samples_per_code * n_codes / static_cast<double>(coding.n_columns())));
    Index branch_size = ssize(drawn) / job.plan.n_branches;
    if (branch_size < job.plan.least_branch) branch_size = 0;
    Search search(coding, limits, growth.tree().n_values);
    HistogramStorage<NClasses, Code> trunk(growth, search, job.interrupt, codes, samples, drawn);
    trunk.grow(root, small_node, branch_size);

    const auto& branches = trunk.branches();
    std::vector<Tree> grown(branches.size());
    run_pieces(ssize(branches), job.n_threads, job.interrupt, [&](Index b) {
        const auto& [own_root, place] = branches[b];
        const std::span<const std::uint32_t> own(drawn.data() + place.start, static_cast<std::size_t>(place.size()));
        // A copy of the branch's samples fits the processor's cache; samples scattered over the whole table do not.
        std::vector<Code> own_codes;
        own_codes.reserve(own.size() * coding.n_columns());
        for (const std::uint32_t i : own) {
            const auto row = codes.row(i);
            own_codes.insert(own_codes.end(), row.begin(), row.end());
        }
        ClassSamples<NClasses, false> own_samples;
        own_samples.take(samples, own);
        std::vector<std::uint32_t> own_drawn(own.size());
        std::iota(own_drawn.begin(), own_drawn.end(), 0u);
        Growth branch = growth.cut_out(own_root.node);
        Search own_search(coding, limits, growth.tree().n_values);
        HistogramStorage<NClasses, Code> storage(branch, own_search, job.interrupt,
                                                 {own_codes.data(), ssize(own), coding.n_columns()}, own_samples,
                                                 own_drawn);
        storage.grow({0, own_root.depth, own_root.key}, small_node, 0);
        grown[b] = std::move(branch.tree());
    });
    for (Index b = 0; b < ssize(branches); ++b) growth.graft(grown[b], branches[b].root.node);
}

// Call work with the number of classes if it is small, else 0, and with whether there are weights, as constants.
template <class Work>
void with_constants(Index n_classes, bool weighted, const Work& work) {
    const auto with_weighted = [&]<bool Weighted>() {
        if (n_classes == 2)
            work.template operator()<2, Weighted>();
        else if (n_classes == 3)
            work.template operator()<3, Weighted>();
        else if (n_classes == 4)
            work.template operator()<4, Weighted>();
        else
            work.template operator()<0, Weighted>();
    };
    if (weighted)
        with_weighted.template operator()<true>();
    else
        with_weighted.template operator()<false>();
}

// Not inline: it takes the compiler longest, and bindings/growing.cpp alone includes this file.
// NOLINTNEXTLINE(misc-definitions-in-headers)
Tree grow_tree(const Table& table, const ClassTarget& target, const Draw& draw, const Job& job) {
    Planted planted = plant(table.coding(), target, draw, job);
    with_constants(target.n_values, draw.weighted(), [&]<int NClasses, bool Weighted>() {
        ClassSamples<NClasses, Weighted> samples;
        samples.samples.reserve(draw.counts.size());
        for (Index i = 0; i < ssize(draw.counts); ++i) samples.samples.push_back({draw.weights[i], target.classes[i]});
        samples.spread_weights();
        if constexpr (Weighted) {
            samples.counts.assign(draw.counts.begin(), draw.counts.end());
        } else if (!job.looks_at_few(table.n_columns()) && table.n_samples() > job.plan.most_presorted) {
            table.visit([&](const auto& codes) { grow_in_branches(planted, codes, samples, job); });
            return;
        }
        grow_whole(planted, table, samples, job);
    });
    return finish(planted, job.settings);
}

inline void list_samples(LabelSamples& items, const LabelTarget& target, const Draw& draw) {
    items.samples.reserve(draw.counts.size() + 1);
    for (Index i = 0; i < ssize(draw.counts); ++i)
        items.samples.push_back(
            {static_cast<double>(draw.weights[i]), static_cast<double>(draw.counts[i]), 0.0, target.of(i)});
}

inline Tree grow_tree(const Table& table, const LabelTarget& target, const Draw& draw, const Job& job) {
    Planted planted = plant(table.coding(), target, draw, job);
    LabelSamples samples;
    list_samples(samples, target, draw);
    grow_whole(planted, table, samples, job);
    return finish(planted, job.settings);
}

inline Tree grow_tree(const SparseTable& table, const LabelTarget& target, const Draw& draw, const Job& job) {
    Planted planted = plant(table.coding, target, draw, job);
    EntrySamples samples;
    list_samples(samples, target, draw);
    samples.samples.emplace_back();
    Search search(table.coding, planted.limits, target.n_values);
    EntryStorage storage(table, samples, planted.drawn);
    grow_subtree(planted.growth, storage, search, planted.root, ssize(planted.drawn), job.interrupt);
    return finish(planted, job.settings);
}

}  // namespace fuselearn
