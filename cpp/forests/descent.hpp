// Groups of samples descend the trees of a forest together.
//
// Sixteen samples at a time hide the latency of fetching nodes from memory: with eight, the processor waits for memory;
// thirty-two do not fit into its registers (1.1 and 1.6 times as slow). The codes of a group are stored column by
// column. A step has no branches, and whether all samples have reached a leaf is checked after every other step.
//
// A descent never leaves the tree, whatever the codes are: at a leaf no code is larger than the cut, a split has both
// children, and subsets have a bit for every category code.

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "forests/packed.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Codes of samples, in groups of n_abreast: those of a group lie column by column.
template <class Code>
struct CodeGroups {
    std::span<Code> codes;
    Index n_columns;

    Code& at(Index sample, Index column) const {
        const Index group = sample / n_abreast;
        return codes[static_cast<std::size_t>((group * n_columns + column) * n_abreast + sample % n_abreast)];
    }
    const Code* group(Index first) const { return codes.data() + first * n_columns; }
};

// How many samples buffers must have room for.
constexpr Index fill_groups(Index n_samples) { return (n_samples + n_abreast - 1) / n_abreast * n_abreast; }

// A step of one sample, given its lane of the codes of its group.
template <class Code, bool with_categories>
struct Step {
    const PackedNode<Code>* nodes;
    const Tag* tags;
    const std::uint32_t* subsets;

    std::uint32_t operator()(std::uint32_t here, const Code* codes) const {
        const PackedNode<Code> node = nodes[here];
        const Code code = codes[node.offset];
        auto right = static_cast<std::uint32_t>(code > node.cut);
        if constexpr (with_categories) {
            // Without a branch, which half of the steps would take: other nodes look at the first word for nothing.
            const Tag tag = tags[here];
            const std::uint32_t mask = tag.is_category() ? ~0u : 0u;
            const std::uint32_t word = subsets[(tag.number() + code / 32u) & mask];
            right |= (~word >> (code % 32u)) & mask & 1u;
        }
        return node.left + right;
    }
};

// Descend from a root with n_lanes samples of a group, and write their leaves.
template <Index n_lanes, class Code, class AnyStep>
void descend_abreast(const AnyStep& step, std::uint32_t root, const Code* codes, std::uint32_t* reached) {
    std::array<std::uint32_t, n_lanes> here;
    here.fill(root);
    std::uint32_t moved = 1;
    while (moved != 0) {
        for (std::size_t r = 0; r < n_lanes; ++r) here[r] = step(here[r], codes + r);
        moved = 0;
        for (std::size_t r = 0; r < n_lanes; ++r) {
            const std::uint32_t next = step(here[r], codes + r);
            moved |= next ^ here[r];
            here[r] = next;
        }
    }
    for (std::size_t r = 0; r < n_lanes; ++r) reached[r] = here[r];
}

// Find the leaves of the samples from `first`, which begins a group, to `end`; write them from reached[0] on.
template <class Code, class AnyStep>
void descend(const AnyStep& step, std::uint32_t root, const CodeGroups<Code>& groups, Index first, Index end,
             std::uint32_t* reached) {
    constexpr Index few = 3;  // up to this number of samples, single lanes are faster than a whole group
    for (; end - first >= few; first += n_abreast, reached += n_abreast)
        descend_abreast<n_abreast>(step, root, groups.group(first), reached);
    for (Index lane = 0; first + lane < end; ++lane)
        descend_abreast<1>(step, root, groups.group(first) + lane, reached + lane);
}

}  // namespace fuselearn
