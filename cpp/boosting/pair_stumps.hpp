// The best split of a table whose weights belong to (sample, label) pairs, as boosting for many labels needs it.
//
// A table of n samples with L labels is not expanded to n times L rows: samples move to the left side one by one along
// a sorted column. In a sparse table, all samples without an entry move together; their weights are the total minus
// those of the entries. Missing values may go to either side; a category is split from all others. The cost is
// proportional to the number of entries, times labels.
//
// Square roots are slow, so ranges of cuts that cannot contain the best one are skipped: the weights on the left are
// between those at the ends of the range. tests/core/test_pair_stumps.py tries all splits.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "boosting/pair_table.hpp"
#include "boosting/pair_weights.hpp"
#include "support/interrupt.hpp"
#include "support/parallel.hpp"
#include "support/views.hpp"
#include "support/wide.hpp"

namespace fuselearn {

// A split into two sides, and how good it is. The codes from `first` to `last` go left. The column is -1 if there is
// nothing to split.
struct Stump {
    double score = std::numeric_limits<double>::infinity();
    Index feature = -1;
    Index first = 0;
    Index last = 0;
    bool missing_left = false;
};

// The entries of a column without missing ones, and the samples that have none, one code after the other.
class PairWalk {
public:
    PairWalk(const PairWeights& weights, const PairTable& table, Index f, Index n_known,
             const std::vector<double>& rest)
        : weights_(&weights),
          samples_(table.samples(f).first(n_known)),
          codes_(table.codes(f).first(n_known)),
          n_rest_(table.n_samples() - ssize(table.samples(f))),
          rest_code_(table.rest_code(f)),
          rest_(rest.data()),
          rest_waits_(n_rest_ > 0),
          left_(weights.width(), 0.0) {}

    bool has_ended() const { return position_ == ssize(samples_) && !rest_waits_; }
    Index n_left() const { return n_left_; }
    Index code() const { return code_; }
    const double* left() const { return left_.data(); }
    void clear() {
        std::fill(left_.begin(), left_.end(), 0.0);
        n_left_ = 0;
    }

    // Move the samples with the next code to the left side.
    void step() {
        const bool takes_rest = rest_waits_ && (position_ == ssize(samples_) || rest_code_ <= codes_[position_]);
        code_ = takes_rest ? rest_code_ : codes_[position_];
        if (takes_rest) {
            add_pairs(left_.data(), rest_, weights_->width());
            n_left_ += n_rest_;
            rest_waits_ = false;
        }
        for (; position_ < ssize(samples_) && codes_[position_] == code_; ++position_) {
            add_pairs(left_.data(), weights_->row(samples_[position_]), weights_->width());
            ++n_left_;
        }
    }

private:
    const PairWeights* weights_;
    std::span<const std::uint32_t> samples_;
    std::span<const std::uint16_t> codes_;
    Index n_rest_;
    Index rest_code_;
    const double* rest_;
    bool rest_waits_;
    std::vector<double> left_;
    Index position_ = 0;
    Index n_left_ = 0;
    Index code_ = 0;
};

class StumpSearch {
public:
    StumpSearch(const PairTable& table, const PairWeights& weights)
        : table_(table),
          weights_(weights),
          totals_(weights.totals().data()),
          missing_(weights.width()),
          rest_(weights.width()),
          joined_(weights.width()),
          joined_ahead_(weights.width()) {}

    const Stump& best() const { return best_; }

    // Search for a better split in a column; ties go to the first one.
    void look(Index f) {
        const auto samples = table_.samples(f);
        const auto codes = table_.codes(f);
        const Index missing_code = table_.coding().missing_code(f);
        Index n_known = ssize(samples);
        while (n_known > 0 && codes[n_known - 1] == missing_code) --n_known;
        n_missing_ = ssize(samples) - n_known;
        std::fill(missing_.begin(), missing_.end(), 0.0);
        for (const std::uint32_t i : samples.subspan(n_known)) add_row(missing_, i);
        if (ssize(samples) < table_.n_samples()) sum_rest(samples);

        PairWalk walk(weights_, table_, f, n_known, rest_);
        if (table_.coding().is_category_column(f))
            try_categories(walk, f);
        else
            try_cuts(walk, f);
    }

private:
    // So many samples go left before the best cut among them is bounded; then fewer of these.
    static constexpr std::array<Index, 2> stretches{32, 8};
    // The root of what totals leave of a rounded sum is less exact than the sum.
    static constexpr double margin = 1.0 - 1e-7;

    void add_row(std::vector<double>& sums, Index i) const {
        add_pairs(sums.data(), weights_.row(i), weights_.width());
    }

    // The weights of the samples without an entry: what entries leave of all.
    void sum_rest(std::span<const std::uint32_t> samples) {
        std::fill(rest_.begin(), rest_.end(), 0.0);
        for (const std::uint32_t i : samples) add_row(rest_, i);
        for (Index j = 0; j < weights_.width(); ++j) rest_[j] = std::max(totals_[j] - rest_[j], 0.0);
    }

    void consider(const double* left, const Stump& stump) {
        const double found = score_pairs(left, totals_, weights_.n_labels());
        if (found < best_.score) {
            best_ = stump;
            best_.score = found;
        }
    }

    void try_categories(PairWalk& walk, Index f) {
        const Index missing_code = table_.coding().missing_code(f);
        if (n_missing_ > 0 && n_missing_ < table_.n_samples())  // missing values against all others
            consider(missing_.data(), {0.0, f, missing_code, missing_code, true});
        while (!walk.has_ended()) {
            walk.clear();
            walk.step();
            if (walk.n_left() == table_.n_samples()) return;
            consider(walk.left(), {0.0, f, walk.code(), walk.code(), false});
        }
    }

    void try_cuts(PairWalk& walk, Index f) {
        ahead_.assign(stretches.size(), walk);
        try_stretches<0>(walk, table_.n_samples(), f);
    }

    // Try the cuts up to so many samples on the left, in stretches of a level's length.
    template <std::size_t Level>
    void try_stretches(PairWalk& walk, Index n_left, Index f) {
        while (!walk.has_ended() && walk.n_left() < n_left) {
            PairWalk& ahead = ahead_[Level];
            ahead = walk;
            const Index end = std::min(walk.n_left() + stretches[Level], n_left);
            while (!ahead.has_ended() && ahead.n_left() < end) ahead.step();
            if (!may_hold_best(walk, ahead))
                walk = ahead;
            else if constexpr (Level + 1 < stretches.size())
                try_stretches<Level + 1>(walk, ahead.n_left(), f);
            else
                while (walk.n_left() < ahead.n_left()) try_cut(walk, f);
        }
    }

    void try_cut(PairWalk& walk, Index f) {
        walk.step();
        if (walk.n_left() == table_.n_samples()) return;
        consider(walk.left(), {0.0, f, 0, walk.code(), false});
        if (n_missing_ > 0 && !walk.has_ended()) consider(join(walk, joined_), {0.0, f, 0, walk.code(), true});
    }

    // Whether one of the cuts behind `walk` up to `ahead` may be better than the best so far.
    bool may_hold_best(const PairWalk& walk, const PairWalk& ahead) {
        if (bound(walk.left(), ahead.left()) < best_.score) return true;
        return n_missing_ > 0 && bound(join(walk, joined_), join(ahead, joined_ahead_)) < best_.score;
    }

    double bound(const double* least, const double* most) const {
        return margin * bound_pairs(least, most, totals_, weights_.n_labels());
    }

    // The weights on the left with those of the missing values.
    const double* join(const PairWalk& walk, std::vector<double>& sums) const {
        std::copy_n(walk.left(), weights_.width(), sums.begin());
        add_pairs(sums.data(), missing_.data(), weights_.width());
        return sums.data();
    }

    const PairTable& table_;
    const PairWeights& weights_;
    const double* totals_;
    std::vector<double> missing_;
    std::vector<double> rest_;
    std::vector<double> joined_;
    std::vector<double> joined_ahead_;
    Index n_missing_ = 0;
    std::vector<PairWalk> ahead_;
    Stump best_;
};

struct FeatureRange {
    Index first;
    Index end;
};

// Find the best split; ties go to the first column and the first cut.
inline Stump find_stump(const PairTable& table, const PairWeights& weights, FeatureRange features, int n_threads,
                        Interrupt& interrupt) {
    // Minimum number of (entry, label) pairs for which threads pay off.
    constexpr double threaded_work = 1e6;
    const double work = static_cast<double>(table.n_entries()) * static_cast<double>(weights.n_labels());
    const Index n_features = features.end - features.first;
    const Index n_pieces = n_threads > 1 && work >= threaded_work ? std::min<Index>(n_threads, n_features) : 1;
    std::vector<Stump> found(n_pieces);
    run_pieces(n_pieces, n_threads, interrupt, [&](Index piece) {
        StumpSearch search(table, weights);
        const Index end = features.first + (piece + 1) * n_features / n_pieces;
        for (Index f = features.first + piece * n_features / n_pieces; f < end; ++f) {
            interrupt.check();
            run_widely([&] { search.look(f); });
        }
        found[piece] = search.best();
    });
    const auto better = [](const Stump& a, const Stump& b) { return a.score < b.score; };
    return *std::min_element(found.begin(), found.end(), better);
}

}  // namespace fuselearn
