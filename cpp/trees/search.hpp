// The search for the best split of a node, for all storages of samples.
//
// The features of a node are processed one after the other, and the items of each in the order of their codes; an item
// is a sample, or a bin of samples with equal codes. Missing values, categories, random cuts and random features are
// only handled here. Ties go to the first split. The cost is proportional to the number of items, times labels per
// item.

#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "sampling/random.hpp"
#include "support/views.hpp"
#include "tables/coding.hpp"
#include "trees/categories.hpp"
#include "trees/chance.hpp"
#include "trees/criterion.hpp"
#include "trees/items.hpp"
#include "trees/random_cuts.hpp"
#include "trees/runs.hpp"
#include "trees/settings.hpp"
#include "trees/splits.hpp"
#include "trees/subsets.hpp"

namespace fuselearn {

// A feature that is looked at, and the key of its random choices, which is 0 if there are none.
struct Feature {
    Index index;
    Key key;
};
constexpr Feature no_feature{-1, 0};

class Search {
public:
    Search(const Coding& coding, const Limits& limits, Index n_values)
        : coding_(coding),
          limits_(limits),
          sums_(n_values),
          found_(coding.has_categories() ? coding.most_codes() + 1 : 0, n_values) {
        if (coding.has_categories()) split_.sides.resize(coding.most_codes() + 1);
        if (draws_features()) {
            features_.resize(coding.n_columns());
            std::iota(features_.begin(), features_.end(), Index{0});
        }
    }

    // Start the search for a new node. The gain of a split must be positive.
    void begin(const Parent& parent, Key key) {
        parent_ = parent;
        key_ = key;
        best_ = {parent.squares + limits_.min_gain * parent.weight, parent.weight};
        split_.feature = -1;
        n_tried_ = 0;
        // Undo the draws of the last node, so that those of this one depend on its key alone.
        for (; !swaps_.empty(); swaps_.pop_back())
            std::swap(features_[swaps_.back().first], features_[swaps_.back().second]);
    }

    const Split& split() const { return split_; }
    const Parent& parent() const { return parent_; }
    bool has_split() const { return split_.feature >= 0; }
    double gain() const { return best_.numerator / best_.denominator - parent_.squares / parent_.weight; }
    Key key() const { return key_; }
    const Limits& limits() const { return limits_; }
    bool draws_features() const { return limits_.max_features < coding_.n_columns(); }

    // Whether there is a split after as many features as wanted, or one that no other can be better than.
    bool has_tried_enough() const {
        // If both children are pure, no other split is better. A subset's score is rounded and might seem to be.
        const bool is_pure = best_.numerator == parent_.most * best_.denominator && !coding_.has_categories();
        return has_split() && (is_pure || n_tried_ >= limits_.max_features);
    }

    // The feature to look at in turn, or `no_feature` if enough have been looked at. If not all features are looked at,
    // it is a random other one. Constant features do not count.
    Feature next_feature(Index position) {
        if (has_tried_enough()) return no_feature;
        const Key key = limits_.random_cuts ? random_key(position) : 0;
        return {draws_features() ? draw(features_, position) : position, key};
    }

    // Swap into a position a random one of the features from there on, and return it; `begin` undoes it.
    Index draw(std::span<Index> features, Index position) {
        const Index other = draw_position(ssize(features), position, key_);
        std::swap(features[position], features[other]);
        if (features.data() == features_.data()) swaps_.emplace_back(position, other);
        return features[position];
    }
    Key random_key(Index position) const {
        return mix(key_, static_cast<std::uint64_t>(coding_.n_columns() + position));
    }

    // Search for the best split of a feature, and keep it if it is better than the best so far.
    template <class Items, class Word>
    void try_feature(const Items& items, const Run<Word>& run, Feature feature) {
        if (run.words.empty()) return;
        if (limits_.random_cuts && !coding_.is_category_column(feature.index)) {
            try_random_cut(items, list_codes(run), feature);
            return;
        }
        ++n_tried_;
        if (coding_.is_category_column(feature.index))
            try_subset(items, run, feature);
        else
            try_cuts(items, run, feature.index);
    }

    // Try a random cut of a numeric feature that is not constant.
    template <class Items, class Code>
    void try_random_cut(const Items& items, const CodedItems<Code>& coded, Feature feature) {
        const Index f = feature.index;
        const Cut cut = draw_cut(coding_, f, coded, feature.key);
        const Index missing_code = coding_.missing_code(f);
        const auto min_leaf = static_cast<double>(limits_.min_leaf);
        ++n_tried_;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        Amount left = sum_between(items, coded, coded.lowest, cut.last_left, sums_);
        for (const bool missing_left : {false, true}) {
            if (missing_left) {
                if (!coded.has_missing || cut.first_right == missing_code) break;
                const Amount missing = sum_between(items, coded, missing_code, missing_code, sums_);
                left.weight += missing.weight;
                left.count += missing.count;
            }
            if (left.count < min_leaf || parent_.n_copies - left.count < min_leaf) continue;
            double left_squares = 0.0, right_squares = 0.0;
            for (Index j = 0; j < ssize(sums_); ++j) {
                const double right = parent_.totals[j] - sums_[j];
                left_squares += sums_[j] * sums_[j];
                right_squares += right * right;
            }
            const Score score = score_of(left_squares, left.weight, right_squares, parent_.weight - left.weight);
            if (score.exceeds(best_)) {
                best_ = score;
                note(f, cut.last_left, cut.first_right, missing_left, coded.has_missing);
            }
        }
    }

private:
    // Move the items of a feature to the left one by one, first with missing values on the right, then on the left.
    template <class Items, class Word>
    void try_cuts(const Items& items, const Run<Word>& run, Index f) {
        typename Items::Side left(items, parent_, sums_);
        const auto min_leaf = static_cast<double>(limits_.min_leaf);
        const bool has_missing = run.stop < ssize(run.words);
        Score best = best_;
        for (const bool missing_left : {false, true}) {
            if (missing_left && !has_missing) break;
            left.clear();
            if (missing_left)
                for (const Word word : run.words.subspan(run.stop)) left.add(item_of(word));
            Index next_code = code_of(run.words.front());
            const Index end = has_missing && !missing_left ? run.stop : run.stop - 1;
            for (Index k = 0; k < end; ++k) {
                left.add(item_of(run.words[k]));
                const Index code = next_code;
                next_code = code_of(run.words[k + 1]);
                if (code == next_code || left.count() < min_leaf) continue;
                if (parent_.n_copies - left.count() < min_leaf) break;
                if (const Score score = left.score(); score.exceeds(best)) {
                    best = score;
                    note(f, code, next_code, missing_left, has_missing);
                }
            }
        }
        best_ = best;
    }

    template <class Word>
    CodedItems<std::uint16_t> list_codes(const Run<Word>& run) {
        codes_.clear();
        items_.clear();
        for (const Word word : run.words) {
            codes_.push_back(static_cast<std::uint16_t>(code_of(word)));
            items_.push_back(item_of(word));
        }
        return {codes_, items_, run.lowest, run.highest, run.stop < ssize(run.words)};
    }

    // Try the best subset of a feature's categories.
    template <class Items, class Word>
    void try_subset(const Items& items, const Run<Word>& run, Feature feature) {
        found_.n_present = 0;
        for (const Word word : run.words) {
            const Index code = code_of(word);
            const Index item = item_of(word);
            if (found_.n_present == 0 || code != found_.codes[found_.n_present - 1])
                found_.start(found_.n_present++, code);
            const Index c = found_.n_present - 1;
            items.add(item, items.weight(item), found_.sums(c));
            found_.weights[c] += items.weight(item);
            found_.squared_weights[c] += items.squared_weights(item);
            found_.counts[c] += items.count(item);
        }
        found_.n_groups = found_.n_present;
        const bool corrects = limits_.correct_for_chance && feature.key == 0;
        if (corrects) pool_single_samples(found_);
        double score = find_subset(found_, parent_, limits_, feature.key);
        const double best = best_.numerator / best_.denominator;
        if (score > best && corrects) score = corrected(items, run, score);
        if (!(score > best)) return;
        best_ = {score, 1.0};
        split_.feature = feature.index;
        split_.is_category = true;
        split_.missing_code = coding_.missing_code(feature.index);
        found_.keep(split_.sides);
    }

    template <class Items, class Word>
    double corrected(const Items& items, const Run<Word>& run, double score) {
        point_from_right_to_left(found_, parent_);
        double lengths = 0.0;
        if constexpr (Items::multilabel) {  // a sample's labels add up, so that only the sample knows its position
            for (const Word word : run.words) {
                const double position = items.sum_of(item_of(word), found_.direction);
                lengths += items.weight(item_of(word)) * (position * position);
            }
        } else {
            lengths = squared_lengths(found_, parent_);
        }
        return subtract_chance(found_, parent_, lengths, Items::multilabel, score);
    }

    void note(Index f, Index last_left, Index first_right, bool missing_left, bool has_missing) {
        split_.feature = f;
        split_.last_left = last_left;
        split_.first_right = first_right;
        split_.missing_left = missing_left;
        split_.has_missing = has_missing;
        split_.is_category = false;
        split_.missing_code = coding_.missing_code(f);
    }

    const Coding& coding_;
    const Limits& limits_;
    Parent parent_{};
    Key key_ = 0;
    Split split_;
    Score best_{};
    Index n_tried_ = 0;
    std::vector<double> sums_;
    std::vector<std::uint16_t> codes_;
    std::vector<std::uint32_t> items_;
    std::vector<Index> features_;
    std::vector<std::pair<Index, Index>> swaps_;
    Categories found_;
};

}  // namespace fuselearn
