// Balanced k-means over labels, given the co-occurrences of labels.
//
// O(labels^2) per round, and O(labels) for each label that leaves a full cluster.
// tests/multilabel/methods/test_hierarchy.py compares with k-means with explicit means.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

using LabelClusters = std::vector<std::int64_t>;  // -1 for a label that is in none

class DistanceTable {
public:
    DistanceTable(Index n_labels, Index n_clusters) : distances_(n_labels * n_clusters, 0.0), n_clusters_(n_clusters) {}
    double& operator()(Index label, Index cluster) { return distances_[label * n_clusters_ + cluster]; }
    double operator()(Index label, Index cluster) const { return distances_[label * n_clusters_ + cluster]; }

    // The cluster with the smallest distance, the first of equal ones.
    Index nearest(Index label) const {
        const auto first = distances_.begin() + label * n_clusters_;
        return std::min_element(first, first + n_clusters_) - first;
    }

private:
    std::vector<double> distances_;
    Index n_clusters_;
};

// The squared distance of each label to the mean of each cluster; that of an empty one is infinite.
inline DistanceTable measure_to_means(Matrix<const double> co_occurrences, const LabelClusters& clusters,
                                      Index n_clusters) {
    const Index n_labels = co_occurrences.n_rows();
    DistanceTable distances(n_labels, n_clusters);
    std::vector<std::vector<Index>> members(n_clusters);
    for (Index b = 0; b < n_labels; ++b)
        if (clusters[b] >= 0) members[clusters[b]].push_back(b);
    std::vector<double> inner(n_clusters, 0.0);
    for (Index a = 0; a < n_labels; ++a) {
        for (Index c = 0; c < n_clusters; ++c) {
            double sum = 0.0;
            for (const Index b : members[c]) sum += co_occurrences(a, b);
            distances(a, c) = sum;
            if (clusters[a] == c) inner[c] += sum;
        }
    }
    for (Index c = 0; c < n_clusters; ++c) {
        const auto size = static_cast<double>(members[c].size());
        for (Index a = 0; a < n_labels; ++a)
            distances(a, c) = size == 0.0
                                  ? std::numeric_limits<double>::infinity()
                                  : co_occurrences(a, a) - 2.0 * (distances(a, c) / size) + inner[c] / (size * size);
    }
    return distances;
}

// Assign each label to its nearest cluster, of those that are not full of labels nearer to them.
inline LabelClusters assign_labels(const DistanceTable& distances, Index n_labels, Index n_clusters, Index capacity,
                                   Interrupt& interrupt) {
    LabelClusters clusters(n_labels, -1);
    std::vector<Index> sizes(n_clusters, 0);
    DistanceTable open = distances;
    for (Index newcomer = 0; newcomer < n_labels; ++newcomer) {
        for (Index label = newcomer; label >= 0;) {
            interrupt.check();
            const Index chosen = open.nearest(label);
            clusters[label] = chosen;
            if (sizes[chosen] < capacity) {
                ++sizes[chosen];
                break;
            }
            Index farthest = -1;
            for (Index a = 0; a < n_labels; ++a)
                if (clusters[a] == chosen && (farthest < 0 || distances(a, chosen) > distances(farthest, chosen)))
                    farthest = a;
            open(farthest, chosen) = std::numeric_limits<double>::infinity();
            clusters[farthest] = -1;
            label = farthest;
        }
    }
    return clusters;
}

struct ClusteringPlan {
    std::span<const std::int64_t> first;  // different labels, the first centers
    Index capacity;                       // of a cluster; all together hold all labels
    Index most_rounds;
};

inline LabelClusters cluster_labels(Matrix<const double> co_occurrences, const ClusteringPlan& plan,
                                    Interrupt& interrupt) {
    const Index n_labels = co_occurrences.n_rows(), n_clusters = ssize(plan.first);
    LabelClusters clusters(n_labels, -1);
    for (Index c = 0; c < n_clusters; ++c) clusters[plan.first[c]] = c;
    for (Index round = 0; round < plan.most_rounds; ++round) {
        const DistanceTable distances = measure_to_means(co_occurrences, clusters, n_clusters);
        LabelClusters renewed = assign_labels(distances, n_labels, n_clusters, plan.capacity, interrupt);
        if (renewed == clusters) break;
        clusters = std::move(renewed);
    }
    return clusters;
}

}  // namespace fuselearn
