// One feature in all nodes of a level of a tree on gradients.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "boosting/gradient_bins.hpp"
#include "boosting/gradient_search.hpp"
#include "boosting/gradient_sums.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Nodes that may be split: those of node k are samples[bounds[k]] to samples[bounds[k + 1] - 1].
struct GradientLevel {
    std::vector<Index> nodes;
    std::vector<Index> parents;  // position of each node's parent in the level above; siblings follow each other
    std::vector<Index> bounds{0};
    std::vector<std::int32_t> samples;

    Index size() const { return ssize(nodes); }
    bool has_sibling_behind(Index k) const { return k + 1 < size() && parents[k] == parents[k + 1]; }
    std::span<const std::int32_t> samples_of(Index k) const {
        return {samples.data() + bounds[k], static_cast<std::size_t>(bounds[k + 1] - bounds[k])};
    }
};

// The sums of a feature's codes in the nodes of a level, or nullptr where they were not kept.
using KeptBins = std::vector<std::unique_ptr<GradientBins>>;

// Whether there are so many samples for each code that subtracting sums is worth keeping them.
constexpr bool is_large(Index n_samples, Index n_codes) { return n_samples >= 4 * n_codes; }

template <class Code>
class FeatureLevel {
public:
    FeatureLevel(const GradientLevel& level, std::span<const GradientNode> nodes, const Statistics& statistics,
                 const GradientRules& rules)
        : level_(level), nodes_(nodes), statistics_(statistics), search_(rules, statistics.n_labels()) {}

    // Replace the best splits so far where this feature has better ones. `kept` holds the sums of the level above, and
    // then those of large nodes of this level if it `keeps` them.
    void look(const GradientColumn<Code>& column, bool keeps, KeptBins& kept, std::span<GradientSplit> best) {
        KeptBins above = std::exchange(kept, KeptBins(nodes_.size()));
        n_codes_ = column.missing_code + 1;
        const auto finish = [&](Index k, std::unique_ptr<GradientBins> bins) {
            search_.look(column, nodes_[k], *bins, best[k]);
            if (keeps && is_large(ssize(nodes_[k].samples), n_codes_) &&
                is_large(bins->n_added(), ssize(bins->codes()))) {
                kept[k] = std::move(bins);
            } else {
                bins->clear();
                spare_.push_back(std::move(bins));
            }
        };
        for (Index k = 0; k < level_.size(); ++k) {
            const bool is_pair = level_.has_sibling_behind(k) && !above.empty() && above[level_.parents[k]] != nullptr;
            const Index smaller = is_pair && ssize(nodes_[k + 1].samples) < ssize(nodes_[k].samples) ? k + 1 : k;
            std::unique_ptr<GradientBins> bins = make_bins();
            bins->fill(column, nodes_[smaller], statistics_);
            if (is_pair) {
                std::unique_ptr<GradientBins> rest = std::move(above[level_.parents[k]]);
                rest->subtract(*bins, column, nodes_[smaller]);
                finish(smaller == k ? k + 1 : k, std::move(rest));
                ++k;
            }
            finish(smaller, std::move(bins));
        }
    }

private:
    std::unique_ptr<GradientBins> make_bins() {
        while (!spare_.empty()) {
            std::unique_ptr<GradientBins> bins = std::move(spare_.back());
            spare_.pop_back();
            // Bins with far too much room would make what is kept too large.
            if (n_codes_ <= bins->most_codes() && bins->most_codes() <= 2 * n_codes_) return bins;
        }
        return std::make_unique<GradientBins>(n_codes_, statistics_.width());
    }

    const GradientLevel& level_;
    std::span<const GradientNode> nodes_;
    const Statistics& statistics_;
    GradientSearch search_;
    std::vector<std::unique_ptr<GradientBins>> spare_;  // all zero
    Index n_codes_ = 0;
};

}  // namespace fuselearn
