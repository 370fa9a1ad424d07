// A coded table with mostly zeros and without categories: only the other values are stored.

#pragma once

#include <cstdint>
#include <vector>

#include "support/views.hpp"
#include "tables/coding.hpp"

namespace fuselearn {

struct SparseTable {
    // Entries sample by sample: those of sample i are starts[i] to starts[i + 1] - 1, their columns ascending.
    struct BySample {
        std::vector<std::int64_t> starts;
        std::vector<std::uint32_t> columns;
        std::vector<std::uint16_t> codes;
    };
    // Entries column by column: those of column f are starts[f] to starts[f + 1] - 1, sorted by code.
    struct ByColumn {
        std::vector<std::int64_t> starts;
        std::vector<std::uint32_t> samples;
        std::vector<std::uint16_t> codes;
    };

    Coding coding;
    std::vector<std::int32_t> zeros;  // the code of zero in each column
    BySample by_sample;
    ByColumn by_column;

    Index n_samples() const { return ssize(by_sample.starts) - 1; }
    Index n_columns() const { return coding.n_columns(); }

    // The code of a sample in a column, by a search among its entries.
    Index code(Index i, Index f) const {
        auto start = by_sample.starts[i];
        const auto stop = by_sample.starts[i + 1];
        auto end = stop;
        while (start < end) {
            const auto middle = (start + end) / 2;
            if (static_cast<Index>(by_sample.columns[middle]) < f)
                start = middle + 1;
            else
                end = middle;
        }
        if (start < stop && static_cast<Index>(by_sample.columns[start]) == f) return by_sample.codes[start];
        return zeros[f];
    }
};

}  // namespace fuselearn
