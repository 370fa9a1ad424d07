// Bindings for draws and exact sums.

#include "bindings/arrays.hpp"
#include "sampling/draws.hpp"
#include "sampling/poisson.hpp"
#include "sampling/random.hpp"
#include "support/exact_sum.hpp"

namespace fuselearn::bindings {

namespace {

constexpr double most_draws = 1 << 30;  // counts are 32-bit integers

void check_not_negative(Index number, const char* name) {
    if (number < 0) raise_value_error(std::string(name) + " must not be negative.");
}

// Raise an error unless all numbers are from 0 to `most`.
void check_up_to(std::span<const double> numbers, double most, const char* name) {
    Index n_wrong = 0;
    for (const double number : numbers) n_wrong += !(number >= 0.0 && number <= most);
    if (n_wrong > 0) raise_value_error(std::string(name) + " must be finite and not negative, and not too large.");
}

void check_weights(std::span<const double> weights, Index n_draws) {
    if (n_draws < 0 || static_cast<double>(n_draws) > most_draws)
        raise_value_error("n_draws must be from 0 to 2**30, not " + std::to_string(n_draws) + ".");
    // So that their sum is finite, too.
    check_up_to(weights, std::numeric_limits<double>::max() / static_cast<double>(weights.size() + 1), "weights");
    if (std::none_of(weights.begin(), weights.end(), [](double weight) { return weight > 0.0; }))
        raise_value_error("weights must hold a positive number.");
}

Classes read_classes(const Values<std::int32_t, 1>& classes, Index n_classes, Index n_samples, const char* other) {
    check_length(classes.size(), n_samples, "classes", other);
    check_range(classes.span(), n_classes, "classes");
    return {classes.span(), n_classes};
}

auto draw_uniforms(Key seed, Index first, Index n_numbers) {
    check_not_negative(n_numbers, "n_numbers");
    const Out<double, 1> drawn({n_numbers});
    run_released([&](Interrupt&) {
        for (Index i = 0; i < n_numbers; ++i)
            drawn.data()[i] = uniform(mix(seed, static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(i)));
    });
    return drawn.object();
}

auto bound_draw_counts(Key seed, In<double, 1> weights, Index n_draws) {
    const auto read_weights = weights.read("weights");
    check_weights(read_weights.span(), n_draws);
    const Out<std::int32_t, 1> counts({read_weights.size()});
    run_released(
        [&](Interrupt& interrupt) { draw_counts(seed, read_weights.span(), n_draws, counts.span(), interrupt); });
    return counts.object();
}

auto bound_draw_covering_counts(Key seed, In<double, 1> weights, Index n_draws, In<std::int32_t, 1> classes,
                                Index n_classes, Index max_tries) {
    const auto read_weights = weights.read("weights");
    const auto class_numbers = classes.read("classes");
    check_weights(read_weights.span(), n_draws);
    if (max_tries < 1) raise_value_error("max_tries must be at least 1.");
    const Classes wanted = read_classes(class_numbers, n_classes, read_weights.size(), "weights");
    const Out<std::int32_t, 1> counts({read_weights.size()});
    run_released([&](Interrupt& interrupt) {
        draw_covering_counts(seed, read_weights.span(), n_draws, wanted, max_tries, counts.span(), interrupt);
    });
    return counts.object();
}

auto bound_draw_poisson_counts(Key seed, In<double, 1> rates, Index first, Index n_tries) {
    const auto read_rates = rates.read("rates");
    check_up_to(read_rates.span(), most_draws, "rates");
    check_not_negative(first, "first");
    check_not_negative(n_tries, "n_tries");
    const PoissonDraw draw{seed, static_cast<std::uint64_t>(n_tries), static_cast<std::uint64_t>(first)};
    const Out<std::int32_t, 1> counts({read_rates.size()});
    run_released([&](Interrupt& interrupt) { draw_poisson_counts(draw, read_rates.span(), counts.span(), interrupt); });
    return counts.object();
}

auto bound_draw_covering_poisson_counts(Key seed, In<double, 1> rates, In<std::int32_t, 1> classes, Index n_classes,
                                        Index max_tries) {
    const auto read_rates = rates.read("rates");
    const auto class_numbers = classes.read("classes");
    check_up_to(read_rates.span(), most_draws, "rates");
    if (max_tries < 1) raise_value_error("max_tries must be at least 1.");
    const Classes wanted = read_classes(class_numbers, n_classes, read_rates.size(), "rates");
    const Out<std::int32_t, 1> counts({read_rates.size()});
    run_released([&](Interrupt& interrupt) {
        draw_covering_poisson_counts(seed, read_rates.span(), wanted, max_tries, counts.span(), interrupt);
    });
    return counts.object();
}

ExactSum sum_exactly(In<double, 1> values) {
    const auto read_values = values.read("values");
    ExactSum sum;
    run_released([&](Interrupt& interrupt) { sum.add(read_values.span(), interrupt); });
    if (!sum.is_finite()) raise_value_error("values must be finite.");
    return sum;
}

nb::int_ sum_units(In<double, 1> values) { return to_whole_number(sum_exactly(values).bytes()); }

double exact_sum(In<double, 1> values) {
    const double sum = sum_exactly(values).rounded();
    if (!std::isfinite(sum)) raise_value_error("The sum of values is too large for a number.");
    return sum;
}

}  // namespace

void bind_sampling(nb::module_& module) {
    module.def(
        "draw_uniforms", &draw_uniforms, "seed"_a, "first"_a, "n_numbers"_a,
        "Return random numbers in [0, 1) of the samples from `first` on, each of which depends on its index alone.");
    module.def("draw_counts", &bound_draw_counts, "seed"_a, "weights"_a, "n_draws"_a,
               "Draw samples with replacement, with probabilities proportional to their weights; return how\n"
               "often each was drawn.\n\n"
               "Sorted uniform numbers are made from exponential spacings and merged with the running sum of\n"
               "the weights, so the draw takes time in proportion to the number of samples and of draws.");
    module.def("draw_covering_counts", &bound_draw_covering_counts, "seed"_a, "weights"_a, "n_draws"_a, "classes"_a,
               "n_classes"_a, "max_tries"_a,
               "Draw counts until every class is among the samples drawn, or `max_tries` draws have been made.");
    module.def("draw_poisson_counts", &bound_draw_poisson_counts, "seed"_a, "rates"_a, "first"_a, "n_tries"_a,
               "Draw how often each sample is there, independently of all others, as Poisson numbers of given\n"
               "rates.\n\n"
               "The count of a sample depends on the seed, its index (that of the first one is `first`), its\n"
               "rate, and the number of draws with this seed that have been rejected (`n_tries`) alone, so\n"
               "samples can be drawn for in parts.");
    module.def(
        "draw_covering_poisson_counts", &bound_draw_covering_poisson_counts, "seed"_a, "rates"_a, "classes"_a,
        "n_classes"_a, "max_tries"_a,
        "Draw Poisson counts until every class is among the samples drawn, or `max_tries` draws have been made.");
    module.def("sum_units", &sum_units, "values"_a, "Sum up finite numbers without rounding, in units of 2**-1074.");
    module.def("exact_sum", &exact_sum, "values"_a, "Sum up finite numbers and round once.");
}

}  // namespace fuselearn::bindings
