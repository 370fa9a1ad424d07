// Trees on gradients, for boosting of many labels and for regression.

#include "bindings/tables.hpp"
#include "bindings/trees.hpp"
#include "boosting/gradient_trees.hpp"

namespace fuselearn::bindings {

namespace {

void check_settings(const GradientSettings& settings) {
    if (settings.max_depth < 0) raise_value_error("max_depth must not be negative.");
    if (settings.min_leaf < 1) raise_value_error("min_leaf must be at least 1.");
    if (!(settings.l2 >= 0.0)) raise_value_error("l2 must not be negative.");
    if (settings.n_threads < 1) raise_value_error("n_threads must be at least 1.");
}

Tree grow(const GradientTable& table, In<double, 2> statistics, In<std::int32_t, 1> samples,
          In<std::int64_t, 1> features, const GradientSettings& settings) {
    const auto read_statistics = statistics.read("statistics");
    const auto read_samples = samples.read("samples");
    const auto read_features = features.read("features");
    check_length(read_statistics.shape(0), table.table().n_samples(), "statistics", "the table");
    if (read_statistics.shape(1) < 2 || read_statistics.shape(1) % 2 != 0)
        raise_value_error("statistics must have a gradient and a Hessian for each label.");
    check_range(read_samples.span(), table.table().n_samples(), "samples");
    check_range(read_features.span(), table.table().n_columns(), "features");
    check_settings(settings);
    Tree tree;
    run_released([&](Interrupt& interrupt) {
        tree = grow_gradient_tree(table, read_statistics.matrix(), read_samples.span(), read_features.span(), settings,
                                  interrupt);
    });
    return tree;
}

}  // namespace

void bind_gradients(nb::module_& module) {
    nb::class_<GradientTable>(module, "GradientTable",
                              "A coded table, its codes column by column, and the most frequent code of each column.")
        .def(
            "__init__",
            [](GradientTable* self, const Table& table) {
                run_released([&](Interrupt&) { new (self) GradientTable(table); });
            },
            "table"_a, nb::keep_alive<1, 2>())
        .def_prop_ro(
            "n_columns", [](const GradientTable& table) { return table.table().n_columns(); }, "Number of columns.");
    module.def(
        "grow_gradient_tree",
        [](const GradientTable& table, In<double, 2> statistics, In<std::int32_t, 1> samples,
           In<std::int64_t, 1> features, Index max_depth, Index min_leaf, double l2,
           int n_threads) { return grow(table, statistics, samples, features, {max_depth, min_leaf, l2, n_threads}); },
        "table"_a, "statistics"_a, "samples"_a, "features"_a, "max_depth"_a, "min_leaf"_a, "l2"_a, "n_threads"_a,
        "Grow a tree on the gradients and Hessians of several labels.\n\n"
        "`statistics` has the gradients of the labels' losses for each sample, then the Hessians; both\n"
        "are 0 where a label is not known. Only the ascending `samples` take part. Of equally good\n"
        "splits, that on the first of the `features` is taken. The values of the tree are the sums of\n"
        "gradients and Hessians in each node.");
}

}  // namespace fuselearn::bindings
