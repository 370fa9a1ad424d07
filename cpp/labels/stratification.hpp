// Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): samples are assigned to folds, those of the rarest
// label first.
//
// O(stored labels + samples x folds + labels^2). tests/multilabel/test_stratification.py compares with a naive version.

#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

// Concatenated lists: list i is items[starts[i]] to items[starts[i + 1] - 1].
struct IndexLists {
    std::span<const std::int64_t> starts;
    std::span<const std::int64_t> items;

    Index n_lists() const { return ssize(starts) - 1; }
    std::span<const std::int64_t> list(Index i) const { return items.subspan(starts[i], starts[i + 1] - starts[i]); }
};

struct LabelTable {
    IndexLists labels_of_samples;
    IndexLists samples_of_labels;
};

struct DealingOrder {
    std::span<const std::int64_t> labels;  // ties between equally rare labels go to the first one
    std::span<const double> draws;         // of each sample, in [0, 1): break ties between folds
};

struct Folds {
    std::vector<std::int64_t> room;           // samples that each fold still takes
    std::span<const std::int64_t> fractions;  // of every label, in whole numbers of any sum
};

// The label with the fewest remaining samples (ties: the first one); -1 if no label has any.
inline Index find_rarest(std::span<const std::int64_t> n_left, std::span<const std::int64_t> order) {
    Index rarest = -1;
    for (const std::int64_t label : order)
        if (n_left[label] > 0 && (rarest < 0 || n_left[label] < n_left[rarest])) rarest = label;
    return rarest;
}

// The fold with the largest demand, then the most capacity left, among folds that are not full; `draw` breaks ties.
inline Index find_neediest(std::span<const std::int64_t> wishes, std::span<const std::int64_t> room, double draw) {
    const auto need = [&](Index fold) { return std::tuple(wishes[fold], room[fold]); };
    Index best = -1, n_equal = 0;
    for (Index fold = 0; fold < ssize(room); ++fold) {
        if (room[fold] == 0) continue;
        if (best < 0 || need(fold) > need(best)) {
            best = fold;
            n_equal = 1;
        } else if (need(fold) == need(best)) {
            ++n_equal;
        }
    }
    auto n_before = static_cast<Index>(draw * static_cast<double>(n_equal));
    for (Index fold = best; fold < ssize(room); ++fold)
        if (need(fold) == need(best) && n_before-- == 0) return fold;
    return best;
}

// Write the fold of each sample: repeatedly the samples of the rarest remaining label, then samples without labels. The
// folds have capacity for all samples.
inline void deal_samples(const LabelTable& table, const DealingOrder& order, Folds folds,
                         std::span<std::int32_t> fold_of_samples, Interrupt& interrupt) {
    const Index n_labels = table.samples_of_labels.n_lists(), n_folds = ssize(folds.room);
    // Demands are multiplied by the sum of the fractions, so that they are integers and ties are exact.
    const auto whole = std::accumulate(folds.fractions.begin(), folds.fractions.end(), std::int64_t{0});
    std::vector<std::int64_t> n_left(n_labels), all_wishes(n_labels * n_folds);
    const Matrix<std::int64_t> wishes(all_wishes.data(), n_labels, n_folds);
    for (Index label = 0; label < n_labels; ++label) {
        n_left[label] = ssize(table.samples_of_labels.list(label));
        for (Index fold = 0; fold < n_folds; ++fold) wishes(label, fold) = n_left[label] * folds.fractions[fold];
    }
    constexpr std::int32_t no_fold = -1;
    std::fill(fold_of_samples.begin(), fold_of_samples.end(), no_fold);

    const auto deal = [&](Index sample, std::span<const std::int64_t> wishes_of_folds) {
        const Index fold = find_neediest(wishes_of_folds, folds.room, order.draws[sample]);
        fold_of_samples[sample] = static_cast<std::int32_t>(fold);
        --folds.room[fold];
        return fold;
    };
    for (Index round = 0; round < n_labels; ++round) {
        interrupt.check();
        const Index rarest = find_rarest(n_left, order.labels);
        if (rarest < 0) break;
        for (const std::int64_t sample : table.samples_of_labels.list(rarest)) {
            if (fold_of_samples[sample] != no_fold) continue;
            const Index fold = deal(sample, wishes.row(rarest));
            for (const std::int64_t label : table.labels_of_samples.list(sample)) {
                wishes(label, fold) -= whole;
                --n_left[label];
            }
        }
    }
    for (Index sample = 0; sample < ssize(fold_of_samples); ++sample)
        if (fold_of_samples[sample] == no_fold) deal(sample, folds.room);
}

}  // namespace fuselearn
