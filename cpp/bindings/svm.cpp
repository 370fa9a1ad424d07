#include "bindings/arrays.hpp"
#include "svm/label_bits.hpp"
#include "svm/linear.hpp"
#include "svm/scoring.hpp"
#include "svm/training.hpp"

namespace fuselearn::bindings {

namespace {

using svm::GramMatrix;

void check_square(const Values<float, 2>& gram) {
    if (gram.shape(0) != gram.shape(1)) raise_value_error("gram must be a square matrix.");
}

void check_folds(const Values<double, 2>& folds, Index n_samples) {
    check_length(folds.shape(1), n_samples, "folds", "weights");
}

// The results of training for all labels, as arrays.
struct TrainedArrays {
    TrainedArrays(Index n_columns, Index n_coefficients, const Values<double, 2>& folds)
        : coefficients({n_columns, n_coefficients}),
          intercepts({n_columns}),
          slopes({n_columns}),
          offsets({n_columns}),
          converged({n_columns}),
          left_out({n_columns, static_cast<Index>(
                                   std::ranges::count_if(folds.span(), [](double weight) { return weight > 0; }))}) {}

    svm::Machine machine(Index column) const {
        return {coefficients.matrix().row(column),
                left_out.matrix().row(column),
                intercepts.data()[column],
                slopes.data()[column],
                offsets.data()[column],
                converged.data()[column]};
    }
    nb::tuple tuple() const {
        return nb::make_tuple(coefficients.object(), intercepts.object(), slopes.object(), offsets.object(),
                              converged.object(), left_out.object());
    }

    Out<double, 2> coefficients;
    Out<double, 1> intercepts, slopes, offsets;
    Out<bool, 1> converged;
    Out<double, 2> left_out;
};

auto take_block(In<float, 2> gram, In<std::int64_t, 1> samples) {
    const auto values = gram.read("gram");
    const auto taken = samples.read("samples");
    check_range(taken.span(), std::min(values.shape(0), values.shape(1)), "samples");
    const svm::Samples positions(taken.span().begin(), taken.span().end());
    const Out<float, 2> block({taken.size(), taken.size()});
    run_released([&](Interrupt& interrupt) { svm::take_block(values.matrix(), positions, block.matrix(), interrupt); });
    return block.object();
}

nb::tuple solve_svm(In<float, 2> gram, In<double, 1> signs, In<double, 1> bounds, Index max_steps, double tolerance) {
    const auto values = gram.read("gram");
    const auto asked = signs.read("signs");
    const auto limits = bounds.read("bounds");
    check_square(values);
    check_length(asked.size(), values.shape(0), "signs", "gram");
    check_length(limits.size(), values.shape(0), "bounds", "gram");
    svm::Solution solution(asked.span());
    double intercept = 0.0;
    bool converged = false;
    run_released([&](Interrupt& interrupt) {
        const svm::Question question(values.matrix(), asked.span(), limits.span());
        converged = svm::improve(question, solution, {max_steps, tolerance}, interrupt);
        intercept = svm::find_intercept(question, solution);
    });
    return nb::make_tuple(to_array(solution.coefficients), to_array(solution.residuals), intercept, converged);
}

nb::tuple train_svms(In<float, 2> gram, In<double, 2> signs, In<double, 1> weights, double cost, In<double, 2> folds,
                     Index max_steps, double tolerance, int n_threads) {
    const auto values = gram.read("gram");
    const auto columns = signs.read("signs");
    const auto counted = weights.read("weights");
    const auto dealt = folds.read("folds");
    check_square(values);
    check_length(columns.shape(1), values.shape(0), "each row of signs", "gram");
    check_length(counted.size(), values.shape(0), "weights", "gram");
    check_folds(dealt, counted.size());
    const TrainedArrays trained(columns.shape(0), columns.shape(1), dealt);
    const svm::Training training{values.matrix(), counted.span(), cost, dealt.matrix(), {max_steps, tolerance}};
    run_released([&](Interrupt& interrupt) {
        run_pieces(columns.shape(0), n_threads, interrupt, [&](Index column) {
            svm::train_column(training, columns.matrix().row(column), trained.machine(column), interrupt);
        });
    });
    return trained.tuple();
}

// The arguments for training linear SVMs besides the features.
struct LinearArguments {
    In<std::int64_t, 1> samples;
    In<double, 1> squares;
    In<double, 2> signs;
    In<double, 1> weights;
    double cost;
    In<double, 2> folds;
    Index max_passes;
    double tolerance;
    int n_threads;
};

template <class Features>
nb::tuple train_linear(const Features& features, Index n_samples, const LinearArguments& arguments) {
    const auto samples = arguments.samples.read("samples");
    const auto squares = arguments.squares.read("squares");
    const auto columns = arguments.signs.read("signs");
    const auto counted = arguments.weights.read("weights");
    const auto dealt = arguments.folds.read("folds");
    check_range(samples.span(), n_samples, "samples");
    check_length(squares.size(), samples.size(), "squares", "samples");
    check_length(columns.shape(1), samples.size(), "each row of signs", "samples");
    check_length(counted.size(), samples.size(), "weights", "samples");
    check_folds(dealt, counted.size());
    const TrainedArrays trained(columns.shape(0), features.n_features(), dealt);
    const svm::LinearTraining training{samples.span(), squares.span(),       counted.span(),     arguments.cost,
                                       dealt.matrix(), arguments.max_passes, arguments.tolerance};
    run_released([&](Interrupt& interrupt) {
        run_pieces(columns.shape(0), arguments.n_threads, interrupt, [&](Index column) {
            svm::train_linear_column(features, training, columns.matrix().row(column), trained.machine(column),
                                     interrupt);
        });
    });
    return trained.tuple();
}

nb::tuple train_linear_svms(nb::handle X, In<std::int64_t, 1> samples, In<double, 1> squares, In<double, 2> signs,
                            In<double, 1> weights, double cost, In<double, 2> folds, Index max_passes, double tolerance,
                            int n_threads) {
    const LinearArguments arguments{samples, squares, signs, weights, cost, folds, max_passes, tolerance, n_threads};
    if (In<float, 2>{X}.has_dtype()) {
        const auto values = In<float, 2>{X}.read("X");
        return train_linear(svm::DenseFeatures<float>{values.matrix()}, values.shape(0), arguments);
    }
    const auto values = In<double, 2>{X}.read("X");
    return train_linear(svm::DenseFeatures<double>{values.matrix()}, values.shape(0), arguments);
}

template <class Position>
nb::tuple train_sparse(In<double, 1> data, nb::handle indices, nb::handle starts, Index n_features,
                       const LinearArguments& arguments) {
    const auto values = data.read("data");
    const auto features = In<Position, 1>{indices}.read("indices");
    const auto bounds = In<Position, 1>{starts}.read("starts");
    check_length(features.size(), values.size(), "indices", "data");
    if (n_features < 0) raise_value_error("n_features must not be negative.");
    check_range(features.span(), n_features, "indices");
    if (bounds.size() == 0 || bounds.span().front() != 0 || bounds.span().back() > values.size() ||
        !std::ranges::is_sorted(bounds.span()))
        raise_value_error("starts must ascend from 0 to at most the length of data.");
    const svm::SparseFeatures<Position> sparse{values.span(), features.span(), bounds.span(), n_features};
    return train_linear(sparse, bounds.size() - 1, arguments);
}

nb::tuple train_sparse_linear_svms(In<double, 1> data, nb::handle indices, nb::handle starts, Index n_features,
                                   In<std::int64_t, 1> samples, In<double, 1> squares, In<double, 2> signs,
                                   In<double, 1> weights, double cost, In<double, 2> folds, Index max_passes,
                                   double tolerance, int n_threads) {
    const LinearArguments arguments{samples, squares, signs, weights, cost, folds, max_passes, tolerance, n_threads};
    const auto train =
        In<std::int64_t, 1>{indices}.has_dtype() ? train_sparse<std::int64_t> : train_sparse<std::int32_t>;
    return train(data, indices, starts, n_features, arguments);
}

nb::tuple fit_sigmoid(In<double, 1> values, In<double, 1> signs, In<double, 1> weights) {
    const auto read = values.read("values");
    const auto read_signs = signs.read("signs");
    const auto read_weights = weights.read("weights");
    check_length(read_signs.size(), read.size(), "signs", "values");
    check_length(read_weights.size(), read.size(), "weights", "values");
    svm::Sigmoid sigmoid;
    run_released([&](Interrupt&) {
        const auto copy = [](const auto& array) { return svm::Reals(array.span().begin(), array.span().end()); };
        const svm::Decisions decisions{copy(read), copy(read_signs), copy(read_weights)};
        sigmoid = svm::SigmoidFit(decisions).find();
    });
    return nb::make_tuple(sigmoid.slope, sigmoid.offset);
}

auto append_labels(In<float, 2> values, In<std::int64_t, 1> rows, In<std::int64_t, 1> columns,
                   In<std::uint64_t, 2> left, In<std::uint64_t, 2> right, In<float, 1> changes, bool are_added) {
    const auto read = values.read("values");
    const auto left_samples = rows.read("rows");
    const auto right_samples = columns.read("columns");
    const auto left_words = left.read("left");
    const auto right_words = right.read("right");
    const auto read_changes = changes.read("changes");
    check_range(left_samples.span(), read.shape(0), "rows");
    check_range(right_samples.span(), read.shape(1), "columns");
    check_length(left_words.shape(0), left_samples.size(), "left", "rows");
    check_length(right_words.shape(0), right_samples.size(), "right", "columns");
    check_length(right_words.shape(1), left_words.shape(1), "each row of right", "each row of left");
    const svm::LabelBits lefts{left_samples.span(), left_words.matrix()};
    const svm::LabelBits rights{right_samples.span(), right_words.matrix()};
    if (svm::count_labels(lefts.words, rights.words) >= read_changes.size())
        raise_value_error("changes must be longer than the number of labels.");
    const Out<float, 2> appended({left_samples.size(), right_samples.size()});
    run_released([&](Interrupt& interrupt) {
        const auto append = are_added ? svm::append_labels<true> : svm::append_labels<false>;
        append(read.matrix(), lefts, rights, read_changes.span(), appended.matrix(), interrupt);
    });
    return appended.object();
}

auto decide(In<float, 2> kernel_rows, In<std::int64_t, 1> asked, In<std::int32_t, 1> support, In<float, 2> coefficients,
            In<double, 1> intercepts) {
    const auto values = kernel_rows.read("kernel_rows");
    const auto samples = asked.read("asked");
    const auto vectors = support.read("support");
    const auto factors = coefficients.read("coefficients");
    const auto added = intercepts.read("intercepts");
    check_range(samples.span(), values.shape(0), "asked");
    check_range(vectors.span(), values.shape(1), "support");
    check_length(factors.shape(0), added.size(), "coefficients", "intercepts");
    check_length(factors.shape(1), vectors.size(), "each row of coefficients", "support");
    const Out<double, 2> decisions({samples.size(), added.size()});
    run_released([&](Interrupt& interrupt) {
        svm::decide(values.matrix(), samples.span(), {vectors.span(), factors.matrix()}, added.span(),
                    decisions.matrix(), interrupt);
    });
    return decisions.object();
}

auto collapse(In<double, 2> X, In<std::int32_t, 1> support, In<double, 2> coefficients) {
    const auto values = X.read("X");
    const auto vectors = support.read("support");
    const auto factors = coefficients.read("coefficients");
    check_range(vectors.span(), values.shape(0), "support");
    check_length(factors.shape(1), vectors.size(), "each row of coefficients", "support");
    const Out<double, 2> weights({factors.shape(0), values.shape(1)});
    std::ranges::fill(weights.span(), 0.0);
    run_released([&](Interrupt& interrupt) {
        svm::collapse(values.matrix(), {vectors.span(), factors.matrix()}, weights.matrix(), interrupt);
    });
    return weights.object();
}

}  // namespace

void bind_svm(nb::module_& module) {
    module.def("take_block", &take_block, "gram"_a, "samples"_a,
               "Copy the kernel values between some samples into a matrix of their own.");
    module.def("solve_svm", &solve_svm, "gram"_a, "signs"_a, "bounds"_a, "max_steps"_a, "tolerance"_a,
               "Train one SVM; return its coefficients, residuals, intercept, and whether it converged.\n\n"
               "`bounds` are C times the weight of each sample. Residuals are y - K b, so that decision values\n"
               "are y - residuals + intercept.");
    module.def("train_svms", &train_svms, "gram"_a, "signs"_a, "weights"_a, "cost"_a, "folds"_a, "max_steps"_a,
               "tolerance"_a, "n_threads"_a);
    module.def("train_linear_svms", &train_linear_svms, "X"_a, "samples"_a, "squares"_a, "signs"_a, "weights"_a,
               "cost"_a, "folds"_a, "max_passes"_a, "tolerance"_a, "n_threads"_a);
    module.def("train_sparse_linear_svms", &train_sparse_linear_svms, "data"_a, "indices"_a, "starts"_a, "n_features"_a,
               "samples"_a, "squares"_a, "signs"_a, "weights"_a, "cost"_a, "folds"_a, "max_passes"_a, "tolerance"_a,
               "n_threads"_a);
    module.def(
        "fit_sigmoid", &fit_sigmoid, "values"_a, "signs"_a, "weights"_a,
        "Return the slope and the offset of P(positive | f) = 1 / (1 + exp(slope f + offset)) by Platt's method.");
    module.def("append_labels", &append_labels, "values"_a, "rows"_a, "columns"_a, "left"_a, "right"_a, "changes"_a,
               "are_added"_a);
    module.def("decide", &decide, "kernel_rows"_a, "asked"_a, "support"_a, "coefficients"_a, "intercepts"_a);
    module.def("collapse", &collapse, "X"_a, "support"_a, "coefficients"_a,
               "Turn coefficients of samples into weights of features, which have the same products.");
}

}  // namespace fuselearn::bindings
