// How a tree is grown, in rpart's terms, and the limits that follow from it for one tree.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "support/views.hpp"

namespace fuselearn {

struct TreeSettings {
    std::int32_t min_split = 20;  // rpart's minsplit: copies of samples in a node that may be split
    std::int32_t min_leaf = 7;    // minbucket: copies of samples in a leaf
    std::int32_t max_depth = 30;  // maxdepth
    double complexity = 0.01;     // cp; below 0 nothing is pruned
    std::int32_t max_features = std::numeric_limits<std::int32_t>::max();  // looked at in each node, drawn at random
    bool random_cuts = false;         // one random cut per feature instead of all, as in extremely randomized trees
    bool correct_for_chance = false;  // see chance.hpp; rpart does not

    bool operator==(const TreeSettings&) const = default;
};

// How samples are stored. Trees do not depend on it, which tests check with other plans.
struct StoragePlan {
    std::int64_t most_presorted = 2000;  // up to so many samples of a table, a tree is grown without histograms
    std::int64_t least_histogram = 8;    // so is a node of a larger table with at most so many samples,
    double samples_per_code = 1.5;       // or so many per code of an average feature
    std::int64_t n_branches = 16;        // a large tree is grown as a trunk and about so many branches,
    std::int64_t least_branch = 2000;    // of at least so many samples, which threads share
    std::int64_t times_as_many = 4;      // features are gathered in each node where it looks at so few of them
    std::int64_t most_sorted = 65'536;   // a node with more samples is not kept sorted
};

// When a node is not split any further. Risks and gains are in units of weight.
struct Limits {
    Index min_split;
    Index min_leaf;
    Index max_depth;
    Index max_features;
    bool random_cuts;
    bool correct_for_chance;
    bool multilabel;  // whether the risk counts (sample, label) pairs
    double min_risk;  // the misclassified weight below which no split can survive pruning
    double min_gain;  // the gain that counts as zero
};

// The limits of a tree whose root has this weight and risk.
inline Limits make_limits(const TreeSettings& settings, Index n_features, double weight, double root_risk,
                          bool multilabel) {
    const Index min_leaf = std::max<Index>(1, settings.min_leaf);
    return {
        .min_split = std::max<Index>(settings.min_split, 2 * min_leaf),
        .min_leaf = min_leaf,
        .max_depth = settings.max_depth,
        .max_features = std::min<Index>(settings.max_features, n_features),
        .random_cuts = settings.random_cuts,
        .correct_for_chance = settings.correct_for_chance,
        .multilabel = multilabel,
        .min_risk = std::max(0.0, settings.complexity) * root_risk,
        .min_gain = 1e-10 * weight,
    };
}

}  // namespace fuselearn
