// The categories of a feature that are present in a node, with their class weights.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "trees/splits.hpp"

namespace fuselearn {

// The c-th present category has the code codes[c]; it belongs to the group groups[c]. A group is one category, or all
// categories with a single sample each (chance.hpp). Groups take the first positions of weights, squared_weights,
// counts and sums; is_left says where each of them goes.
struct Categories {
    Categories(Index most, Index n_values)
        : codes(most),
          groups(most),
          weights(most),
          squared_weights(most),
          counts(most),
          positions(most),
          order(most),
          is_left(most),
          sums_(most * n_values),
          left(n_values),
          direction(n_values),
          n_values_(n_values) {}

    std::span<double> sums(Index c) { return {sums_.data() + c * n_values_, static_cast<std::size_t>(n_values_)}; }
    std::span<const double> sums(Index c) const {
        return {sums_.data() + c * n_values_, static_cast<std::size_t>(n_values_)};
    }

    // Begin with a category; everything of it is 0.
    void start(Index c, Index code) {
        codes[c] = code;
        groups[c] = c;
        weights[c] = squared_weights[c] = counts[c] = 0.0;
        std::fill(sums(c).begin(), sums(c).end(), 0.0);
    }

    // Write the side of each of the feature's codes.
    void keep(std::vector<Side>& sides) const {
        std::fill(sides.begin(), sides.end(), Side::absent);
        for (Index c = 0; c < n_present; ++c) sides[codes[c]] = is_left[groups[c]] ? Side::left : Side::right;
    }

    Index n_present = 0;
    Index n_groups = 0;
    std::vector<Index> codes;
    std::vector<Index> groups;
    std::vector<double> weights;
    std::vector<double> squared_weights;  // sums of the samples' squared weights
    std::vector<double> counts;           // samples with their copies
    std::vector<double> positions;
    std::vector<Index> order;
    std::vector<std::uint8_t> is_left;

private:
    std::vector<double> sums_;

public:
    std::vector<double> left;       // for passing use
    std::vector<double> direction;  // from the right side to the left one, see chance.hpp

private:
    Index n_values_;
};

}  // namespace fuselearn
