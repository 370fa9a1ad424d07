// Bindings for loops over label matrices.

#include <cmath>
#include <limits>
#include <set>

#include "bindings/arrays.hpp"
#include "labels/clustering.hpp"
#include "labels/expected_f1.hpp"
#include "labels/stratification.hpp"

namespace fuselearn::bindings {

namespace {

void check_starts(std::span<const std::int64_t> starts, Index n_items, const char* name) {
    const bool is_sorted = std::is_sorted(starts.begin(), starts.end());
    if (starts.empty() || !is_sorted || starts.front() != 0 || starts.back() != n_items)
        raise_value_error(std::string(name) + " must ascend from 0 to the number of what they divide, " +
                          std::to_string(n_items) + ".");
}

void check_wishes(std::span<const std::int64_t> room, std::span<const std::int64_t> fractions, Index n_samples) {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    check_length(ssize(fractions), ssize(room), "fractions", "room");
    check_range(room, most, "room");
    check_range(fractions, most, "fractions");
    if (std::accumulate(room.begin(), room.end(), std::int64_t{0}) < n_samples)
        raise_value_error("room must be for all of the " + std::to_string(n_samples) + " samples.");
}

auto bound_deal_samples(In<std::int64_t, 1> sample_starts, In<std::int64_t, 1> sample_labels,
                        In<std::int64_t, 1> label_starts, In<std::int64_t, 1> label_samples,
                        In<std::int64_t, 1> label_order, In<std::int64_t, 1> room, In<std::int64_t, 1> fractions,
                        In<double, 1> draws) {
    const auto read_sample_starts = sample_starts.read("sample_starts");
    const auto read_sample_labels = sample_labels.read("sample_labels");
    const auto read_label_starts = label_starts.read("label_starts");
    const auto read_label_samples = label_samples.read("label_samples");
    const auto read_order = label_order.read("label_order");
    const auto read_room = room.read("room");
    const auto read_fractions = fractions.read("fractions");
    const auto read_draws = draws.read("draws");
    check_starts(read_sample_starts.span(), read_sample_labels.size(), "sample_starts");
    check_starts(read_label_starts.span(), read_label_samples.size(), "label_starts");
    const Index n_samples = read_sample_starts.size() - 1, n_labels = read_label_starts.size() - 1;
    check_range(read_sample_labels.span(), n_labels, "sample_labels");
    check_range(read_label_samples.span(), n_samples, "label_samples");
    check_range(read_order.span(), n_labels, "label_order");
    check_wishes(read_room.span(), read_fractions.span(), n_samples);
    check_length(read_draws.size(), n_samples, "draws", "the samples");
    for (const double draw : read_draws.span())
        if (!(draw >= 0.0 && draw < 1.0)) raise_value_error("draws must be at least 0 and less than 1.");

    const LabelTable table{{read_sample_starts.span(), read_sample_labels.span()},
                           {read_label_starts.span(), read_label_samples.span()}};
    const Out<std::int32_t, 1> folds({n_samples});
    run_released([&](Interrupt& interrupt) {
        const Folds wanted{{read_room.span().begin(), read_room.span().end()}, read_fractions.span()};
        deal_samples(table, {read_order.span(), read_draws.span()}, wanted, folds.span(), interrupt);
    });
    return folds.object();
}

auto bound_cluster_labels(In<double, 2> co_occurrences, In<std::int64_t, 1> first, Index capacity, Index most_rounds) {
    const auto read_counts = co_occurrences.read("co_occurrences");
    const auto read_first = first.read("first");
    const Index n_labels = read_counts.shape(0), n_clusters = read_first.size();
    check_length(read_counts.shape(1), n_labels, "a row of co_occurrences", "the labels");
    check_finite(read_counts.span(), "co_occurrences");
    check_range(read_first.span(), n_labels, "first");
    const std::set<std::int64_t> different(read_first.span().begin(), read_first.span().end());
    check_length(ssize(different), n_clusters, "the set of first", "first");
    if (n_clusters == 0 || capacity < (n_labels + n_clusters - 1) / n_clusters)
        raise_value_error("The clusters must have capacity for all of the " + std::to_string(n_labels) + " labels.");
    LabelClusters clusters;
    run_released([&](Interrupt& interrupt) {
        clusters = cluster_labels(read_counts.matrix(), {read_first.span(), capacity, most_rounds}, interrupt);
    });
    return to_array(clusters);
}

auto bound_find_best_sizes(In<double, 2> ordered, double empty) {
    const auto read_ordered = ordered.read("ordered");
    const Out<std::int64_t, 1> sizes({read_ordered.shape(0)});
    run_released([&](Interrupt& interrupt) { find_best_sizes(read_ordered.matrix(), empty, sizes.span(), interrupt); });
    return sizes.object();
}

}  // namespace

void bind_labels(nb::module_& module) {
    module.def("deal_samples", &bound_deal_samples, "sample_starts"_a, "sample_labels"_a, "label_starts"_a,
               "label_samples"_a, "label_order"_a, "room"_a, "fractions"_a, "draws"_a,
               "Deal samples to folds by iterative stratification; the two tables list the labels of each sample and "
               "the samples of each label.");
    module.def("cluster_labels", &bound_cluster_labels, "co_occurrences"_a, "first"_a, "capacity"_a, "most_rounds"_a,
               "Divide labels into clusters of at most `capacity`, starting from some labels as the centers.");
    module.def("find_best_sizes", &bound_find_best_sizes, "ordered"_a, "empty"_a,
               "Return the number of labels with the largest expected F1 for each row of falling probabilities.");
}

}  // namespace fuselearn::bindings
