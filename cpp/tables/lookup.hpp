// The ranks of many numbers among sorted ones.
//
// A binary search waits for memory at each step. A table over intervals of equal length first narrows the search to the
// sorted numbers in the same interval, mostly one or none, so a lookup takes a few nanoseconds; if most numbers are in
// one interval, it is a binary search. tests/core/test_coding.py compares with numpy.searchsorted.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

class Lookup {
public:
    // Prepare to look up about so many numbers; the sorted ones must outlive this object.
    //
    // Infinity among the sorted ones is above every number, infinity included.
    Lookup(std::span<const double> ascending, Index n_numbers) : ascending_(ascending) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        while (!ascending_.empty() && ascending_.back() == infinity)
            ascending_ = ascending_.first(ascending_.size() - 1);
        const bool is_worth_it = ssize(ascending_) >= 8 && n_numbers * least_use >= ssize(ascending_);
        if (is_worth_it && ascending_.front() != -infinity) list_stretches();
    }

    // Write for each number how many of the sorted ones do not exceed it; `missing` for NaN.
    template <class Count>
    void count_not_above(std::span<const double> numbers, Count missing, std::span<Count> counts) const {
        if (first_.empty())
            for (std::size_t i = 0; i < numbers.size(); ++i)
                counts[i] = numbers[i] != numbers[i] ? missing : static_cast<Count>(search(numbers[i], ascending_));
        else
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                const double number = numbers[i];
                counts[i] = number != number ? missing : static_cast<Count>(find(number));
            }
    }

    Index count_not_above(double number) const { return first_.empty() ? search(number, ascending_) : find(number); }

private:
    static constexpr Index stretches_per_number = 4;
    static constexpr Index most_stretches = 1 << 16;
    static constexpr Index least_use = 4;  // the list pays from this many sorted numbers per number on

    void list_stretches() {
        n_stretches_ = std::min(stretches_per_number * ssize(ascending_), most_stretches);
        // Halves keep the width finite; the formula for the stretch is monotone whatever its rounding.
        const double width = 0.5 * ascending_.back() - 0.5 * ascending_.front();
        scale_ = width > 0.0 ? static_cast<double>(n_stretches_) / width : 0.0;
        if (!(scale_ < std::numeric_limits<double>::infinity())) scale_ = 0.0;
        first_.assign(static_cast<std::size_t>(n_stretches_) + 2, 0);
        for (const double number : ascending_) ++first_[stretch_of(number) + 1];
        for (std::size_t s = 1; s < first_.size(); ++s) first_[s] += first_[s - 1];
    }

    // For numbers from the first to the last of the sorted ones.
    std::size_t stretch_of(double number) const {
        const auto stretch = static_cast<Index>((0.5 * number - 0.5 * ascending_.front()) * scale_);
        return static_cast<std::size_t>(std::min(stretch, n_stretches_));
    }

    Index find(double number) const {
        if (number < ascending_.front()) return 0;
        if (number >= ascending_.back()) return ssize(ascending_);
        const std::size_t s = stretch_of(number);
        const std::size_t start = first_[s];
        const std::size_t n_here = first_[s + 1] - start;
        if (n_here > 1) return static_cast<Index>(start) + search(number, ascending_.subspan(start, n_here));
        return static_cast<Index>(start + (n_here & static_cast<std::size_t>(ascending_[start] <= number)));
    }

    static Index search(double number, std::span<const double> ascending) {
        return std::upper_bound(ascending.begin(), ascending.end(), number) - ascending.begin();
    }

    std::span<const double> ascending_;
    std::vector<std::uint32_t> first_;  // of each stretch, the index of its first sorted number; empty without a list
    Index n_stretches_ = 0;
    double scale_ = 0.0;
};

}  // namespace fuselearn
