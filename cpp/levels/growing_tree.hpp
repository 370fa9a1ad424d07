// A tree that grows level by level, from counts of samples that are stored elsewhere, in parts.
//
// Nonempty bins are the items of the common split search (trees/search.hpp), and keys of nodes are derived in the same
// way, so the tree equals the one that grow_tree grows from the same samples. If the counts of the parent were kept,
// only the sibling with fewer samples is counted.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "levels/descending.hpp"
#include "levels/level_bins.hpp"
#include "levels/level_search.hpp"
#include "sampling/random.hpp"
#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "trees/growth.hpp"
#include "trees/pruning.hpp"
#include "trees/search.hpp"
#include "trees/settings.hpp"

namespace fuselearn {

// A node of the level: what is done with it.
struct LevelNode {
    Index node;
    Key key;
    Index parent = -1;  // position in the level above
    bool grows = true;  // or it is there only for its sibling, whose counts are what it leaves of their parent's
    bool is_counted = true;
};

// Nodes that are split at a time: those from `first` to `end - 1`.
struct LevelRound {
    Index first;
    Index end;
};

class GrowingTree {
public:
    // `totals` says how many copies of samples of each class were drawn. The counts of a level are kept for the next
    // one if they are at most `most_kept` bins.
    GrowingTree(const Coding& coding, std::span<const std::int64_t> totals, const TreeSettings& settings, Key seed,
                Index most_kept)
        : settings_(settings),
          growth_(coding, ssize(totals)),
          limits_(plant(totals)),
          search_(coding, limits_, ssize(totals)),
          most_kept_(most_kept),
          level_{{0, seed}} {
        shape_.n_classes = ssize(totals);
        shape_.n_bins = std::accumulate(coding.n_codes.begin(), coding.n_codes.end(), coding.n_columns());
        shape_.squared = settings.correct_for_chance && coding.has_categories();
        start_level();
    }
    GrowingTree(const GrowingTree&) = delete;
    GrowingTree& operator=(const GrowingTree&) = delete;

    const BinShape& shape() const { return shape_; }
    Index n_features() const { return growth_.coding().n_columns(); }
    // Whether no node is left that may be split.
    bool has_grown() const { return level_.empty(); }

    // Divide the nodes of the level into groups of about so many bins that hold samples, at most. Siblings stay
    // together.
    std::vector<LevelRound> rounds(Index n_bins) const {
        std::vector<LevelRound> rounds;
        Index n_before = 0;
        for (Index k = 0; k < ssize(level_); ++k) {
            const bool follows_sibling = k > 0 && level_[k].parent == level_[k - 1].parent && level_[k].parent >= 0;
            const Index n_after = n_before + most_bins(level_[k].node);
            if (rounds.empty() || (!follows_sibling && n_after > n_bins)) {
                rounds.push_back({k, k});
                n_before = 0;
            }
            n_before += most_bins(level_[k].node);
            rounds.back().end = k + 1;
        }
        return rounds;
    }

    // The positions of the nodes of a round that parts count.
    std::vector<std::int64_t> counted_nodes(const LevelRound& round) const {
        std::vector<std::int64_t> nodes;
        for (Index k = round.first; k < round.end; ++k)
            if (level_[k].is_counted) nodes.push_back(k);
        return nodes;
    }

    // Whether nodes of the level wait for their split, and with each of them the sibling that it is derived from.
    bool is_round(const LevelRound& round) const {
        if (round.first < 0 || round.end < round.first || round.end > ssize(level_)) return false;
        const auto cuts_pair = [this](Index k) {
            return k > 0 && k < ssize(level_) && level_[k].parent >= 0 && level_[k].parent == level_[k - 1].parent &&
                   !(level_[k].is_counted && level_[k - 1].is_counted);
        };
        return !cuts_pair(round.first) && !cuts_pair(round.end) &&
               std::none_of(is_split_.begin() + round.first, is_split_.begin() + round.end, std::identity{});
    }

    // Whether the counts of a round's nodes are those of their samples.
    bool are_counts_of(const LevelRound& round, const LevelBins& bins) const {
        const std::vector<std::int64_t> nodes = counted_nodes(round);
        if (bins.nodes.size() != nodes.size()) return false;
        if (bins.shape != shape_ && !nodes.empty()) return false;
        const std::vector<Index> starts = bin_starts(growth_.coding());
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            const std::int64_t expected = growth_.node(level_[nodes[n]].node).count;
            for (Index f = 0; f < n_features(); ++f) {
                const FeatureRows rows(bins.nodes[n], starts[f], starts[f + 1]);
                std::int64_t found = 0;
                for (Index k = rows.first() * shape_.n_classes; k < rows.end() * shape_.n_classes; ++k)
                    found += bins.nodes[n].counted()[k];
                if (found != expected) return false;
            }
        }
        return true;
    }

    // Split the nodes of a round, whose samples have been counted in all parts.
    void split(const LevelRound& round, LevelBins bins, Interrupt& interrupt) {
        std::fill(is_split_.begin() + round.first, is_split_.begin() + round.end, true);
        Index n_taken = 0;
        for (Index k = round.first; k < round.end; ++k)
            if (level_[k].is_counted) own_bins_[k] = std::move(bins.nodes[n_taken++]);
        for (Index k = round.first; k < round.end; ++k)
            if (!level_[k].is_counted) derive(k);
        for (Index k = round.first; k < round.end; ++k) {
            interrupt.check();
            if (level_[k].grows) split_node(k);
        }
        for (Index k = round.first; k < round.end; ++k)
            if (!keeps_) own_bins_[k] = {};
    }

    // Move on to the next level; return the splits of this one, for samples that descend.
    LevelSplits end_level() {
        LevelSplits ended{{}, growth_.tree().subsets, std::move(children_), ssize(next_)};
        for (const LevelNode& here : level_) ended.nodes.push_back(growth_.node(here.node));
        level_ = std::move(next_);
        ++depth_;
        bins_above_ = std::move(own_bins_);
        start_level();
        return ended;
    }

    Index level_size() const { return ssize(level_); }

    // Prune the tree, put it in order and return it.
    Tree finish() {
        if (settings_.complexity >= 0) collapse(growth_.tree(), limits_.min_risk, limits_.multilabel);
        return compact(growth_.tree(), growth_.coding());
    }

private:
    Limits plant(std::span<const std::int64_t> totals) {
        const Index count = std::accumulate(totals.begin(), totals.end(), std::int64_t{0});
        const auto weight = static_cast<double>(count);
        growth_.add_leaf(weight, count);
        std::copy(totals.begin(), totals.end(), growth_.values(0).begin());
        return make_limits(settings_, growth_.coding().n_columns(), weight, risk(growth_.values(0), weight, false),
                           false);
    }

    Index most_bins(Index node) const {
        return std::min<Index>(growth_.node(node).count * n_features(), shape_.n_bins);
    }

    void start_level() {
        own_bins_.assign(level_.size(), {});
        is_split_.assign(level_.size(), false);
        children_.assign(2 * level_.size(), -1);
        next_.clear();
        Index n_bins = 0;
        for (const LevelNode& here : level_) n_bins += most_bins(here.node);
        keeps_ = n_bins <= most_kept_;
    }

    // The counts of a node that its sibling leaves of their parent's.
    void derive(Index k) {
        const bool sibling_first = k > 0 && level_[k - 1].parent == level_[k].parent;
        const Index sibling = sibling_first ? k - 1 : k + 1;
        own_bins_[k] = std::move(bins_above_[level_[k].parent]);
        own_bins_[k].combine(own_bins_[sibling], -1, shape_, aside_);
        own_bins_[k].settle(shape_);
    }

    void split_node(Index k) {
        const LevelNode here = level_[k];
        if (growth_.is_terminal(here.node, depth_, limits_)) return;  // as a root may be
        search_.begin(growth_.describe_node(here.node), here.key);
        find_level_split(search_, growth_.coding(), own_bins_[k], shape_);
        if (!search_.has_split()) return;
        const Index child = growth_.add_children();
        const Index left_count =
            sum_left(search_.split(), growth_.coding(), own_bins_[k], shape_, growth_.values(child));
        growth_.write_split(here.node, child, search_.split(), search_.gain(),
                            {static_cast<double>(left_count), left_count});
        add_children(k, child);
    }

    // Let the children go on to the next level, those that stay leaves only if their siblings need them.
    void add_children(Index k, Index child) {
        const std::array<bool, 2> grows{!growth_.is_terminal(child, depth_ + 1, limits_),
                                        !growth_.is_terminal(child + 1, depth_ + 1, limits_)};
        if (!grows[0] && !grows[1]) return;
        const int smaller = growth_.node(child).count <= growth_.node(child + 1).count ? 0 : 1;
        const bool derives = keeps_ && grows[1 - smaller];
        for (const int side : {0, 1}) {
            if (!grows[side] && !(derives && side == smaller)) continue;
            children_[2 * k + side] = ssize(next_);
            const bool is_counted = !derives || side == smaller;
            next_.push_back(
                {child + side, mix(level_[k].key, static_cast<std::uint64_t>(side)), k, grows[side], is_counted});
        }
    }

    TreeSettings settings_;
    Growth growth_;
    Limits limits_;
    Search search_;
    BinShape shape_;
    Index most_kept_;
    Index depth_ = 0;
    std::vector<LevelNode> level_;
    std::vector<LevelNode> next_;
    std::vector<std::int64_t> children_;  // positions in the next level, two for each node of the level
    std::vector<NodeBins> own_bins_;      // by position in the level
    std::vector<bool> is_split_;
    std::vector<NodeBins> bins_above_;
    NodeBins aside_;
    bool keeps_ = false;
};

}  // namespace fuselearn
