// Samples counted per code: the items of a feature where a node has more samples than codes.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "support/views.hpp"
#include "trees/criterion.hpp"
#include "trees/runs.hpp"

namespace fuselearn {

// Bins with the number of samples of each class, copies counted. NClasses is 0 unless known to the compiler.
template <int NClasses>
struct ClassBins {
    static constexpr bool multilabel = false;
    static constexpr bool weighted = false;
    using Side = std::conditional_t<(NClasses > 0), FewClassesSide<ClassBins, NClasses>, MovingSide<ClassBins>>;

    Matrix<const std::int32_t> counted;              // of shape (n_bins, n_classes)
    std::span<const double> sample_squared_weights;  // by bin; needed by the correction for chance only

    double weight(Index b) const {
        std::int64_t weight = 0;
        for (const std::int32_t count : counted.row(b)) weight += count;
        return static_cast<double>(weight);
    }
    double count(Index b) const { return weight(b); }
    double squared_weights(Index b) const { return sample_squared_weights.empty() ? 0.0 : sample_squared_weights[b]; }
    double product(Index b, const Parent& parent) const { return sum_of(b, parent.totals); }

    double sum_of(Index b, std::span<const double> numbers) const {
        double total = 0.0;
        for (Index j = 0; j < ssize(numbers); ++j) total += counted(b, j) * numbers[j];
        return total;
    }
    // All of the bin or, with a weight of 0, nothing.
    double add(Index b, double weight, std::span<double> sums) const {
        double squares = 0.0;
        if (weight == 0) return squares;
        for (Index j = 0; j < ssize(sums); ++j) {
            const double count = counted(b, j);
            squares += count * (2 * sums[j] + count);
            sums[j] += count;
        }
        return squares;
    }
    template <std::size_t N>
    void add_to_few(Index b, std::array<double, N>& sums) const {
        for (std::size_t j = 0; j < N; ++j) sums[j] += counted(b, static_cast<Index>(j));
    }
    template <class Samples>
    void prepare(const Samples&, const Parent&) {}
};

// List the bins of a feature that are not empty in the order of their codes.
class BinList {
public:
    using Word = std::uint64_t;

    template <int NClasses>
    Run<Word> list(const ClassBins<NClasses>& bins, Index first, Index missing_code) {
        const Index n_bins = missing_code + 1;
        if (ssize(words_) < n_bins + 1) words_.resize(n_bins + 1);
        Index n_listed = 0;
        for (Index code = 0; code < n_bins; ++code) {
            std::int32_t any = 0;
            for (const std::int32_t count : bins.counted.row(first + code)) any |= count;
            // Written in any case, and kept if not empty: cheaper than a branch that cannot be foreseen.
            words_[n_listed] =
                make_word<Word>(static_cast<std::uint32_t>(code), static_cast<std::uint32_t>(first + code));
            n_listed += any != 0;
        }
        return sorted_run<Word>({words_.data(), static_cast<std::size_t>(n_listed)}, missing_code);
    }

private:
    std::vector<Word> words_;
};

}  // namespace fuselearn
