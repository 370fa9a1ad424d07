// Trees for gradient boosting of many labels: one tree for all of them, with a vector of sums in each leaf.
//
// A tree grows level by level. Features of a level are processed one after the other, each in all nodes, so that its
// sums stay in the processor's cache; threads share the features. Of two large siblings, only the samples of the
// smaller one are added; the sums of the other are its parent's minus these. The cost of a level is proportional to
// half of its samples (all samples in small nodes), times features, times labels.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "boosting/gradient_level.hpp"
#include "boosting/gradient_search.hpp"
#include "boosting/gradient_sums.hpp"
#include "support/interrupt.hpp"
#include "support/parallel.hpp"
#include "support/views.hpp"
#include "support/wide.hpp"
#include "tables/table.hpp"
#include "trees/growth.hpp"
#include "trees/splits.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

struct GradientSettings {
    Index max_depth = 6;
    Index min_leaf = 1;
    double l2 = 0.0;
    int n_threads = 1;
};

// A table and the most frequent code of each column.
class GradientTable {
public:
    explicit GradientTable(const Table& table) : table_(&table), frequent_codes_(table.n_columns()) {
        table.visit([&]<class Code>(const Matrix<const Code>&) {
            const Matrix<const Code> columns = table.by_column<Code>();
            std::vector<Index> counts;
            for (Index f = 0; f < table.n_columns(); ++f) {
                counts.assign(table.coding().missing_code(f) + 1, 0);
                for (const Code code : columns.row(f)) ++counts[code];
                frequent_codes_[f] = std::max_element(counts.begin(), counts.end()) - counts.begin();
            }
        });
    }

    const Table& table() const { return *table_; }
    Index frequent_code(Index f) const { return frequent_codes_[f]; }

private:
    const Table* table_;
    std::vector<Index> frequent_codes_;
};

template <class Code>
class GradientGrower {
public:
    GradientGrower(const GradientTable& table, const Statistics& statistics, std::span<const std::int64_t> features,
                   const GradientSettings& settings)
        : table_(table),
          coding_(table.table().coding()),
          columns_(table.table().by_column<Code>()),
          statistics_(statistics),
          features_(features),
          settings_(settings),
          rules_{settings.min_leaf, settings.l2 + least_hessian},
          growth_(coding_, statistics.width()),
          kept_(features.size()) {}

    Tree grow(std::span<const std::int32_t> samples, Interrupt& interrupt) {
        growth_.add_leaf(static_cast<double>(ssize(samples)), ssize(samples));
        sum_samples(samples, growth_.values(0));
        GradientLevel level;
        if (ssize(samples) >= 2 * settings_.min_leaf) {
            level.nodes = level.parents = {0};
            level.bounds = {0, ssize(samples)};
            level.samples.assign(samples.begin(), samples.end());
        }
        for (Index depth = 0; depth < settings_.max_depth && level.size() > 0; ++depth) {
            const bool may_grow = depth + 1 < settings_.max_depth;
            const std::vector<GradientSplit> splits = search(level, may_grow, interrupt);
            level = split_nodes(level, splits, may_grow);
            interrupt.check();
        }
        return std::move(growth_.tree());
    }

private:
    // Minimum number of (sample, feature, label) triples of a level for which threads pay off.
    static constexpr double threaded_work = 1e6;
    static constexpr Index pieces_per_thread = 4;
    // The sums of a level are kept if they are up to so many numbers.
    static constexpr Index most_kept = Index{1} << 22;

    void sum_samples(std::span<const std::int32_t> samples, std::span<double> sums) const {
        for (const std::int32_t i : samples) add_to(sums.data(), statistics_.row(i), statistics_.width());
    }

    // The best split of each node; ties go to the first feature.
    std::vector<GradientSplit> search(const GradientLevel& level, bool may_grow, Interrupt& interrupt) {
        std::vector<GradientNode> nodes;
        for (Index k = 0; k < level.size(); ++k) {
            const double* const totals = growth_.values(level.nodes[k]).data();
            const double score = score_sides(totals, totals, statistics_.n_labels(), rules_.l2) + least_gain;
            nodes.push_back({level.samples_of(k), totals, score});
        }
        const double work = static_cast<double>(ssize(level.samples)) * static_cast<double>(ssize(features_)) *
                            static_cast<double>(statistics_.width());
        const Index n_pieces = settings_.n_threads > 1 && work >= threaded_work
                                   ? std::min<Index>(settings_.n_threads * pieces_per_thread, ssize(features_))
                                   : 1;
        std::vector<std::vector<GradientSplit>> found(n_pieces, std::vector<GradientSplit>(nodes.size()));
        const bool keeps = may_grow && room_for_bins(level) <= most_kept;
        run_pieces(n_pieces, settings_.n_threads, interrupt, [&](Index piece) {
            const Index first = piece * ssize(features_) / n_pieces;
            const Index end = (piece + 1) * ssize(features_) / n_pieces;
            FeatureLevel<Code> in_level(level, nodes, statistics_, rules_);
            for (Index position = first; position < end; ++position) {
                interrupt.check();
                run_widely([&] { in_level.look(column(features_[position]), keeps, kept_[position], found[piece]); });
            }
        });
        for (Index piece = 1; piece < n_pieces; ++piece)
            for (std::size_t k = 0; k < nodes.size(); ++k)
                if (found[piece][k].gain > found[0][k].gain) found[0][k] = found[piece][k];
        return std::move(found[0]);
    }

    // Numbers that the sums of this level take if they are kept for the next one.
    Index room_for_bins(const GradientLevel& level) const {
        Index room = 0;
        for (Index k = 0; k < level.size(); ++k)
            for (const Index f : features_) {
                const Index n_codes = coding_.missing_code(f) + 1;
                if (is_large(ssize(level.samples_of(k)), n_codes)) room += n_codes * statistics_.width();
            }
        return room;
    }

    GradientColumn<Code> column(Index f) const {
        return {f, columns_.row(f).data(), coding_.missing_code(f), table_.frequent_code(f),
                coding_.is_category_column(f)};
    }

    // Write the splits of a level, and return the level below, without nodes that cannot be split.
    GradientLevel split_nodes(const GradientLevel& level, const std::vector<GradientSplit>& splits, bool may_grow) {
        GradientLevel next;
        next.samples.reserve(level.samples.size());
        std::array<std::vector<std::int32_t>, 2> sides;
        for (Index k = 0; k < level.size(); ++k) {
            if (splits[k].feature < 0) continue;
            const Split split = describe_split(splits[k], level.samples_of(k));
            const Code* const codes = columns_.row(split.feature).data();
            for (auto& side : sides) side.clear();
            for (const std::int32_t i : level.samples_of(k)) sides[split.goes_left(codes[i]) ? 0 : 1].push_back(i);
            const Index n_left = ssize(sides[0]);
            const Index child = growth_.add_children();
            sum_samples(sides[0], growth_.values(child));
            growth_.write_split(level.nodes[k], child, split, splits[k].gain, {static_cast<double>(n_left), n_left});
            for (const int side : {0, 1}) {
                if (!may_grow || ssize(sides[side]) < 2 * settings_.min_leaf) continue;
                next.nodes.push_back(child + side);
                next.parents.push_back(k);
                next.samples.insert(next.samples.end(), sides[side].begin(), sides[side].end());
                next.bounds.push_back(ssize(next.samples));
            }
        }
        return next;
    }

    // A split as trees take it: of a category split, the side of each category that is present.
    Split describe_split(const GradientSplit& found, std::span<const std::int32_t> samples) {
        Split split;
        split.feature = found.feature;
        split.last_left = found.last_left;
        split.first_right = found.first_right;
        split.missing_left = found.missing_left;
        split.has_missing = found.has_missing;
        split.missing_code = coding_.missing_code(found.feature);
        split.is_category = coding_.is_category_column(found.feature);
        if (split.is_category) {
            const Code* const codes = columns_.row(split.feature).data();
            split.sides.assign(split.missing_code + 1, Side::absent);
            for (const std::int32_t i : samples) split.sides[codes[i]] = Side::right;
            if (split.sides[found.last_left] == Side::right) split.sides[found.last_left] = Side::left;
        }
        return split;
    }

    const GradientTable& table_;
    const Coding& coding_;
    Matrix<const Code> columns_;
    const Statistics& statistics_;
    std::span<const std::int64_t> features_;
    GradientSettings settings_;
    GradientRules rules_;
    Growth growth_;
    std::vector<KeptBins> kept_;  // by feature
};

// Grow a tree on some of the samples, in ascending order, and some of the features.
inline Tree grow_gradient_tree(const GradientTable& table, Matrix<const double> given,
                               std::span<const std::int32_t> samples, std::span<const std::int64_t> features,
                               const GradientSettings& settings, Interrupt& interrupt) {
    const Statistics statistics(given);
    Tree tree = table.table().visit([&]<class Code>(const Matrix<const Code>&) {
        return GradientGrower<Code>(table, statistics, features, settings).grow(samples, interrupt);
    });
    if (tree.n_values == given.n_columns()) return tree;
    // Leave out the labels of zeros.
    const Index n_labels = given.n_columns() / 2;
    std::vector<double> values;
    values.reserve(tree.n_nodes() * given.n_columns());
    for (Index k = 0; k < tree.n_nodes(); ++k) {
        const auto sums = tree.value_matrix().row(k);
        values.insert(values.end(), sums.begin(), sums.begin() + n_labels);
        values.insert(values.end(), sums.begin() + statistics.n_labels(),
                      sums.begin() + statistics.n_labels() + n_labels);
    }
    tree.values = std::move(values);
    tree.n_values = given.n_columns();
    return tree;
}

}  // namespace fuselearn
