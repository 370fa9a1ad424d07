// Coding samples for a forest, in the groups that descend side by side.
//
// Samples are an array of float or double of any strides. A few hundred at a time are coded column by column, while
// they are in the processor's cache.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "forests/descent.hpp"
#include "forests/packed.hpp"
#include "support/views.hpp"

namespace fuselearn {

template <class T>
struct Samples {
    const T* data;
    Index n_samples;
    Index n_features;
    std::ptrdiff_t sample_stride;  // in values
    std::ptrdiff_t feature_stride;

    Samples part(Index first, Index n) const {
        return {data + first * sample_stride, n, n_features, sample_stride, feature_stride};
    }
};

// Code the numbers or categories of some samples in a column.
template <class Code>
void code_values(const PackedColumn& column, std::span<const double> values, std::span<Code> codes) {
    if (column.n_categories == 0) {
        column.lookup.count_not_above(values, PackedForest<Code>::missing, codes);
        return;
    }
    const auto n_categories = static_cast<double>(column.n_categories);
    const auto unknown = static_cast<Code>(column.n_categories);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        if (value != value)
            codes[i] = static_cast<Code>(unknown + 1);
        else
            codes[i] = value >= 0.0 && value < n_categories ? static_cast<Code>(value) : unknown;
    }
}

// Code all samples; return whether any number is missing.
template <class T, class Code>
bool code_samples(const PackedForest<Code>& forest, const Samples<T>& samples, const CodeGroups<Code>& groups) {
    constexpr Index n_at_once = 256;
    static_assert(n_at_once % n_abreast == 0);
    std::array<double, n_at_once> values;
    std::array<Code, n_at_once> codes;
    bool has_missing = false;
    for (Index first = 0; first < samples.n_samples; first += n_at_once) {
        const Index n = std::min(n_at_once, samples.n_samples - first);
        for (Index c = 0; c < forest.n_columns(); ++c) {
            const PackedColumn& column = forest.columns[static_cast<std::size_t>(c)];
            const T* value = samples.data + first * samples.sample_stride + column.feature * samples.feature_stride;
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i, value += samples.sample_stride)
                values[i] = static_cast<double>(*value);
            code_values<Code>(column, std::span(values).first(static_cast<std::size_t>(n)), codes);
            bool is_missing = false;
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
                is_missing |= codes[i] == PackedForest<Code>::missing;
            has_missing |= is_missing;
            for (Index i = 0; i < n; ++i) groups.at(first + i, c) = codes[static_cast<std::size_t>(i)];
        }
    }
    return has_missing;
}

// Samples of a block, coded. Where a number is missing, each column has a second one behind all columns, in which
// missing numbers have the smallest code instead of the largest, so that they go left there without a branch.
template <class Code>
class CodedBlock {
public:
    template <class T>
    CodedBlock(const PackedForest<Code>& forest, const Samples<T>& samples)
        // There is at least one column, because a leaf reads one as well.
        : n_columns_(std::max<Index>(1, forest.n_columns())) {
        const Index n_filled = fill_groups(samples.n_samples);
        codes_.resize(static_cast<std::size_t>(n_filled * n_columns_));
        by_side_ = code_samples(forest, samples, groups());
        if (by_side_) append_second_half(n_filled);
    }

    CodeGroups<Code> groups() { return {codes_, n_columns_}; }
    bool by_side() const { return by_side_; }
    void replace(std::vector<Code> codes) { codes_.swap(codes); }

private:
    void append_second_half(Index n_filled) {
        std::vector<Code> both(2 * codes_.size());
        const auto n_own = static_cast<std::size_t>(n_columns_ * n_abreast);
        for (std::size_t group = 0; group < static_cast<std::size_t>(n_filled / n_abreast); ++group) {
            const Code* const source = codes_.data() + group * n_own;
            Code* const target = both.data() + 2 * group * n_own;
            std::copy_n(source, n_own, target);
            for (std::size_t k = 0; k < n_own; ++k)
                target[n_own + k] = source[k] == PackedForest<Code>::missing ? Code{0} : source[k];
        }
        codes_.swap(both);
        n_columns_ *= 2;
    }

    std::vector<Code> codes_;
    Index n_columns_;
    bool by_side_;
};

}  // namespace fuselearn
