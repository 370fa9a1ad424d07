// Count the samples of a node per feature, code and class, in one part of a table.
//
// Large nodes are counted with two-byte numbers, which fit into the fastest cache for a block of features, and are
// added to four-byte sums before they can overflow. Small nodes mark the bins that they fill. The cost is proportional
// to samples times features, plus bins. tests/core/test_levels.py compares with NumPy.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "levels/level_bins.hpp"
#include "levels/part.hpp"
#include "support/interrupt.hpp"
#include "support/prefetch.hpp"
#include "support/views.hpp"

namespace fuselearn {

// A set of bins that is emptied while it is read, in ascending order.
class BinSet {
public:
    explicit BinSet(Index n_bins) : words_((n_bins + 63) / 64, 0), used_((ssize(words_) + 63) / 64, 0) {}

    void insert(std::size_t bin) {
        words_[bin / 64] |= std::uint64_t{1} << (bin % 64);
        used_[bin / 4096] |= std::uint64_t{1} << (bin / 64 % 64);
    }

    template <class Work>
    void empty(const Work& work) {
        for (Index u = 0; u < ssize(used_); ++u) {
            for (; used_[u] != 0; used_[u] &= used_[u] - 1) {
                const Index w = u * 64 + std::countr_zero(used_[u]);
                for (; words_[w] != 0; words_[w] &= words_[w] - 1) work(w * 64 + std::countr_zero(words_[w]));
            }
        }
    }

private:
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> used_;  // one bit per word that is not zero
};

struct BadCode : std::exception {
    const char* what() const noexcept override { return "codes must not be above n_codes."; }
};

template <class Code>
class NodeCounter {
public:
    NodeCounter(const PartColumns<Code>& columns, std::span<const std::int32_t> classes, Index n_classes, bool squared)
        : columns_(columns), classes_(classes), starts_{0} {
        for (const std::int32_t n_codes : columns.n_codes) starts_.push_back(starts_.back() + n_codes + 1);
        shape_ = {starts_.back(), n_classes, squared};
    }

    const BinShape& shape() const { return shape_; }

    NodeBins count(const DrawnSamples& drawn) {
        const bool is_small = ssize(drawn.samples) * columns_.n_features() < shape_.n_bins;
        NodeBins bins = is_small ? count_few(drawn) : count_many(drawn);
        bins.settle(shape_);
        return bins;
    }

private:
    // What the fastest cache holds besides the samples.
    static constexpr Index block_bytes = Index{1} << 15;
    static constexpr Index most_copies = std::numeric_limits<std::uint16_t>::max();

    NodeBins count_few(const DrawnSamples& drawn) {
        if (tally_.empty()) {
            tally_.resize(shape_.n_bins * shape_.n_classes, 0);
            squares_.resize(shape_.squared ? shape_.n_bins : 0, 0);
            filled_ = BinSet(shape_.n_bins);
        }
        const Index n_classes = shape_.n_classes, n_features = columns_.n_features();
        const Index last = ssize(drawn.samples) - 1;
        std::uint32_t* const tally = tally_.data();
        const Index* const starts = starts_.data();
        for (Index k = 0; k <= last; ++k) {
            prefetch(columns_.row(drawn.samples[std::min(k + samples_ahead, last)]) + columns_.features[0]);
            const Index i = drawn.samples[k];
            const auto copies = static_cast<std::uint32_t>(drawn.copies[k]);
            const Code* const row = columns_.row(i);
            std::uint32_t* const of_class = tally + classes_[i];
            for (Index f = 0; f < n_features; ++f) {
                const Index code = row[columns_.features[f]];
                if (code > columns_.n_codes[f]) throw BadCode();
                const Index bin = starts[f] + code;
                of_class[bin * n_classes] += copies;
                filled_.insert(static_cast<std::size_t>(bin));
            }
            if (shape_.squared)
                for (Index f = 0; f < n_features; ++f)
                    squares_[starts[f] + row[columns_.features[f]]] += std::int64_t{drawn.copies[k]} * drawn.copies[k];
        }
        NodeBins bins;
        bins.reserve(ssize(drawn.samples) * columns_.n_features(), shape_);
        filled_.empty([&](Index bin) {
            const auto counted = bins.append(static_cast<std::uint32_t>(bin), shape_);
            for (Index j = 0; j < shape_.n_classes; ++j) {
                std::uint32_t& count = tally_[bin * shape_.n_classes + j];
                counted[j] = static_cast<std::int32_t>(count);
                count = 0;
            }
            if (shape_.squared) bins.squares().back() = std::exchange(squares_[bin], 0);
        });
        return bins;
    }

    NodeBins count_many(const DrawnSamples& drawn) {
        NodeBins bins(shape_);
        for (Index first = 0; first < columns_.n_features();) {
            Index end = first + 1;
            while (end < columns_.n_features() &&
                   (starts_[end + 1] - starts_[first]) * shape_.n_classes * 2 <= block_bytes)
                ++end;
            count_block(drawn, first, end, bins);
            first = end;
        }
        if (shape_.squared) sum_squares(drawn, bins);
        return bins;
    }

    // Count in the features from `first` to `end - 1`, in steps of so few samples that two bytes hold their copies.
    void count_block(const DrawnSamples& drawn, Index first, Index end, NodeBins& bins) {
        const Index n_bins = starts_[end] - starts_[first];
        // A code that is out of range is counted in the bins of a later feature, or behind the last one.
        short_.assign(n_bins * shape_.n_classes + std::numeric_limits<Code>::max() + 1, 0);
        Index n_all = 0;
        for (Index k = 0; k < ssize(drawn.samples);) {
            Index stop = k;
            Index n_copies = 0;
            while (stop < ssize(drawn.samples) && n_copies + drawn.copies[stop] <= most_copies)
                n_copies += drawn.copies[stop++];
            if (stop == k) {  // a single sample has too many copies
                n_copies = drawn.copies[stop++];
                count_long(drawn.samples[k], n_copies, first, end, bins);
            } else {
                count_short(drawn, k, stop, first, end);
                flush(first, n_bins, bins);
            }
            n_all += n_copies;
            k = stop;
        }
        check_codes(first, end, n_all, bins);
    }

    void count_short(const DrawnSamples& drawn, Index start, Index stop, Index first, Index end) {
        const Index n_bins = starts_[end] - starts_[first];
        const Index n = end - first;
        std::vector<std::uint32_t> offsets;
        for (Index f = first; f < end; ++f) offsets.push_back(static_cast<std::uint32_t>(starts_[f] - starts_[first]));
        const std::int64_t* const features = columns_.features.data() + first;
        const bool adjoin = features[n - 1] - features[0] == n - 1;
        const Index last = ssize(drawn.samples) - 1;
        for (Index k = start; k < stop; ++k) {
            const Index i = drawn.samples[k];
            const Index i_ahead = drawn.samples[std::min(k + samples_ahead, last)];
            prefetch(columns_.row(i_ahead) + features[0]);
            prefetch(&classes_[i_ahead]);
            std::uint16_t* const of_class = short_.data() + classes_[i] * n_bins;
            const auto copies = static_cast<std::uint16_t>(drawn.copies[k]);
            const Code* const row = columns_.row(i);
            if (adjoin) {
                const Code* const own = row + features[0];
                for (Index f = 0; f < n; ++f)
                    of_class[offsets[f] + own[f]] = static_cast<std::uint16_t>(of_class[offsets[f] + own[f]] + copies);
            } else {
                for (Index f = 0; f < n; ++f) {
                    std::uint16_t& count = of_class[offsets[f] + row[features[f]]];
                    count = static_cast<std::uint16_t>(count + copies);
                }
            }
        }
    }

    void flush(Index first, Index n_bins, NodeBins& bins) {
        std::int32_t* const counted = bins.counted().data() + starts_[first] * shape_.n_classes;
        for (Index j = 0; j < shape_.n_classes; ++j) {
            std::uint16_t* const of_class = short_.data() + j * n_bins;
            for (Index b = 0; b < n_bins; ++b) {
                std::int32_t& count = counted[b * shape_.n_classes + j];
                count = static_cast<std::int32_t>(static_cast<std::uint32_t>(count) + of_class[b]);
            }
            std::fill_n(of_class, n_bins, std::uint16_t{0});
        }
    }

    void count_long(Index i, Index copies, Index first, Index end, NodeBins& bins) {
        for (Index f = first; f < end; ++f) {
            const Index code = columns_.code(i, f);
            if (code > columns_.n_codes[f]) throw BadCode();
            std::int32_t& count = bins.counted()[(starts_[f] + code) * shape_.n_classes + classes_[i]];
            count = static_cast<std::int32_t>(static_cast<std::uint32_t>(count) + static_cast<std::uint32_t>(copies));
        }
    }

    // A code that is out of range is missing in the bins of its feature: the first such feature has too few.
    void check_codes(Index first, Index end, Index n_copies, const NodeBins& bins) const {
        for (Index f = first; f < end; ++f) {
            std::uint32_t n_found = 0;
            for (Index k = starts_[f] * shape_.n_classes; k < starts_[f + 1] * shape_.n_classes; ++k)
                n_found += static_cast<std::uint32_t>(bins.counted()[k]);
            if (n_found != static_cast<std::uint32_t>(n_copies)) throw BadCode();
        }
    }

    void sum_squares(const DrawnSamples& drawn, NodeBins& bins) const {
        for (Index k = 0; k < ssize(drawn.samples); ++k) {
            const std::int64_t square = std::int64_t{drawn.copies[k]} * drawn.copies[k];
            for (Index f = 0; f < columns_.n_features(); ++f) {
                const Index code = columns_.code(drawn.samples[k], f);
                if (code > columns_.n_codes[f]) throw BadCode();  // of a sample without copies, which is not missed
                bins.squares()[starts_[f] + code] += square;
            }
        }
    }

    PartColumns<Code> columns_;
    std::span<const std::int32_t> classes_;
    std::vector<Index> starts_;
    BinShape shape_;
    std::vector<std::uint16_t> short_;  // class by class
    std::vector<std::uint32_t> tally_;
    std::vector<std::int64_t> squares_;
    BinSet filled_{0};
};

// Count the samples in some nodes of a level.
template <class Code>
LevelBins count_level(NodeCounter<Code>& counter, const DrawnSamples& drawn, std::span<const std::int64_t> nodes,
                      Interrupt& interrupt) {
    LevelBins bins{counter.shape(), {}};
    bins.nodes.reserve(nodes.size());
    for (const std::int64_t node : nodes) {
        interrupt.check();
        bins.nodes.push_back(counter.count(drawn.of(node)));
    }
    return bins;
}

}  // namespace fuselearn
