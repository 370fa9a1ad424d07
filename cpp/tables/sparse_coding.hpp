// Coding a table of which only the entries are given: all values that are not zero, missing ones among them.
//
// Columns have the codes that rank_coding.hpp gives them, zero included, so that a tree is the same however the table
// is held. Costs a sort of each column's entries.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "tables/rank_coding.hpp"
#include "tables/sparse_table.hpp"

namespace fuselearn {

// Entries column by column: those of column f are starts[f] to starts[f + 1] - 1, their samples ascending.
struct EntryColumns {
    std::span<const std::int64_t> starts;
    std::span<const std::int32_t> samples;
    std::span<const double> values;
    Index n_samples;

    Index n_columns() const { return ssize(starts) - 1; }
};

// List the entries of a table column by column, sorted by code; equal codes keep the order of their samples.
inline SparseTable::ByColumn sort_by_column(const SparseTable& table) {
    const auto& [starts, columns, codes] = table.by_sample;
    const auto n_columns = static_cast<std::size_t>(table.n_columns());
    std::vector<std::int64_t> bin_starts(n_columns + 1, 0);  // a bin for each code and for missing values
    for (std::size_t f = 0; f < n_columns; ++f) bin_starts[f + 1] = bin_starts[f] + table.coding.n_codes[f] + 1;
    const auto bin_of = [&](std::size_t k) { return static_cast<std::size_t>(bin_starts[columns[k]] + codes[k]); };
    std::vector<std::int64_t> next(static_cast<std::size_t>(bin_starts.back()) + 1, 0);
    for (std::size_t k = 0; k < codes.size(); ++k) ++next[bin_of(k) + 1];
    for (std::size_t bin = 1; bin < next.size(); ++bin) next[bin] += next[bin - 1];
    SparseTable::ByColumn sorted;
    sorted.starts.reserve(n_columns + 1);
    for (const std::int64_t bin : bin_starts) sorted.starts.push_back(next[static_cast<std::size_t>(bin)]);
    sorted.samples.resize(codes.size());
    sorted.codes.resize(codes.size());
    for (Index i = 0; i < table.n_samples(); ++i) {
        const auto end = static_cast<std::size_t>(starts[static_cast<std::size_t>(i) + 1]);
        for (auto k = static_cast<std::size_t>(starts[static_cast<std::size_t>(i)]); k < end; ++k) {
            const auto target = static_cast<std::size_t>(next[bin_of(k)]++);
            sorted.samples[target] = static_cast<std::uint32_t>(i);
            sorted.codes[target] = codes[k];
        }
    }
    return sorted;
}

// Put the zeros of a column between its sorted entries, as many as its codes depend on.
inline std::vector<double> add_zeros(const std::vector<double>& sorted, Index n_samples, Index most_codes) {
    Index n_zeros = n_samples - ssize(sorted);
    // Each value has a code of its own, however many zeros there are.
    if (ssize(sorted) < most_codes) n_zeros = std::min<Index>(n_zeros, 1);
    const auto middle = std::find_if(sorted.begin(), sorted.end(), [](double value) { return !(value < 0.0); });
    std::vector<double> all;
    all.reserve(sorted.size() + static_cast<std::size_t>(n_zeros));
    all.insert(all.end(), sorted.begin(), middle);
    all.insert(all.end(), static_cast<std::size_t>(n_zeros), 0.0);
    all.insert(all.end(), middle, sorted.end());
    return all;
}

inline SparseTable code_entries(const EntryColumns& entries, const CodeLimits& limits, Interrupt& interrupt) {
    SparseTable table;
    Coding& coding = table.coding;
    coding.offsets.assign(1, 0);
    std::vector<std::uint16_t> codes(entries.values.size());
    std::vector<std::int64_t> starts(static_cast<std::size_t>(entries.n_samples) + 1, 0);
    for (const std::int32_t sample : entries.samples) ++starts[static_cast<std::size_t>(sample) + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];

    std::vector<double> sorted;
    for (Index f = 0; f < entries.n_columns(); ++f) {
        interrupt.check();
        const auto start = static_cast<std::size_t>(entries.starts[static_cast<std::size_t>(f)]);
        const auto end = static_cast<std::size_t>(entries.starts[static_cast<std::size_t>(f) + 1]);
        const auto own = entries.values.subspan(start, end - start);
        sorted.assign(own.begin(), own.end());
        const auto missing = std::partition(sorted.begin(), sorted.end(), [](double x) { return !std::isnan(x); });
        std::sort(sorted.begin(), missing);
        const Bounds bounds = find_bounds(add_zeros(sorted, entries.n_samples, limits.most_codes), limits);
        const Coder coder(bounds.lower, ssize(own));
        coder.code(own, codes.data() + start, 1);
        std::uint16_t zero = 0;
        const double value_of_zero = 0.0;
        if (bounds.size() > 0) coder.code(std::span(&value_of_zero, 1), &zero, 1);
        table.zeros.push_back(zero);
        coding.n_codes.push_back(static_cast<std::int32_t>(bounds.size()));
        coding.offsets.push_back(coding.offsets.back() + bounds.size());
        coding.lower.insert(coding.lower.end(), bounds.lower.begin(), bounds.lower.end());
        coding.upper.insert(coding.upper.end(), bounds.upper.begin(), bounds.upper.end());
    }

    table.by_sample.starts = starts;
    table.by_sample.columns.resize(codes.size());
    table.by_sample.codes.resize(codes.size());
    for (Index f = 0; f < entries.n_columns(); ++f) {
        const auto end = static_cast<std::size_t>(entries.starts[static_cast<std::size_t>(f) + 1]);
        for (auto k = static_cast<std::size_t>(entries.starts[static_cast<std::size_t>(f)]); k < end; ++k) {
            const auto target = static_cast<std::size_t>(starts[static_cast<std::size_t>(entries.samples[k])]++);
            table.by_sample.columns[target] = static_cast<std::uint32_t>(f);
            table.by_sample.codes[target] = codes[k];
        }
    }
    table.by_column = sort_by_column(table);
    return table;
}

}  // namespace fuselearn
