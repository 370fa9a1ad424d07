// Targets for Python, and parameters that several groups of bindings read.

#pragma once

#include <cstdint>
#include <vector>

#include "bindings/arrays.hpp"
#include "filters/weights.hpp"
#include "trees/targets.hpp"

namespace fuselearn::bindings {

// Targets own what they view: a target is checked once and trees are grown for it many times.
struct BoundClasses {
    std::vector<std::int32_t> classes;
    Index n_classes;

    ClassTarget view() const { return {classes, n_classes}; }
};

struct BoundLabels {
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> labels;
    Index n_labels;

    LabelTarget view() const { return {starts, labels, n_labels}; }
};

Weighting read_weighting(int weighting);

}  // namespace fuselearn::bindings
