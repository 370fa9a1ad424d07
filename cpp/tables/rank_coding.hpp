// Coding the numbers of columns: what each code stands for, and the code of each number.
//
// The code of a number is its rank among the distinct numbers of its column, or the bin that holds it where a column
// has more of them than there may be codes. Given the sorted numbers, costs a pass over them and a look-up per number.
// Tests in tests/core/test_coding.py compare it with numpy.unique.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "support/interrupt.hpp"
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

// How the numbers of one column are coded: by the last code whose lower bound does not exceed them, or the first one if
// there is none.
//
// Codes are used as indices, so they stay in range even for a number that is no category. Missing numbers get the code
// behind the last one.
class Coder {
public:
    // The bounds must outlive this object.
    Coder(std::span<const double> lower, Index n_numbers)
        : lookup_(lower, n_numbers), n_codes_(static_cast<std::uint32_t>(lower.size())) {}

    // So many numbers are coded at once, while they are in the processor's cache.
    static constexpr Index n_at_once = 256;

    // Write codes that lie `stride` apart.
    template <class Code>
    void code(std::span<const double> numbers, Code* codes, Index stride) const {
        std::array<std::uint32_t, n_at_once> counts;
        while (!numbers.empty()) {
            const auto some = numbers.first(std::min<std::size_t>(numbers.size(), n_at_once));
            lookup_.count_not_above(some, n_codes_ + 1, std::span<std::uint32_t>(counts));
            for (std::size_t i = 0; i < some.size(); ++i, codes += stride)
                *codes = static_cast<Code>(std::max(counts[i], std::uint32_t{1}) - 1);
            numbers = numbers.subspan(some.size());
        }
    }

private:
    Lookup lookup_;
    std::uint32_t n_codes_;
};

// Code samples by the codes of a table.
template <class Code>
void encode_samples(const Coding& coding, Matrix<const double> samples, Matrix<Code> codes, Interrupt& interrupt) {
    std::vector<Coder> coders;
    for (Index f = 0; f < coding.n_columns(); ++f) {
        const auto own =
            std::span(coding.lower)
                .subspan(static_cast<std::size_t>(coding.offset(f)), static_cast<std::size_t>(coding.missing_code(f)));
        coders.emplace_back(own, samples.n_rows());
    }
    std::array<double, Coder::n_at_once> numbers;
    for (Index first = 0; first < samples.n_rows(); first += Coder::n_at_once) {
        interrupt.check();
        const Index n = std::min(Coder::n_at_once, samples.n_rows() - first);
        for (Index f = 0; f < coding.n_columns(); ++f) {
            for (Index i = 0; i < n; ++i) numbers[static_cast<std::size_t>(i)] = samples(first + i, f);
            coders[static_cast<std::size_t>(f)].code(std::span(numbers).first(static_cast<std::size_t>(n)),
                                                     &codes(first, f), codes.n_columns());
        }
    }
}

// Raise the upper bound of each code to the largest number that has it.
template <class Code>
void raise_upper(Matrix<const double> numbers, Matrix<const Code> codes, const Coding& coding,
                 std::span<double> upper) {
    for (Index i = 0; i < numbers.n_rows(); ++i)
        for (Index f = 0; f < numbers.n_columns(); ++f) {
            const double number = numbers(i, f);
            if (std::isnan(number) || codes(i, f) == coding.missing_code(f)) continue;
            double& bound = upper[static_cast<std::size_t>(coding.offset(f) + codes(i, f))];
            bound = std::max(bound, number);
        }
}

}  // namespace fuselearn
