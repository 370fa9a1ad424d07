// Bindings for the updates of Kalman filters.

#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/targets.hpp"
#include "filters/pulling.hpp"
#include "filters/votes.hpp"
#include "filters/weights.hpp"

namespace fuselearn::bindings {

Weighting read_weighting(int weighting) {
    if (weighting < 0 || weighting > static_cast<int>(Weighting::printed_linear))
        raise_value_error("weighting must be from 0 to 4, not " + std::to_string(weighting) + ".");
    return static_cast<Weighting>(weighting);
}

namespace {

void bound_pull(InOut<double, 1> state, In<double, 1> measurement, double gain) {
    const auto entries = state.read("state");
    const auto measured = measurement.read("measurement");
    check_length(measured.size(), ssize(entries), "measurement", "state");
    run_released([&](Interrupt&) { pull(entries, measured.span(), gain); });
}

void bound_pull_halfway(InOut<double, 2> state, In<std::int32_t, 1> votes, double gain) {
    const auto matrix = state.read("state");
    const auto read_votes = votes.read("votes");
    check_length(read_votes.size(), matrix.n_rows(), "votes", "state");
    check_range(read_votes.span(), matrix.n_columns(), "votes");
    run_released([&](Interrupt&) { pull_halfway(matrix, read_votes.span(), gain); });
}

// Compare votes with the true classes; return a mask of wrong samples, and `report` of each sum.
template <class Sum, class Report>
auto compare_checked(const Report& report, In<double, 2> estimate, In<std::int32_t, 1> votes, In<std::int32_t, 1> truth,
                     In<double, 1> fractions) {
    const auto read_estimate = estimate.read("estimate");
    const auto read_votes = votes.read("votes");
    const auto read_truth = truth.read("truth");
    const auto read_fractions = fractions.read("fractions");
    const Index n_samples = read_estimate.shape(0), n_classes = read_estimate.shape(1);
    check_length(read_votes.size(), n_samples, "votes", "estimate");
    check_length(read_truth.size(), n_samples, "truth", "estimate");
    check_length(read_fractions.size(), n_samples, "fractions", "estimate");
    check_range(read_votes.span(), n_classes, "votes");
    check_range(read_truth.span(), n_classes, "truth");
    check_finite(read_fractions.span(), "fractions");
    const Out<bool, 1> wrong({n_samples});
    VoteErrors<Sum> errors;
    run_released([&](Interrupt&) {
        errors = compare_votes<Sum>(read_estimate.matrix(), read_votes.span(),
                                    {read_truth.span(), read_fractions.span()}, wrong.span());
    });
    return std::tuple(wrong.object(),
                      std::tuple(report(errors.measurement), report(errors.votes), report(errors.estimate)));
}

auto bound_compare_votes(In<double, 2> estimate, In<std::int32_t, 1> votes, In<std::int32_t, 1> truth,
                         In<double, 1> fractions, bool is_exact) {
    const auto round = [](const auto& sum) { return sum.rounded(); };
    return is_exact ? compare_checked<ExactSum>(round, estimate, votes, truth, fractions)
                    : compare_checked<PlainSum>(round, estimate, votes, truth, fractions);
}

auto bound_compare_votes_in_units(In<double, 2> estimate, In<std::int32_t, 1> votes, In<std::int32_t, 1> truth,
                                  In<double, 1> fractions) {
    const auto in_units = [](const ExactSum& sum) { return to_whole_number(sum.bytes()); };
    return compare_checked<ExactSum>(in_units, estimate, votes, truth, fractions);
}

// The bytes of a bool array, of which NumPy does not promise that they are 0 or 1.
std::span<const std::uint8_t> loss_of(const Values<bool, 1>& wrong) {
    return {reinterpret_cast<const std::uint8_t*>(wrong.data()), static_cast<std::size_t>(wrong.size())};
}
std::span<const double> loss_of(const Values<double, 1>& loss) { return loss.span(); }

template <class Loss>
auto measure_checked(In<double, 1> weights, In<Loss, 1> loss, In<double, 1> first_weights, double n_samples,
                     int weighting) {
    const auto read_weights = weights.read("weights");
    const auto read_loss = loss.read("loss");
    const auto read_first = first_weights.read("first_weights");
    check_length(read_loss.size(), read_weights.size(), "loss", "weights");
    check_length(read_first.size(), read_weights.size(), "first_weights", "weights");
    const Weighting read = read_weighting(weighting);
    const Out<double, 1> measured({read_weights.size()});
    run_released([&](Interrupt&) {
        measure_weights({read_weights.span(), read_first.span(), n_samples}, loss_of(read_loss), read, measured.span());
    });
    return measured.object();
}

template <class Loss>
void update_checked(InOut<double, 1> weights, In<Loss, 1> loss, In<double, 1> first_weights, double gain, int weighting,
                    bool is_exact) {
    const auto entries = weights.read("weights");
    const auto read_loss = loss.read("loss");
    const auto read_first = first_weights.read("first_weights");
    check_length(read_loss.size(), ssize(entries), "loss", "weights");
    check_length(read_first.size(), ssize(entries), "first_weights", "weights");
    const WeightUpdate update{read_weighting(weighting), gain, is_exact};
    run_released([&](Interrupt&) { update_weights(entries, read_first.span(), loss_of(read_loss), update); });
}

// Losses are numbers, or whether samples are wrong.
auto bound_measure_weights(In<double, 1> weights, nb::handle loss, In<double, 1> first_weights, double n_samples,
                           int weighting) {
    if (const In<bool, 1> wrong{loss}; wrong.has_dtype())
        return measure_checked(weights, wrong, first_weights, n_samples, weighting);
    return measure_checked(weights, In<double, 1>{loss}, first_weights, n_samples, weighting);
}

void bound_update_weights(InOut<double, 1> weights, nb::handle loss, In<double, 1> first_weights, double gain,
                          int weighting, bool is_exact) {
    if (const In<bool, 1> wrong{loss}; wrong.has_dtype())
        update_checked(weights, wrong, first_weights, gain, weighting, is_exact);
    else
        update_checked(weights, In<double, 1>{loss}, first_weights, gain, weighting, is_exact);
}

}  // namespace

void bind_filters(nb::module_& module) {
    module.def("pull", &bound_pull, "state"_a, "measurement"_a, "gain"_a,
               "Compute x <- x + K (z - x) in place, without the temporary arrays that NumPy would make.");
    module.def("pull_halfway", &bound_pull_halfway, "state"_a, "votes"_a, "gain"_a,
               "Compute x <- x + K (z - x) in place for z = (x + one_hot(votes)) / 2, which is not written out.");
    module.def("compare_votes", &bound_compare_votes, "estimate"_a, "votes"_a, "truth"_a, "fractions"_a, "is_exact"_a,
               "Compare the votes v, the estimate y and z = (y + one_hot(v)) / 2 with the true classes.\n\n"
               "Return whether the largest score of z, the first of equal ones, is of another class, for each\n"
               "sample; and the sum of the fractions of wrong samples of z, of the votes and of the estimate.\n"
               "If `is_exact`, sums do not depend on the order.");
    module.def("compare_votes_in_units", &bound_compare_votes_in_units, "estimate"_a, "votes"_a, "truth"_a,
               "fractions"_a,
               "Compare votes with the true classes, for a part of the samples: sums are exact, in units of 2**-1074.");
    module.def("measure_weights", &bound_measure_weights, "weights"_a, "loss"_a, "first_weights"_a, "n_samples"_a,
               "weighting"_a,
               "Compute the measurement of the sample weights, in which wrong samples count more.\n\n"
               "Weighting 0, exponential: w_i exp(loss_i + 1/n), for n samples in all. 1, linear: 1/n + w_i loss_i,\n"
               "where 1/n is the initial weight. 2, symmetric: w_i exp(2 loss_i - 1). The caller scales the last two\n"
               "to sum to one.");
    module.def("update_weights", &bound_update_weights, "weights"_a, "loss"_a, "first_weights"_a, "gain"_a,
               "weighting"_a, "is_exact"_a = false,
               "Pull weights in place towards those of `measure_weights` by w <- w + K (z - w), and scale them to sum\n"
               "to one. If `is_exact`, sums do not depend on the order of the samples.");
}

}  // namespace fuselearn::bindings
