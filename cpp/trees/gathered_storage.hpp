// Samples listed per node, whose codes are gathered for each feature that is considered: used if few of many features
// are considered, or random cuts. The cost of a feature is proportional to the number of samples in the node.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "support/views.hpp"
#include "tables/table.hpp"
#include "trees/bins.hpp"
#include "trees/grower.hpp"
#include "trees/growth.hpp"
#include "trees/items.hpp"
#include "trees/random_cuts.hpp"
#include "trees/runs.hpp"
#include "trees/search.hpp"
#include "trees/sorted_storage.hpp"

namespace fuselearn {

// Sort the items of a feature by their codes with a bitmap of the codes that occur: as many steps as items, and one per
// 64 codes. Items with equal codes are chained.
class BitmapSorter {
public:
    explicit BitmapSorter(Index most_codes) : bits_(most_codes / 64 + 1, 0), heads_(most_codes + 1) {}

    template <class Word>
    void sort(std::span<const Word> words, std::span<Word> sorted, Index most_code) {
        if (nexts_.size() < words.size()) nexts_.resize(words.size());
        for (std::size_t k = 0; k < words.size(); ++k) {
            const auto code = static_cast<std::size_t>(code_of(words[k]));
            const std::uint64_t bit = std::uint64_t{1} << (code % 64);
            nexts_[k] = (bits_[code / 64] & bit) != 0 ? heads_[code] : none;
            heads_[code] = static_cast<std::uint32_t>(k);
            bits_[code / 64] |= bit;
        }
        std::size_t n_sorted = 0;
        for (std::size_t b = 0; b <= static_cast<std::size_t>(most_code) / 64; ++b) {
            for (std::uint64_t left = bits_[b]; left != 0; left &= left - 1) {
                const std::size_t code = b * 64 + static_cast<std::size_t>(std::countr_zero(left));
                for (std::uint32_t k = heads_[code]; k != none; k = nexts_[k]) sorted[n_sorted++] = words[k];
            }
            bits_[b] = 0;
        }
    }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::uint64_t> bits_;
    std::vector<std::uint32_t> heads_;
    std::vector<std::uint32_t> nexts_;
};

template <class Items, class Code>
class GatheredStorage {
public:
    static constexpr bool larger_first = true;
    using Word = std::uint64_t;

    // Items are numbered as the samples of the table, which must outlive the storage.
    GatheredStorage(Growth& growth, Search& search, Interrupt& interrupt, const Table& table, Matrix<const Code> codes,
                    Items& items, std::span<std::uint32_t> drawn)
        : growth_(growth),
          search_(search),
          interrupt_(interrupt),
          coding_(table.coding()),
          codes_(codes),
          by_column_(table.by_column<Code>()),
          items_(items),
          drawn_(drawn),
          words_(drawn.size()),
          sorted_words_(drawn.size()),
          gathered_(drawn.size()),
          aside_(drawn.size()),
          constant_(coding_.n_columns()),
          sorter_(coding_.most_codes()),
          sorted_(coding_) {}

    // Nodes of at most `small_node` samples are grown in sorted order; samples of one class each are counted where
    // there are so many per code.
    void grow(const Root& root, Index small_node, double samples_per_code) {
        small_node_ = small_node;
        samples_per_code_ = samples_per_code;
        grow_subtree(growth_, *this, search_, root, ssize(drawn_), interrupt_);
    }

    bool takes(const Waiting& here, const Root&) {
        if (here.place.size() > small_node_) return true;
        grow_sorted(growth_, search_, sorted_, items_, codes_, samples(here.place), {here.node, here.depth, here.key},
                    interrupt_);
        return false;
    }

    void find_split(Search& search, const Place& place) {
        items_.prepare(samples(place), search.parent());
        if constexpr (!Items::multilabel)
            if (search.limits().random_cuts) items_.gather(samples(place));
        for (Index position = 0; position < coding_.n_columns(); ++position) {
            const Feature feature = search.next_feature(position);
            if (feature.index < 0) return;
            look_at(search, feature, place);
        }
    }

    Half divide(const Split& split, const Place& place, std::span<double> sums) {
        Index n_aside = 0;
        std::uint32_t* position = drawn_.data() + place.start;
        with_codes(split.feature, place, [&](const auto& code_of_sample) {
            for (const std::uint32_t i : samples(place)) {
                const bool is_left = split.goes_left(code_of_sample(i));
                // Both positions are written and one of them is kept.
                *position = i;
                aside_[n_aside] = i;
                position += is_left;
                n_aside += !is_left;
            }
        });
        std::copy_n(aside_.begin(), n_aside, position);
        const Index n_left = place.size() - n_aside;
        const Amount left = sum_items(items_, samples({place.start, place.start + n_left}), sums);
        return {left.weight, static_cast<Index>(left.count), n_left};
    }

    void deal(const Place&, const Half&, const Grows&) {}  // done by divide

private:
    std::span<const std::uint32_t> samples(const Place& place) const {
        return {drawn_.data() + place.start, static_cast<std::size_t>(place.size())};
    }

    void look_at(Search& search, const Feature& feature, const Place& place) {
        const Index f = feature.index;
        // A feature that was constant in a node is constant in all nodes below it.
        if (constant_[f].start <= place.start && place.end <= constant_[f].end) return;
        if (search.limits().random_cuts && !coding_.is_category_column(f)) {
            const auto coded = coded_items(gather_codes(f, place), samples(place), coding_.missing_code(f));
            if (coded.lowest == (coded.has_missing ? coding_.missing_code(f) : coded.highest))
                constant_[f] = place;
            else
                search.try_random_cut(items_, coded, feature);
            return;
        }
        const std::span<Word> words(words_.data(), static_cast<std::size_t>(place.size()));
        const auto [lowest, highest] = gather(f, place, words);
        if (lowest == highest) {
            constant_[f] = place;
            return;
        }
        if (counts_bins(f, place))
            count_bins(search, feature, words);
        else
            search.try_feature(items_, sorted_run<Word>(sort(words, f), coding_.missing_code(f)), feature);
    }

    // Call read(code_of_sample) with the quicker way to read codes of a feature.
    template <class Read>
    void with_codes(Index f, const Place& place, const Read& read) const {
        // All codes of few samples stay in the processor's cache from one feature to the next.
        if (place.size() <= few_words)
            read([this, f](std::uint32_t i) { return codes_(i, f); });
        else
            read([codes = by_column_.row(f)](std::uint32_t i) { return codes[i]; });
    }

    std::span<const Code> gather_codes(Index f, const Place& place) {
        with_codes(f, place, [&](const auto& code_of_sample) {
            Code* code = gathered_.data();
            for (const std::uint32_t i : samples(place)) *code++ = code_of_sample(i);
        });
        return {gathered_.data(), static_cast<std::size_t>(place.size())};
    }

    struct Range {
        Index lowest;
        Index highest;
    };

    // Write the words of a node's samples; return the range of their codes, missing ones included.
    Range gather(Index f, const Place& place, std::span<Word> words) const {
        std::uint32_t lowest = ~std::uint32_t{0};
        std::uint32_t highest = 0;
        with_codes(f, place, [&](const auto& code_of_sample) {
            Word* word = words.data();
            for (const std::uint32_t i : samples(place)) {
                const std::uint32_t code = code_of_sample(i);
                lowest = std::min(lowest, code);
                highest = std::max(highest, code);
                *word++ = make_word<Word>(code, i);
            }
        });
        return {static_cast<Index>(lowest), static_cast<Index>(highest)};
    }

    // Whether it is less work to count the node's samples per code than to sort them.
    bool counts_bins(Index f, const Place& place) const {
        if constexpr (Items::weighted) return false;
        return static_cast<double>(place.size()) >= samples_per_code_ * static_cast<double>(coding_.missing_code(f));
    }

    void count_bins(Search& search, const Feature& feature, std::span<const Word> words) {
        if constexpr (!Items::weighted) {
            const Index f = feature.index;
            const Index n_values = ssize(search.parent().totals);
            const Index n_bins = coding_.missing_code(f) + 1;
            counted_.assign(n_bins * n_values, 0);
            const Matrix<std::int32_t> counted(counted_.data(), n_bins, n_values);
            for (const Word word : words) {
                const auto& sample = items_.samples[item_of(word)];
                counted(code_of(word), sample.label) += sample.weight;
            }
            squared_weights_.clear();
            if (search.limits().correct_for_chance && coding_.is_category_column(f)) {
                squared_weights_.resize(n_bins, 0.0);
                for (const Word word : words) squared_weights_[code_of(word)] += items_.squared_weights(item_of(word));
            }
            const ClassBins<Items::few_classes> bins{counted, squared_weights_};
            search.try_feature(bins, bin_list_.list(bins, 0, coding_.missing_code(f)), feature);
        }
    }

    std::span<const Word> sort(std::span<const Word> words, Index f) {
        const std::span<Word> sorted(sorted_words_.data(), words.size());
        if (ssize(words) <= few_words) {
            sort_few<Word>(words, sorted);
        } else {
            sorter_.sort<Word>(words, sorted, coding_.missing_code(f));
        }
        return sorted;
    }

    Growth& growth_;
    Search& search_;
    Interrupt& interrupt_;
    const Coding& coding_;
    Matrix<const Code> codes_;
    Matrix<const Code> by_column_;
    Items& items_;
    std::span<std::uint32_t> drawn_;
    std::vector<Word> words_;
    std::vector<Word> sorted_words_;
    std::vector<Code> gathered_;
    std::vector<std::uint32_t> aside_;
    std::vector<Place> constant_;
    BitmapSorter sorter_;
    SortedStorage<Items> sorted_;
    Index small_node_ = 0;
    double samples_per_code_ = 0.0;
    std::vector<std::int32_t> counted_;
    std::vector<double> squared_weights_;
    BinList bin_list_;
};

}  // namespace fuselearn
