// One part of a table as kernels see it: its codes, some of its features, and the samples that were drawn for a tree.

#pragma once

#include <cstdint>
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

// How many samples ahead memory is asked for.
constexpr Index samples_ahead = 12;

}  // namespace fuselearn
