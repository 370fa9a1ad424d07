// The meaning of the codes of a table.
//
// Code c of column f stands for the values from lower[offsets[f] + c] to upper[offsets[f] + c], which are equal in a
// column that keeps its distinct values apart. The code n_codes[f] means missing. A category column holds the numbers
// 0, 1, ... of its categories.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

struct Coding {
    std::vector<std::int32_t> n_codes;
    std::vector<std::int64_t> offsets;  // n_columns + 1
    std::vector<double> lower;
    std::vector<double> upper;
    std::vector<std::uint8_t> is_category;  // empty if no column is one

    Index n_columns() const { return ssize(n_codes); }
    Index missing_code(Index f) const { return n_codes[f]; }
    bool has_categories() const { return !is_category.empty(); }
    bool is_category_column(Index f) const { return has_categories() && is_category[f] != 0; }
    double lower_of(Index f, Index code) const { return lower[offset(f) + code]; }
    double upper_of(Index f, Index code) const { return upper[offset(f) + code]; }
    std::int64_t offset(Index f) const { return offsets[f]; }

    // The largest number of codes of a column, 0 without columns.
    Index most_codes() const { return n_codes.empty() ? 0 : *std::max_element(n_codes.begin(), n_codes.end()); }
    // How many words of 32 bits the subset of a category split takes, at most.
    Index most_subset_words() const {
        Index most = 0;
        for (Index f = 0; f < n_columns(); ++f)
            if (is_category_column(f)) most = std::max<Index>(most, (missing_code(f) + 31) / 32);
        return most;
    }
};

}  // namespace fuselearn
