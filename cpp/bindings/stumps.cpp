// Stumps on weighted (sample, label) pairs, for AdaBoost.MH.

#include "bindings/tables.hpp"
#include "bindings/trees.hpp"
#include "boosting/pair_stumps.hpp"
#include "boosting/stump_trees.hpp"

namespace fuselearn::bindings {

namespace {

void check_weights(const Values<double, 2>& weights, const PairTable& table, const char* name) {
    check_length(weights.shape(0), table.n_samples(), name, "the table");
    const auto is_weight = [](double weight) { return weight >= 0.0 && weight <= std::numeric_limits<double>::max(); };
    if (!std::all_of(weights.span().begin(), weights.span().end(), is_weight))
        raise_value_error(std::string(name) + " must hold finite numbers that are not negative.");
}

Stump find(const PairTable& table, In<double, 2> positive, In<double, 2> negative, Index first_feature,
           Index end_feature, int n_threads) {
    const auto with_label = positive.read("positive");
    const auto without = negative.read("negative");
    check_weights(with_label, table, "positive");
    check_weights(without, table, "negative");
    check_length(without.shape(1), with_label.shape(1), "Each sample in negative", "that in positive");
    if (first_feature < 0 || end_feature < first_feature || end_feature > table.n_columns())
        raise_value_error("first_feature and end_feature must be a range of the table's features.");
    if (n_threads < 1) raise_value_error("n_threads must be at least 1.");
    Stump stump;
    run_released([&](Interrupt& interrupt) {
        const PairWeights weights(with_label.matrix(), without.matrix());
        stump = find_stump(table, weights, {first_feature, end_feature}, n_threads, interrupt);
    });
    return stump;
}

void check_stump(const PairTable& table, const Stump& stump) {
    if (stump.feature < 0 || stump.feature >= table.n_columns())
        raise_value_error("The stump must have a feature of the table.");
    const Index most = table.coding().missing_code(stump.feature);
    if (stump.first < 0 || stump.last < stump.first || stump.last > most)
        raise_value_error("The stump must have codes of its feature.");
}

auto left_samples(const PairTable& table, const Stump& stump) {
    check_stump(table, stump);
    const Out<bool, 1> is_left({table.n_samples()});
    run_released([&](Interrupt&) { mark_left(table, stump, is_left.span()); });
    return is_left.object();
}

Tree make_tree(const PairTable& table, const Stump& stump, In<double, 2> votes) {
    check_stump(table, stump);
    const auto read = votes.read("votes");
    check_length(read.shape(0), 2, "votes", "the sides");
    return make_stump_tree(table, stump, read.matrix());
}

}  // namespace

void bind_stumps(nb::module_& module) {
    nb::class_<Stump>(
        module, "Stump",
        "A split into two sides, and how good it is.\n\n"
        "Codes from ``first`` to ``last`` go left, missing values if ``missing_left``. The feature is -1 if "
        "there is nothing to split.")
        .def_ro("score", &Stump::score)
        .def_ro("feature", &Stump::feature)
        .def_ro("first", &Stump::first)
        .def_ro("last", &Stump::last)
        .def_ro("missing_left", &Stump::missing_left);
    nb::class_<PairTable>(module, "PairTable", "A coded table and the entries of its columns, sorted by code.")
        .def(
            "__init__",
            [](PairTable* self, AnyTable table) {
                table.visit("table", [&](const auto& of_kind) {
                    run_released([&](Interrupt&) { new (self) PairTable(of_kind); });
                });
            },
            "table"_a, nb::keep_alive<1, 2>())
        .def_prop_ro("n_columns", &PairTable::n_columns, "Number of columns.");
    module.def("find_stump", &find, "table"_a, "positive"_a, "negative"_a, "first_feature"_a, "end_feature"_a,
               "n_threads"_a = 1,
               "Find the split with the smallest sum over sides and labels of sqrt(positive weight * negative\n"
               "weight).\n\n"
               "`positive` has the weight of each (sample, label) pair if the sample has the label, `negative`\n"
               "if not. Of equally good splits in the features from `first_feature` to `end_feature`, the\n"
               "first feature's is taken, and in it the first cut.");
    module.def("left_samples", &left_samples, "table"_a, "stump"_a, "Return whether each sample goes left.");
    module.def("make_stump_tree", &make_tree, "table"_a, "stump"_a, "votes"_a,
               "Write a stump as a tree whose leaves hold the votes of the two sides, the left ones first.");
}

}  // namespace fuselearn::bindings
