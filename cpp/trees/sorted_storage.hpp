// Samples sorted by every feature, an order that each split preserves: used for few samples if all features are
// considered. The cost of a node is two passes over its samples per feature.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "tables/table.hpp"
#include "trees/grower.hpp"
#include "trees/growth.hpp"
#include "trees/items.hpp"
#include "trees/runs.hpp"
#include "trees/search.hpp"

namespace fuselearn {

template <class Items>
class SortedStorage {
public:
    static constexpr bool larger_first = true;
    using Word = std::uint32_t;
    static constexpr Index most_samples = most_items<Word>;

    explicit SortedStorage(const Coding& coding) : coding_(coding) {}

    Items& items() { return items_; }

    // Keep those samples of a small table that were drawn. Items are numbered as in the table.
    template <class IsDrawn>
    void load_drawn(const Table& table, Index n_drawn, const IsDrawn& is_drawn) {
        reserve(table.n_samples(), n_drawn);
        for (Index f = 0; f < coding_.n_columns(); ++f) {
            Word* position = column(f);
            for (const Word word : table.sorted_words().row(f)) {
                // Written in any case, and kept if the sample was drawn: cheaper than a branch that cannot be foreseen.
                *position = word;
                position += is_drawn(item_of(word));
            }
        }
    }

    // Copy some samples of a table. Items are numbered in the order of the samples.
    template <class Code>
    void load_samples(const Matrix<const Code>& codes, std::span<const std::uint32_t> samples) {
        const Index n = ssize(samples);
        reserve(n, n);
        for (Index k = 0; k < n; ++k) {
            const auto row = codes.row(samples[k]);
            for (Index f = 0; f < coding_.n_columns(); ++f)
                column(f)[k] = make_word<Word>(row[f], static_cast<std::uint32_t>(k));
        }
        for (Index f = 0; f < coding_.n_columns(); ++f)
            sort_by_code<Word>({column(f), samples.size()}, aside_, coding_.missing_code(f));
    }

    bool takes(const Waiting&, const Root&) const { return true; }

    void find_split(Search& search, const Place& place) {
        if constexpr (Items::multilabel) {
            std::vector<std::uint32_t>& own = own_items_;
            own.clear();
            for (const Word word : words(0, place)) own.push_back(item_of(word));
            items_.prepare(own, search.parent());
        }
        for (Index position = 0; position < coding_.n_columns(); ++position) {
            const Feature feature = search.next_feature(position);
            if (feature.index < 0) return;
            const Run<Word> run = sorted_run<Word>(words(feature.index, place), coding_.missing_code(feature.index));
            search.try_feature(items_, run, feature);
        }
    }

    // The words of the split's feature have the codes that decide.
    Half divide(const Split& split, const Place& place, std::span<double> sums) {
        Half left;
        double count = 0.0;
        for (const Word word : words(split.feature, place)) {
            const Index item = item_of(word);
            const bool is_left = split.goes_left(code_of(word));
            is_left_[item] = is_left;
            const double weight = is_left ? items_.weight(item) : 0.0;
            items_.add(item, weight, sums);
            left.weight += weight;
            count += is_left ? items_.count(item) : 0.0;
            left.n_samples += is_left;
        }
        left.count = static_cast<Index>(count);
        return left;
    }

    // Samples of a side that does not grow on may be overwritten.
    void deal(const Place& place, const Half&, const Grows& grows) {
        if (!grows[0] && !grows[1]) return;
        for (Index f = 0; f < coding_.n_columns(); ++f) {
            Word* const first = column(f) + place.start;
            Word* const last = column(f) + place.end;
            if (!grows[0]) {
                Word* position = last;
                for (const Word* word = last; word != first;) {
                    position[-1] = *--word;
                    position -= !is_left_[item_of(position[-1])];
                }
                continue;
            }
            // Both positions are written and one of them is kept: a wrong guess at a branch would cost more.
            Word* position = first;
            Word* other = aside_.data();
            for (const Word* word = first; word != last; ++word) {
                const Word here = *word;
                const bool is_left = is_left_[item_of(here)];
                *position = here;
                *other = here;
                position += is_left;
                other += !is_left;
            }
            if (grows[1]) std::copy(aside_.data(), other, position);
        }
    }

private:
    void reserve(Index n_items, Index n_samples) {
        stride_ = n_samples + 1;  // one to spare, see load_drawn
        if (ssize(words_) < stride_ * coding_.n_columns()) words_.resize(stride_ * coding_.n_columns());
        if (ssize(aside_) < stride_) aside_.resize(stride_);
        if (ssize(is_left_) < n_items) is_left_.resize(n_items);
    }
    Word* column(Index f) { return words_.data() + f * stride_; }
    std::span<const Word> words(Index f, const Place& place) {
        return {column(f) + place.start, static_cast<std::size_t>(place.size())};
    }

    const Coding& coding_;
    Items items_;
    Index stride_ = 0;
    std::vector<Word> words_;
    std::vector<Word> aside_;
    std::vector<std::uint8_t> is_left_;
    std::vector<std::uint32_t> own_items_;
};

// Grow a subtree in sorted order, given its samples in the storage that hands them over.
template <class Items, class Code>
void grow_sorted(Growth& growth, Search& search, SortedStorage<Items>& sorted, const Items& items,
                 const Matrix<const Code>& codes, std::span<const std::uint32_t> samples, const Root& root,
                 Interrupt& interrupt) {
    sorted.items().take(items, samples);
    if constexpr (!Items::multilabel) sorted.items().spread_weights();
    sorted.load_samples(codes, samples);
    grow_subtree(growth, sorted, search, root, ssize(samples), interrupt);
}

}  // namespace fuselearn
