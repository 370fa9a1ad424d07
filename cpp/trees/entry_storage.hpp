// Samples of a sparse table. The cost is proportional to the number of entries, not of zeros or columns.
//
// Only features with entries in a node may vary, so features are drawn among these. The items of a feature are its
// entries and one item for all samples with value zero, whose label weights are the node's minus those of the entries.
// Splits of sparse tables mostly separate few samples: the larger child is processed next, and its entries are those of
// its parent minus those of its sibling.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "tables/sparse_table.hpp"
#include "trees/grower.hpp"
#include "trees/growth.hpp"
#include "trees/items.hpp"
#include "trees/runs.hpp"
#include "trees/search.hpp"

namespace fuselearn {

class EntryStorage {
public:
    static constexpr bool larger_first = true;
    using Word = std::uint64_t;

    // The table must outlive the storage; items are numbered as its samples are.
    EntryStorage(const SparseTable& table, EntrySamples& items, std::span<std::uint32_t> drawn)
        : table_(table),
          items_(items),
          drawn_(drawn),
          aside_(drawn_.size()),
          words_(drawn_.size() + 1),
          sorted_(drawn_.size() + 1),
          n_seen_(table.n_columns(), 0),
          positions_(table.n_columns()),
          present_(table.n_columns()),
          ends_(table.n_columns(), not_listed),
          stamps_(table.n_samples(), 0) {
        Index n_entries = 0;
        for (const std::uint32_t i : drawn_) n_entries += entries_end(i) - entries_start(i);
        listed_.resize(n_entries);
    }

    bool takes(const Waiting&, const Root&) const { return true; }

    void find_split(Search& search, const Place& place) {
        items_.prepare(samples(place), search.parent());
        turn_to(place);
        const bool draws = search.draws_features();
        const std::span<Index> features = list_present(draws);
        const Index most = search.limits().max_features;
        for (Index start = 0; start < ssize(features) && !search.has_tried_enough(); start += most) {
            const Index end = std::min(start + most, ssize(features));
            if (draws)
                for (Index position = start; position < end; ++position) search.draw(features, position);
            list_entries(place, features.subspan(start, end - start));
            for (Index position = start; position < end; ++position) {
                const Index f = features[position];
                if (!search.has_tried_enough()) {
                    const Key key = search.limits().random_cuts ? search.random_key(f) : 0;
                    search.try_feature(items_, read_feature(search.parent(), place, f), {f, key});
                }
                ends_[f] = not_listed;
            }
        }
    }

    Half divide(const Split& split, const Place& place, std::span<double> sums) {
        Half left;
        double count = 0.0;
        Index n_aside = 0;
        std::uint32_t* position = drawn_.data() + place.start;
        for (const std::uint32_t i : samples(place)) {
            const bool is_left = split.goes_left(table_.code(i, split.feature));
            if (is_left) {
                items_.add(i, items_.weight(i), sums);
                left.weight += items_.weight(i);
                count += items_.count(i);
            }
            *position = i;
            aside_[n_aside] = i;
            position += is_left;
            n_aside += !is_left;
        }
        std::copy_n(aside_.begin(), n_aside, position);
        left.n_samples = place.size() - n_aside;
        left.count = static_cast<Index>(count);
        return left;
    }

    void deal(const Place&, const Half&, const Grows&) {}  // done by divide

private:
    static constexpr Index not_listed = -1;

    std::span<const std::uint32_t> samples(const Place& place) const {
        return {drawn_.data() + place.start, static_cast<std::size_t>(place.size())};
    }

    Index entries_start(Index i) const { return table_.by_sample.starts[i]; }
    Index entries_end(Index i) const { return table_.by_sample.starts[i + 1]; }

    // Describe the entries of a node: those of the last node less some, if the node is its larger child.
    void turn_to(const Place& place) {
        const bool is_below = last_.start <= place.start && place.end <= last_.end;
        if (is_below && 2 * place.size() >= last_.size()) {
            count_entries({last_.start, place.start}, -1);
            count_entries({place.end, last_.end}, -1);
        } else {
            for (Index k = 0; k < n_present_; ++k) n_seen_[present_[k]] = 0;
            n_present_ = n_entries_ = 0;
            count_entries(place, 1);
        }
        last_ = place;
    }

    // Add the entries of some samples to those of the node at hand, or take them away.
    void count_entries(const Place& place, Index sign) {
        for (const std::uint32_t i : samples(place)) {
            n_entries_ += sign * (entries_end(i) - entries_start(i));
            for (Index e = entries_start(i); e < entries_end(i); ++e) {
                const Index f = table_.by_sample.columns[e];
                if (n_seen_[f] == 0) {
                    positions_[f] = n_present_;
                    present_[n_present_++] = f;
                }
                n_seen_[f] += sign;
                if (n_seen_[f] == 0) {
                    const Index last = present_[--n_present_];
                    present_[positions_[f]] = last;
                    positions_[last] = positions_[f];
                }
            }
        }
    }

    // List the features with entries, in ascending order unless they are drawn from.
    std::span<Index> list_present(bool draws) {
        features_.clear();
        if (draws) {
            features_.assign(present_.begin(), present_.begin() + n_present_);
        } else {
            for (Index f = 0; ssize(features_) < n_present_; ++f)
                if (n_seen_[f] > 0) features_.push_back(f);
        }
        return features_;
    }

    // List the node's entries in some features, feature by feature: from all columns, or from all samples if that is
    // less.
    void list_entries(const Place& place, std::span<const Index> features) {
        Index n_listed = 0;
        Index n_in_columns = 0;
        for (const Index f : features) {
            ends_[f] = n_listed;
            n_listed += n_seen_[f];
            n_in_columns += table_.by_column.starts[f + 1] - table_.by_column.starts[f];
        }
        if (n_in_columns < n_entries_) {
            list_by_column(place, features);
            return;
        }
        for (const std::uint32_t i : samples(place))
            for (Index e = entries_start(i); e < entries_end(i); ++e) {
                Index& end = ends_[table_.by_sample.columns[e]];
                if (end != not_listed) listed_[end++] = make_word<Word>(table_.by_sample.codes[e], i);
            }
    }

    void list_by_column(const Place& place, std::span<const Index> features) {
        ++stamp_;
        for (const std::uint32_t i : samples(place)) stamps_[i] = stamp_;
        const auto& columns = table_.by_column;
        for (const Index f : features)
            for (Index e = columns.starts[f]; e < columns.starts[f + 1]; ++e)
                if (stamps_[columns.samples[e]] == stamp_)
                    listed_[ends_[f]++] = make_word<Word>(columns.codes[e], columns.samples[e]);
    }

    // Sort the items of a feature.
    Run<Word> read_feature(const Parent& parent, const Place& place, Index f) {
        Index n_items = n_seen_[f];
        std::copy_n(listed_.begin() + (ends_[f] - n_items), n_items, words_.begin());
        if (n_items < place.size()) {
            auto& rest = items_.rest;
            rest.assign(parent.totals.begin(), parent.totals.end());
            LabelSamples::Sample zero{parent.weight, parent.n_copies, parent.squares, {}};
            for (Index k = 0; k < n_items; ++k) {
                const Index i = item_of(words_[k]);
                items_.add(i, -items_.weight(i), rest);
                zero.weight -= items_.weight(i);
                zero.count -= items_.count(i);
                zero.product -= items_.product(i, parent);
            }
            items_.samples.back() = zero;
            words_[n_items++] = make_word<Word>(static_cast<std::uint32_t>(table_.zeros[f]),
                                                static_cast<std::uint32_t>(items_.zero_item()));
        }
        const std::span<Word> words(words_.data(), static_cast<std::size_t>(n_items));
        sort_by_code<Word>(words, sorted_, table_.coding.missing_code(f));
        return sorted_run<Word>(words, table_.coding.missing_code(f));
    }

    const SparseTable& table_;
    EntrySamples& items_;
    std::span<std::uint32_t> drawn_;
    std::vector<std::uint32_t> aside_;
    std::vector<Word> words_;
    std::vector<Word> sorted_;
    std::vector<Word> listed_;
    // Of the node at hand: how many entries each feature has, the features that have any (`present_[positions_[f]]` is
    // f), and where the entries listed of a feature end.
    std::vector<Index> n_seen_;
    std::vector<Index> positions_;
    std::vector<Index> present_;
    std::vector<Index> ends_;
    std::vector<Index> features_;
    Index n_present_ = 0;
    Index n_entries_ = 0;
    Place last_;
    std::vector<Index> stamps_;  // which samples are in the node
    Index stamp_ = 0;
};

}  // namespace fuselearn
