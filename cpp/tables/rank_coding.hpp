// Coding the numbers of columns: what each code stands for, and the code of each number.
//
// The code of a number is its rank among the distinct numbers of its column, or the bin that holds it where a column
// has more of them than there may be codes. Given the sorted numbers, costs a pass over them and a look-up per number.
// Tests in tests/engines/tree/test_coding.py compare it with numpy.unique.

#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "tables/coding.hpp"
#include "tables/lookup.hpp"

namespace fuselearn {

struct CodeLimits {
    Index most_codes;  // a column with more distinct numbers is cut into bins,
    Index n_bins;      // so many, which hold about equally many numbers
};

// The smallest and the largest number of each code of one column.
struct Bounds {
    std::vector<double> lower;
    std::vector<double> upper;

    Index size() const { return ssize(lower); }
};

// Find the bounds of the codes of one column, given its numbers in ascending order, with missing ones last.
inline Bounds find_bounds(std::span<const double> ascending, const CodeLimits& limits) {
    while (!ascending.empty() && std::isnan(ascending.back())) ascending = ascending.first(ascending.size() - 1);
    Bounds bounds;
    if (ascending.empty()) return bounds;
    const Index n_present = ssize(ascending);
    Index n_distinct = 1;
    for (std::size_t i = 1; i < ascending.size(); ++i) n_distinct += ascending[i] != ascending[i - 1] ? 1 : 0;
    const bool keeps_all = n_distinct <= limits.most_codes;

    const auto n_codes = static_cast<std::size_t>(keeps_all ? n_distinct : std::min(n_distinct, limits.n_bins));
    bounds.lower.reserve(n_codes);
    bounds.upper.reserve(n_codes);
    bounds.lower.push_back(ascending.front());
    // Each code begins in a later bin than the one before, and so there are at most n_bins of them. In whole numbers:
    // rounded bounds of bins once let a bin begin twice.
    Index last_bin = 0;
    for (Index i = 1; i < n_present; ++i) {
        const double number = ascending[static_cast<std::size_t>(i)];
        const double before = ascending[static_cast<std::size_t>(i - 1)];
        if (number == before) continue;
        const Index bin = keeps_all ? i : i * limits.n_bins / n_present;
        if (bin <= last_bin) continue;
        bounds.upper.push_back(before);
        bounds.lower.push_back(number);
        last_bin = bin;
    }
    bounds.upper.push_back(ascending.back());
    return bounds;
}

// Code each number by the last code whose lower bound does not exceed it, or the first one if there is none.
//
// Codes are used as indices, so they stay in range even for a number that is no category. Missing numbers get the code
// behind the last one. Codes lie `stride` apart.
template <class Code>
void code_numbers(std::span<const double> numbers, std::span<const double> lower, Code* codes, Index stride) {
    const Lookup lookup(lower, ssize(numbers));
    std::vector<std::uint32_t> counts(numbers.size());
    const auto n_codes = static_cast<std::uint32_t>(lower.size());
    lookup.count_not_above(numbers, n_codes + 1, std::span(counts));
    for (std::size_t i = 0; i < counts.size(); ++i, codes += stride)
        *codes = static_cast<Code>(std::max(counts[i], std::uint32_t{1}) - 1);
}

// Raise the upper bound of each code to the largest number that has it.
template <class Code>
void raise_upper(Matrix<const double> numbers, Matrix<const Code> codes, const Coding& coding,
                 std::span<double> upper) {
    for (Index i = 0; i < numbers.n_rows(); ++i)
        for (Index f = 0; f < numbers.n_columns(); ++f) {
            const double number = numbers(i, f);
            if (std::isnan(number)) continue;
            double& bound = upper[static_cast<std::size_t>(coding.offset(f) + codes(i, f))];
            bound = std::max(bound, number);
        }
}

}  // namespace fuselearn
