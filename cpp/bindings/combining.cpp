// Bindings for combining the outputs of many members, and for the search for output codes.

#include <nanobind/stl/tuple.h>

#include <limits>

#include "bindings/arrays.hpp"
#include "codes/search.hpp"
#include "combining/candidates.hpp"
#include "combining/co_association.hpp"
#include "combining/leads.hpp"

namespace fuselearn::bindings {

namespace {

template <class Score>
auto sum_checked_leads(In<Score, 3> scores, In<double, 1> weights) {
    const auto read_scores = scores.read("scores");
    const auto read_weights = weights.read("weights");
    check_length(read_weights.size(), read_scores.shape(0), "weights", "scores");
    const MemberScores<Score> members{read_scores.data(), read_scores.shape(0), read_scores.shape(1),
                                      read_scores.shape(2)};
    const Out<double, 2> sums({members.n_samples, members.n_classes});
    Index n_gaps = 0;
    run_released(
        [&](Interrupt& interrupt) { n_gaps = sum_leads(members, read_weights.span(), sums.matrix(), interrupt); });
    return std::tuple(sums.object(), n_gaps);
}

auto bound_sum_leads(nb::handle scores, In<double, 1> weights) {
    if (const In<float, 3> single{scores}; single.has_dtype()) return sum_checked_leads(single, weights);
    return sum_checked_leads(In<double, 3>{scores}, weights);
}

auto bound_average_logarithms(In<double, 2> values, In<double, 1> total, double size, In<std::int64_t, 1> members) {
    const auto read_values = values.read("values");
    const auto read_total = total.read("total");
    const auto read_members = members.read("members");
    check_length(read_total.size(), read_values.shape(1), "total", "a row of values");
    check_range(read_members.span(), read_values.shape(0), "members");
    const Out<double, 1> means({read_members.size()});
    run_released([&](Interrupt& interrupt) {
        average_logarithms({read_values.matrix(), read_members.span()}, read_total.span(), size, means.span(),
                           interrupt);
    });
    return means.object();
}

auto bound_tally_classes(In<double, 3> values, In<std::int64_t, 1> members, In<double, 2> total,
                         In<std::int64_t, 1> truth, In<double, 1> weights, In<std::int64_t, 1> samples) {
    const auto read_values = values.read("values");
    const auto read_members = members.read("members");
    const auto read_total = total.read("total");
    const auto read_truth = truth.read("truth");
    const auto read_weights = weights.read("weights");
    const auto read_samples = samples.read("samples");
    const Index n_samples = read_total.shape(0), n_classes = read_total.shape(1);
    check_length(read_values.shape(1), n_samples, "a member of values", "total");
    check_length(read_values.shape(2), n_classes, "a sample of values", "a sample of total");
    check_length(read_truth.size(), n_samples, "truth", "total");
    check_length(read_weights.size(), n_samples, "weights", "total");
    check_range(read_members.span(), read_values.shape(0), "members");
    check_range(read_truth.span(), n_classes, "truth");
    check_range(read_samples.span(), n_samples, "samples");
    const Candidates candidates{{read_values.data(), read_values.shape(0), n_samples * n_classes}, read_members.span()};
    const ScoredSamples scored{read_total.matrix(), read_truth.span(), read_weights.span(), read_samples.span()};
    const Out<double, 3> tables({read_members.size(), n_classes, n_classes});
    run_released([&](Interrupt& interrupt) { tally_classes(candidates, scored, tables.span(), interrupt); });
    return tables.object();
}

template <class Cluster>
auto bound_measure_distances(In<Cluster, 2> clusters, int n_threads) {
    const auto read_clusters = clusters.read("clusters");
    const Index n_samples = read_clusters.shape(0);
    if (read_clusters.shape(1) > std::numeric_limits<Cluster>::max())
        raise_value_error("clusters has more clusterings than its type can count.");
    const Out<double, 1> distances({n_samples * std::max<Index>(n_samples - 1, 0) / 2});
    run_released([&](Interrupt& interrupt) {
        measure_all_distances(read_clusters.matrix(), distances.span(), n_threads, interrupt);
    });
    return distances.object();
}

Index climb(InOut<std::int8_t, 2> bits, In<double, 2> prices, Index most_sweeps) {
    const auto book = bits.read("bits");
    const auto read_prices = prices.read("prices");
    check_range(std::span<const std::int8_t>(book.flat()), 2, "bits");
    check_length(read_prices.shape(0), 2, "prices", "the two directions of a step");
    check_length(read_prices.shape(1), book.n_rows() + 1, "a direction of prices", "the distances from 0 to n_bits");
    Index n_sweeps = 0;
    run_released(
        [&](Interrupt& interrupt) { n_sweeps = CodeSearch(book, read_prices.matrix()).climb(most_sweeps, interrupt); });
    return n_sweeps;
}

}  // namespace

void bind_combining(nb::module_& module) {
    module.def("sum_leads", &bound_sum_leads, "scores"_a, "weights"_a,
               "Sum over the members, for each class, how many classes they score below it less how many above it,\n"
               "times the member's weight; also return the number of scores that are NaN.\n\n"
               "Scores of shape (n_members, n_samples, n_classes) are float32 or float64.");
    module.def("average_logarithms", &bound_average_logarithms, "values"_a, "total"_a, "size"_a, "members"_a,
               "Average log((total + value) / size) over cells, for some of the members, by logarithms of products.");
    module.def("tally_classes", &bound_tally_classes, "values"_a, "members"_a, "total"_a, "truth"_a, "weights"_a,
               "samples"_a,
               "Count true against predicted classes in some samples, weighted, for the sum `total` with each of some "
               "members added.");
    module.def("measure_distances_i2", &bound_measure_distances<std::int16_t>, "clusters"_a, "n_threads"_a);
    module.def("measure_distances_i4", &bound_measure_distances<std::int32_t>, "clusters"_a, "n_threads"_a);
    module.def("climb", &climb, "bits"_a, "prices"_a, "most_sweeps"_a,
               "Flip bits of a code book, in place, while any flip makes it better; return the number of\n"
               "sweeps over all bits.\n\n"
               "The book has shape (n_bits, n_classes). `prices[0]` is by how much a pair of classes at each\n"
               "distance changes the price if it comes closer by one bit, `prices[1]` if it moves apart.");
}

}  // namespace fuselearn::bindings
