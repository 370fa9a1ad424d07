// The fraction of clusterings in which two samples are in different clusters, for all pairs of samples.
//
// O(samples^2 x clusterings), in integers. tests/combine/test_clustering.py compares with a naive loop.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support/interrupt.hpp"
#include "support/parallel.hpp"
#include "support/views.hpp"

namespace fuselearn {

// In place of a cluster: the clustering has not drawn the sample. Other negative numbers are noise, which is in no
// cluster with any other sample.
constexpr int not_drawn = -1;

// The distances between sample i and all after it. The distance is the fraction of the clusterings of both samples in
// which they are in different clusters, 1 if there is no such clustering. Row i of `clusters` has the cluster of sample
// i in each clustering; there are no more clusterings than the largest number of its type.
template <class Cluster>
void measure_distances(Matrix<const Cluster> clusters, Index i, std::span<double> distances) {
    const auto one = clusters.row(i);
    for (Index k = 0; k < ssize(distances); ++k) {
        const auto other = clusters.row(i + 1 + k);
        Cluster n_both = 0, n_together = 0;  // of the same type, for the sake of vector instructions
        for (Index m = 0; m < clusters.n_columns(); ++m) {
            n_both = static_cast<Cluster>(n_both + ((one[m] != not_drawn) & (other[m] != not_drawn)));
            n_together = static_cast<Cluster>(n_together + ((one[m] == other[m]) & (one[m] >= 0)));
        }
        distances[k] = n_both == 0 ? 1.0 : 1.0 - static_cast<double>(n_together) / static_cast<double>(n_both);
    }
}

// The same for all samples, in the order of SciPy's condensed matrices.
template <class Cluster>
void measure_all_distances(Matrix<const Cluster> clusters, std::span<double> distances, int n_threads,
                           Interrupt& interrupt) {
    constexpr Index samples_at_once = 64;
    // As if a few more clusterings had drawn nothing: whole vectors leave no rest for a slow loop.
    constexpr Index per_vector = 16 / sizeof(Cluster);
    const Index n_samples = clusters.n_rows(), n_clusterings = clusters.n_columns();
    const Index width = (n_clusterings + per_vector - 1) / per_vector * per_vector;
    std::vector<Cluster> padded(n_samples * width, not_drawn);
    for (Index i = 0; i < n_samples; ++i)
        std::copy_n(clusters.row(i).begin(), n_clusterings, padded.begin() + i * width);
    run_pieces((n_samples + samples_at_once - 1) / samples_at_once, n_threads, interrupt, [&](Index piece) {
        const Index stop = std::min((piece + 1) * samples_at_once, n_samples);
        for (Index i = piece * samples_at_once; i < stop; ++i) {
            interrupt.check();
            measure_distances(Matrix<const Cluster>(padded.data(), n_samples, width), i,
                              distances.subspan(i * n_samples - i * (i + 1) / 2, n_samples - 1 - i));
        }
    });
}

}  // namespace fuselearn
