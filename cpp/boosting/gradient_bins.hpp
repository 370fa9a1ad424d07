// The sums of a node's gradients and Hessians for each code of a feature.
//
// Samples with the most frequent code are not added: their sums are the node's minus all others, which saves most of
// the work where most values are zero, as in text. Afterwards only codes that occur in the node are visited. The cost
// is proportional to the number of samples with other codes, times labels.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "boosting/gradient_sums.hpp"
#include "support/views.hpp"

namespace fuselearn {

template <class Code>
struct GradientColumn {
    Index feature;
    const Code* codes;
    Index missing_code;
    Index frequent_code;
    bool is_category;
};

struct GradientNode {
    std::span<const std::int32_t> samples;
    const double* totals;
    double score;  // what a split must exceed
};

class GradientBins {
public:
    GradientBins(Index n_codes, Index width)
        : width_(width), sums_(n_codes * width, 0.0), counts_(n_codes, 0), codes_(n_codes + 1) {}

    const double* sums(Index code) const { return sums_.data() + code * width_; }
    Index count(Index code) const { return counts_[code]; }
    Index width() const { return width_; }
    Index most_codes() const { return ssize(counts_); }
    // The codes that the node has, in ascending order.
    std::span<const std::int32_t> codes() const { return {codes_.data(), static_cast<std::size_t>(n_codes_)}; }

    // How many samples were added up.
    Index n_added() const { return n_added_; }

    // Add the samples of a node. No code is listed if all samples have the most frequent one.
    template <class Code>
    void fill(const GradientColumn<Code>& column, const GradientNode& node, const Statistics& statistics) {
        for (const std::int32_t i : node.samples) {
            const Index code = column.codes[i];
            if (code == column.frequent_code) continue;
            ++n_added_;
            codes_[n_codes_] = static_cast<std::int32_t>(code);
            n_codes_ += counts_[code]++ == 0;
            add_to(own_sums(code), statistics.row(i), width_);
        }
        sort_codes(column.missing_code);
        if (n_added_ > 0 && n_added_ < ssize(node.samples)) add_frequent(column, node);
    }

    // Subtract the sums of a child, which leaves those of its sibling. The remaining codes stay sorted.
    template <class Code>
    void subtract(const GradientBins& child, const GradientColumn<Code>& column, const GradientNode& node) {
        if (child.codes().empty()) subtract_code(column.frequent_code, ssize(node.samples), node.totals);
        for (const std::int32_t code : child.codes()) subtract_code(code, child.count(code), child.sums(code));
        n_added_ -= child.n_added_;
        Index n = 0;
        for (const std::int32_t code : codes()) {
            codes_[n] = code;
            n += counts_[code] > 0;
            if (counts_[code] == 0) std::fill_n(own_sums(code), width_, 0.0);
        }
        n_codes_ = n;
    }

    void clear() {
        for (const std::int32_t code : codes()) {
            counts_[code] = 0;
            std::fill_n(own_sums(code), width_, 0.0);
        }
        n_codes_ = n_added_ = 0;
    }

private:
    static constexpr Index words_per_code = 4;  // sorting a code takes about as long as looking at so many words

    double* own_sums(Index code) { return sums_.data() + code * width_; }

    void subtract_code(Index code, Index count, const double* sums) {
        counts_[code] -= static_cast<std::int32_t>(count);
        subtract_from(own_sums(code), sums, width_);
    }

    template <class Code>
    void add_frequent(const GradientColumn<Code>& column, const GradientNode& node) {
        const Index frequent = column.frequent_code;
        double* const sums = own_sums(frequent);
        std::copy_n(node.totals, width_, sums);
        for (const std::int32_t code : codes()) subtract_from(sums, own_sums(code), width_);
        counts_[frequent] = static_cast<std::int32_t>(ssize(node.samples) - n_added_);
        const auto end = codes_.begin() + n_codes_++;
        const auto place = std::lower_bound(codes_.begin(), end, frequent);
        std::copy_backward(place, end, end + 1);
        *place = static_cast<std::int32_t>(frequent);
    }

    // By the bits of a set, unless it would be nearly empty.
    void sort_codes(Index missing_code) {
        const Index n_words = missing_code / 64 + 1;
        if (n_codes_ * words_per_code < n_words) {
            std::sort(codes_.begin(), codes_.begin() + n_codes_);
            return;
        }
        present_.resize(n_words, 0);
        for (const std::int32_t code : codes()) present_[code / 64] |= std::uint64_t{1} << (code % 64);
        Index n = 0;
        for (Index word = 0; word < n_words; ++word) {
            for (std::uint64_t bits = present_[word]; bits != 0; bits &= bits - 1)
                codes_[n++] = static_cast<std::int32_t>(word * 64 + std::countr_zero(bits));
            present_[word] = 0;
        }
    }

    Index width_;
    std::vector<double> sums_;  // zero for codes that are not listed
    std::vector<std::int32_t> counts_;
    std::vector<std::int32_t> codes_;
    Index n_codes_ = 0;
    Index n_added_ = 0;
    std::vector<std::uint64_t> present_;
};

}  // namespace fuselearn
