// The best split of a node whose samples are counted in bins, all of them or those that are not empty.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "levels/level_bins.hpp"
#include "support/views.hpp"
#include "tables/coding.hpp"
#include "trees/bins.hpp"
#include "trees/runs.hpp"
#include "trees/search.hpp"
#include "trees/splits.hpp"

namespace fuselearn {

// Where the bins of each feature begin among all, and their end.
inline std::vector<Index> bin_starts(const Coding& coding) {
    std::vector<Index> starts{0};
    for (Index f = 0; f < coding.n_columns(); ++f) starts.push_back(starts.back() + coding.missing_code(f) + 1);
    return starts;
}

// The rows of a node's bins that belong to one feature, and the code of each.
class FeatureRows {
public:
    FeatureRows(const NodeBins& bins, Index first_bin, Index end_bin)
        : numbers_(bins.numbers()), first_bin_(first_bin) {
        const auto position = [&](Index bin) {
            return std::lower_bound(numbers_.begin(), numbers_.end(), static_cast<std::uint32_t>(bin)) -
                   numbers_.begin();
        };
        first_ = bins.is_dense() ? first_bin : position(first_bin);
        end_ = bins.is_dense() ? end_bin : position(end_bin);
        is_dense_ = bins.is_dense();
    }

    Index first() const { return first_; }
    Index end() const { return end_; }
    Index code(Index row) const { return (is_dense_ ? row : static_cast<Index>(numbers_[row])) - first_bin_; }

private:
    const std::vector<std::uint32_t>& numbers_;
    Index first_bin_;
    Index first_;
    Index end_;
    bool is_dense_;
};

template <int NClasses>
void find_split_in_bins(Search& search, const Coding& coding, const NodeBins& node, const BinShape& shape) {
    const std::vector<double> squares(node.squares().begin(), node.squares().end());
    const ClassBins<NClasses> bins{{node.counted().data(), node.n_rows(shape), shape.n_classes}, squares};
    const std::vector<Index> starts = bin_starts(coding);
    BinList list;
    std::vector<BinList::Word> words;
    for (Index position = 0; position < coding.n_columns(); ++position) {
        const Feature feature = search.next_feature(position);
        const Index f = feature.index;
        if (f < 0) return;
        const Index missing_code = coding.missing_code(f);
        if (node.is_dense()) {
            search.try_feature(bins, list.list(bins, starts[f], missing_code), feature);
            continue;
        }
        const FeatureRows rows(node, starts[f], starts[f + 1]);
        words.clear();
        for (Index row = rows.first(); row < rows.end(); ++row)
            words.push_back(
                make_word<BinList::Word>(static_cast<std::uint32_t>(rows.code(row)), static_cast<std::uint32_t>(row)));
        search.try_feature(bins, sorted_run<BinList::Word>(words, missing_code), feature);
    }
}

inline void find_level_split(Search& search, const Coding& coding, const NodeBins& bins, const BinShape& shape) {
    switch (shape.n_classes) {
        case 2:
            return find_split_in_bins<2>(search, coding, bins, shape);
        case 3:
            return find_split_in_bins<3>(search, coding, bins, shape);
        case 4:
            return find_split_in_bins<4>(search, coding, bins, shape);
        default:
            return find_split_in_bins<0>(search, coding, bins, shape);
    }
}

// Sum up the class counts on the left of a split; return the sum of all.
inline Index sum_left(const Split& split, const Coding& coding, const NodeBins& bins, const BinShape& shape,
                      std::span<double> sums) {
    const std::vector<Index> starts = bin_starts(coding);
    const FeatureRows rows(bins, starts[split.feature], starts[split.feature + 1]);
    Index left_count = 0;
    for (Index row = rows.first(); row < rows.end(); ++row) {
        if (!split.goes_left(rows.code(row))) continue;
        for (Index j = 0; j < shape.n_classes; ++j) {
            const std::int32_t count = bins.counted()[row * shape.n_classes + j];
            sums[j] += count;
            left_count += count;
        }
    }
    return left_count;
}

}  // namespace fuselearn
