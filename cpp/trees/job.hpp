// The arguments for growing a tree besides a table and a target, and the declaration for other kernels.

#pragma once

#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "tables/table.hpp"
#include "trees/settings.hpp"
#include "trees/targets.hpp"
#include "trees/tree.hpp"

namespace fuselearn {

// How one tree is to be grown.
struct Job {
    const TreeSettings& settings;
    const StoragePlan& plan;
    Key seed;
    int n_threads;  // that may share a large tree
    Interrupt& interrupt;

    // Whether features are gathered in each node, rather than kept sorted.
    bool looks_at_few(Index n_columns) const {
        return settings.random_cuts || settings.max_features * plan.times_as_many <= n_columns;
    }
};

// Grow a tree for one class per sample; grow_tree.hpp defines it.
Tree grow_tree(const Table& table, const ClassTarget& target, const Draw& draw, const Job& job);

}  // namespace fuselearn
