// One part of a table: its codes, some of its features, and the samples drawn for a tree.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

// The columns of a part that are a tree's features; `n_codes` has as many.
template <class Code>
struct PartColumns {
    Matrix<const Code> codes;
    std::span<const std::int64_t> features;
    std::span<const std::int32_t> n_codes;

    Index n_features() const { return ssize(features); }
    Code code(Index i, Index f) const { return codes.data()[i * codes.n_columns() + features[f]]; }
    const Code* row(Index i) const { return codes.data() + i * codes.n_columns(); }
};

// The drawn samples, those in the first node of a level first, and how often each was drawn. Those of node k are
// samples[ends[k - 1]] to samples[ends[k] - 1].
struct DrawnSamples {
    std::span<const std::uint32_t> samples;
    std::span<const std::int32_t> copies;
    std::span<const std::int64_t> ends;

    Index n_nodes() const { return ssize(ends); }
    Index start(Index node) const { return node == 0 ? 0 : ends[node - 1]; }
    Index size(Index node) const { return ends[node] - start(node); }
    // Those in one node.
    DrawnSamples of(Index node) const {
        const auto n = static_cast<std::size_t>(size(node));
        return {samples.subspan(start(node), n), copies.subspan(start(node), n), {}};
    }
};

// Whether no code is above that for missing values. Samples are looked at in blocks, as one long array.
template <class Code>
bool are_codes_in_range(Matrix<const Code> codes, std::span<const std::int32_t> n_codes) {
    constexpr Index block = 64;
    std::vector<Code> most;
    for (Index i = 0; i < block; ++i)
        for (const std::int32_t n : n_codes)
            most.push_back(static_cast<Code>(std::min<std::int32_t>(n, std::numeric_limits<Code>::max())));
    for (Index i = 0; i < codes.n_rows(); i += block) {
        const Code* const own = codes.data() + i * codes.n_columns();
        const Index n = std::min(block, codes.n_rows() - i) * codes.n_columns();
        bool has_above = false;
        for (Index k = 0; k < n; ++k) has_above |= own[k] > most[k];
        if (has_above) return false;
    }
    return true;
}

// How many samples ahead memory is asked for.
constexpr Index samples_ahead = 12;

}  // namespace fuselearn
