// The measurements of KFHE on a coded table: draw samples, grow a tree, compare its votes, update both filters.
//
// These are the steps of sampling, trees and filters without the interpreter in between, which on small tables takes as
// long as the steps. The caller keeps the variances and converts errors to gains. tests/core/test_class_filters.py
// compares with the separate steps.

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "filters/pulling.hpp"
#include "filters/votes.hpp"
#include "filters/weights.hpp"
#include "sampling/classes.hpp"
#include "sampling/draws.hpp"
#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "tables/table.hpp"
#include "trees/job.hpp"
#include "trees/table_descent.hpp"
#include "trees/targets.hpp"

namespace fuselearn {

// The states of both filters: scores of shape (n_samples, n_classes), and the sample weights.
struct FilterStates {
    std::vector<double> estimate;
    std::vector<double> weights;
};

struct MeasuredTree {
    Tree tree;
    VoteErrors<PlainSum> errors;
};

class ClassFilters {
public:
    // All arguments have the same number of samples; the table must outlive this object. `fractions` are the initial
    // weights.
    ClassFilters(const Table& table, ClassTarget target, const TreeSettings& settings, std::vector<double> fractions,
                 FilterStates states)
        : table_(table),
          classes_(target.classes.begin(), target.classes.end()),
          n_classes_(target.n_values),
          settings_(settings),
          fractions_(std::move(fractions)),
          states_(std::move(states)),
          counts_(classes_.size()),
          votes_(classes_.size()),
          wrong_(classes_.size()),
          out_of_bag_(classes_.size()) {}

    // Draw samples until every class is drawn, at most `max_tries` times; grow a tree, and compare its votes.
    MeasuredTree measure(Key seed, Index n_draws, Index max_tries, int n_threads, Interrupt& interrupt) {
        draw_covering_counts(seed, states_.weights, n_draws, Classes{classes_, n_classes_}, max_tries, counts_,
                             interrupt);
        const StoragePlan plan;
        MeasuredTree measured;
        measured.tree = grow_tree(table_, ClassTarget{classes_, n_classes_}, Draw{counts_, counts_},
                                  {settings_, plan, seed, n_threads, interrupt});
        const std::vector<std::int32_t> choices = choose_classes(measured.tree);
        visit_leaves(measured.tree, table_, {{}, table_.n_samples(), true}, interrupt,
                     [&](Index i, Index leaf) { votes_[i] = choices[leaf]; });
        // Bytes of 0 and 1 are flags, and back.
        const std::span<bool> wrong(reinterpret_cast<bool*>(wrong_.data()), wrong_.size());
        measured.errors = compare_votes<PlainSum>(estimate(), votes_, {classes_, fractions_}, wrong);
        return measured;
    }

    // Count the votes of the last tree for the samples that it was not trained on, and return the weight of the wrong
    // votes of all trees counted. `priors` of each sample count as one vote, which is right with that probability.
    double count_out_of_bag(std::span<const double> priors) {
        double error = 0.0;
        for (std::size_t i = 0; i < out_of_bag_.size(); ++i) {
            Votes& votes = out_of_bag_[i];
            const bool is_counted = counts_[i] == 0;
            votes.n_votes += is_counted;
            votes.n_right += is_counted & (votes_[i] == classes_[i]);
            error += states_.weights[i] * (1.0 - (priors[i] + votes.n_right) / (1.0 + votes.n_votes));
        }
        return error;
    }

    // How often trees voted for each sample that they were not trained on, and how often for its class.
    struct Votes {
        std::int32_t n_votes = 0, n_right = 0;
    };
    std::span<Votes> out_of_bag() { return out_of_bag_; }

    // Update both states with the last measurement.
    void update(double gain, double weight_gain, Weighting weighting) {
        pull_halfway({states_.estimate.data(), ssize(classes_), n_classes_}, votes_, gain);
        update_weights<std::uint8_t>(states_.weights, fractions_, wrong_, {weighting, weight_gain, false});
    }

    void reset_weights() { states_.weights = fractions_; }

    Matrix<const double> estimate() const { return {states_.estimate.data(), ssize(classes_), n_classes_}; }
    std::span<const double> weights() const { return states_.weights; }
    // How often each sample was drawn for the last measurement.
    std::span<const std::int32_t> counts() const { return counts_; }

private:
    const Table& table_;
    std::vector<std::int32_t> classes_;
    Index n_classes_;
    TreeSettings settings_;
    std::vector<double> fractions_;
    FilterStates states_;
    std::vector<std::int32_t> counts_;
    std::vector<std::int32_t> votes_;
    std::vector<std::uint8_t> wrong_;
    std::vector<Votes> out_of_bag_;
};

}  // namespace fuselearn
