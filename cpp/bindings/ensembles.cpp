// Bindings for the filters of ensembles.

#include <nanobind/stl/tuple.h>

#include <numeric>

#include "bindings/tables.hpp"
#include "bindings/targets.hpp"
#include "ensembles/class_filters.hpp"

namespace fuselearn::bindings {

namespace {

std::vector<double> read_weights(In<double, 1> weights, Index n_samples, const char* name) {
    const auto read = weights.read(name);
    check_length(read.size(), n_samples, name, "the table");
    double sum = 0.0;
    bool has_negative = false;
    for (const double weight : read.span()) {
        sum += weight;
        has_negative |= !(weight >= 0.0);
    }
    if (has_negative || !(sum > 0.0 && sum <= std::numeric_limits<double>::max()))
        raise_value_error(std::string(name) + " must not be negative, and have a positive and finite sum.");
    return {read.span().begin(), read.span().end()};
}

ClassFilters make_filters(const Table& table, const BoundClasses& target, const TreeSettings& settings,
                          In<double, 1> fractions, In<double, 2> estimate, In<double, 1> weights) {
    const ClassTarget view = target.view();
    check_length(view.n_samples(), table.n_samples(), "target", "the table");
    if (table.n_columns() == 0) raise_value_error("table must have at least one feature.");
    if (table.n_samples() == 0 || table.n_samples() > (1 << 30))
        raise_value_error("table must have from 1 to 2**30 samples.");
    const auto read_estimate = estimate.read("estimate");
    check_length(read_estimate.shape(0), table.n_samples(), "estimate", "the table");
    check_length(read_estimate.shape(1), target.n_classes, "estimate in each row", "the classes");
    check_finite(read_estimate.span(), "estimate");
    return {table, view, settings, read_weights(fractions, table.n_samples(), "fractions"),
            FilterStates{{read_estimate.span().begin(), read_estimate.span().end()},
                         read_weights(weights, table.n_samples(), "weights")}};
}

auto measure(ClassFilters& filters, Key seed, Index n_draws, Index max_tries, int n_threads) {
    if (n_draws < 1 || n_draws > (1 << 30)) raise_value_error("n_draws must be from 1 to 2**30.");
    if (max_tries < 1) raise_value_error("max_tries must be at least 1.");
    MeasuredTree measured;
    run_released(
        [&](Interrupt& interrupt) { measured = filters.measure(seed, n_draws, max_tries, n_threads, interrupt); });
    const auto& errors = measured.errors;
    return std::tuple(std::move(measured.tree), errors.measurement.rounded(), errors.votes.rounded(),
                      errors.estimate.rounded());
}

void update(ClassFilters& filters, double gain, double weight_gain, int weighting) {
    for (const double each : {gain, weight_gain})
        if (!(each >= 0.0 && each <= 1.0)) raise_value_error("Gains must be from 0 to 1.");
    const Weighting read = read_weighting(weighting);
    run_released([&](Interrupt&) { filters.update(gain, weight_gain, read); });
}

double count_out_of_bag(ClassFilters& filters, In<double, 1> priors) {
    const auto read = priors.read("priors");
    check_length(read.size(), ssize(filters.counts()), "priors", "the table");
    return filters.count_out_of_bag(read.span());
}

auto out_of_bag_votes_of(ClassFilters& filters) {
    const auto votes = filters.out_of_bag();
    const Out<std::int32_t, 2> copy({ssize(votes), 2});
    for (Index i = 0; i < ssize(votes); ++i) {
        copy.data()[2 * i] = votes[i].n_votes;
        copy.data()[2 * i + 1] = votes[i].n_right;
    }
    return copy.object();
}

void set_out_of_bag_votes(ClassFilters& filters, In<std::int32_t, 2> votes) {
    const auto read = votes.read("votes");
    check_length(read.shape(0), ssize(filters.out_of_bag()), "votes", "the table");
    check_length(read.shape(1), 2, "votes in each row", "votes and right votes");
    for (Index i = 0; i < read.shape(0); ++i) filters.out_of_bag()[i] = {read.span()[2 * i], read.span()[2 * i + 1]};
}

auto estimate_of(const ClassFilters& filters) {
    const auto estimate = filters.estimate();
    const Out<double, 2> copy({estimate.n_rows(), estimate.n_columns()});
    std::copy_n(estimate.data(), estimate.n_rows() * estimate.n_columns(), copy.data());
    return copy.object();
}

}  // namespace

void bind_ensembles(nb::module_& module) {
    nb::class_<ClassFilters>(
        module, "ClassFilters",
        "The two Kalman filters of KFHE, and trees that vote for classes as their measurements.\n\n"
        "``fractions`` is what each sample counts, ``estimate`` and ``weights`` are the states of the filters to begin "
        "with.\nThe result does not depend on ``n_threads``.")
        .def(
            "__init__",
            [](ClassFilters* self, const Table& table, const BoundClasses& target, const TreeSettings& settings,
               In<double, 1> fractions, In<double, 2> estimate, In<double, 1> weights) {
                new (self) ClassFilters(make_filters(table, target, settings, fractions, estimate, weights));
            },
            "table"_a, "target"_a, "settings"_a, "fractions"_a, "estimate"_a, "weights"_a, nb::keep_alive<1, 2>())
        .def("measure", &measure, "seed"_a, "n_draws"_a, "max_tries"_a, "n_threads"_a = 1,
             "Draw samples by the weights, as ``draw_covering_counts`` does, and grow a tree; return it, and the "
             "fractions of wrong samples of\nthe measurement, of the tree and of the estimate.")
        .def("count_out_of_bag", &count_out_of_bag, "priors"_a,
             "Count the votes of the last tree for the samples that it was not trained on; return the weight of the "
             "wrong votes of all trees\ncounted, with one more vote for each sample, which is right by ``priors``.")
        .def("update", &update, "gain"_a, "weight_gain"_a, "weighting"_a,
             "Pull both states towards the last measurement, as ``pull_halfway`` and ``update_weights_of_wrong`` do.")
        .def("reset_weights", &ClassFilters::reset_weights, "Let the weights be the fractions again.")
        .def_prop_rw(
            "out_of_bag_votes", &out_of_bag_votes_of, &set_out_of_bag_votes,
            "Copy of how often trees voted for each sample that they were not trained on, and how often for its "
            "class.")
        .def_prop_ro("estimate", &estimate_of, "Copy of the estimated scores, of shape (n_samples, n_classes).")
        .def_prop_ro(
            "weights", [](const ClassFilters& filters) { return to_array(filters.weights()); },
            "Copy of the weights of the samples.")
        .def_prop_ro(
            "counts", [](const ClassFilters& filters) { return to_array(filters.counts()); },
            "How often each sample was drawn for the last measurement.");
}

}  // namespace fuselearn::bindings
