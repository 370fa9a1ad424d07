#include <variant>

#include "bindings/arrays.hpp"
#include "bindings/trees.hpp"
#include "forests/packing.hpp"
#include "forests/prediction.hpp"
#include "trees/soundness.hpp"

namespace fuselearn::bindings {

namespace {

struct Forest {
    std::variant<PackedForest<std::uint16_t>, PackedForest<std::uint32_t>> packed;
    std::vector<std::int32_t> n_categories;
    Index n_leaf_numbers = 0;  // one more than the largest

    Index n_trees() const {
        return std::visit([](const auto& forest) { return forest.n_trees(); }, packed);
    }
};

std::vector<const Tree*> read_trees(const nb::tuple& trees) {
    std::vector<const Tree*> read;
    for (const nb::handle tree : trees) {
        const Tree* pointer = nullptr;
        if (!nb::try_cast<const Tree*>(tree, pointer, false) || pointer == nullptr)
            throw nb::type_error(("trees must hold trees, not " + describe(tree) + ".").c_str());
        read.push_back(pointer);
    }
    return read;
}

// Raise a sentence unless there is a number for each node, at least zero for leaves; return the largest and one.
Index check_leaf_numbers(std::span<const Tree* const> trees, std::span<const std::int32_t> numbers) {
    Index n_nodes = 0;
    for (const Tree* tree : trees) n_nodes += tree->n_nodes();
    check_length(ssize(numbers), n_nodes, "leaf_numbers", "the nodes of all trees");
    std::int32_t largest = -1;
    std::size_t k = 0;
    for (const Tree* tree : trees)
        for (const Node& node : tree->nodes) {
            const std::int32_t number = numbers[k++];
            if (!node.is_leaf()) continue;
            if (number < 0) raise_value_error("leaf_numbers must not be negative for leaves.");
            largest = std::max(largest, number);
        }
    if (largest >= static_cast<std::int32_t>(Tag::most)) raise_value_error("leaf_numbers are too large.");
    return Index{largest} + 1;
}

Forest make_forest(nb::handle trees, In<std::int32_t, 1> n_categories, In<std::int32_t, 1> leaf_numbers) {
    const nb::tuple held = hold(trees, "trees");
    const std::vector<const Tree*> read = read_trees(held);
    const auto categories = n_categories.read("n_categories");
    Forest forest;
    forest.n_categories.assign(categories.span().begin(), categories.span().end());
    const auto number_of = [&](Index f) -> Index {
        return std::max(0, forest.n_categories[static_cast<std::size_t>(f)]);
    };
    std::vector<std::int32_t> numbers;
    if (!leaf_numbers.is_none()) {
        const auto given = leaf_numbers.read("leaf_numbers");
        numbers.assign(given.span().begin(), given.span().end());
    }
    run_released([&](Interrupt& interrupt) {
        for (const Tree* tree : read) {
            interrupt.check();
            if (const char* misfit = find_misfit(*tree, ssize(forest.n_categories), number_of))
                raise_value_error(std::string("A node of a tree ") + misfit + ".");
            forest.n_leaf_numbers += (tree->n_nodes() + 1) / 2;
        }
        if (!leaf_numbers.is_none()) forest.n_leaf_numbers = check_leaf_numbers(read, numbers);
        SplitValues splits = collect_splits(read, ssize(forest.n_categories), interrupt);
        if (splits.n_nodes > static_cast<Index>(Tag::most)) raise_value_error("The trees have too many nodes.");
        const LeafNumbers leaves(numbers);
        if (splits.is_narrow(forest.n_categories))
            forest.packed = pack_trees<std::uint16_t>(read, std::move(splits), forest.n_categories, leaves, interrupt);
        else
            forest.packed = pack_trees<std::uint32_t>(read, std::move(splits), forest.n_categories, leaves, interrupt);
    });
    return forest;
}

// An array of samples as it lies in memory, or a copy if its values are not aligned.
class AnySamples {
public:
    AnySamples(nb::handle source, Index n_features) {
        const bool is_array = nb::try_cast<AnyArray>(source, array_, false);
        is_double_ = is_array && array_.dtype() == nb::dtype<double>();
        if (!is_array || array_.ndim() != 2 || (!is_double_ && array_.dtype() != nb::dtype<float>()))
            raise_wrong_array(source, "X", "float64 or float32", 2);
        if (static_cast<Index>(array_.shape(1)) != n_features)
            raise_value_error("X must have " + std::to_string(n_features) + " columns, as the trees expect, not " +
                              std::to_string(array_.shape(1)) + ".");
        data_ = array_.data();
        strides_ = {array_.stride(0), array_.stride(1)};
        if (reinterpret_cast<std::uintptr_t>(data_) % array_.itemsize() == 0) return;
        copy_.resize(array_.size());
        copy_strided(array_, copy_.data());
        data_ = copy_.data();
        strides_ = {n_features, 1};
    }

    Index n_samples() const { return static_cast<Index>(array_.shape(0)); }

    // Call work with the samples as `Samples` of double or float.
    template <class Work>
    void visit(const Work& work) const {
        if (is_double_)
            work(samples<double>());
        else
            work(samples<float>());
    }

private:
    template <class T>
    Samples<T> samples() const {
        return {static_cast<const T*>(data_), n_samples(), static_cast<Index>(array_.shape(1)), strides_[0],
                strides_[1]};
    }

    AnyArray array_;
    bool is_double_;
    const void* data_;
    std::array<std::int64_t, 2> strides_;
    std::vector<double> copy_;
};

auto sum_values(const Forest& forest, In<double, 2> leaf_values, nb::handle X, int n_threads) {
    const auto values = leaf_values.read("leaf_values");
    if (values.shape(0) < forest.n_leaf_numbers)
        raise_value_error("leaf_values must have a row for each of the " + std::to_string(forest.n_leaf_numbers) +
                          " leaves, not " + std::to_string(values.shape(0)) + ".");
    const AnySamples samples(X, ssize(forest.n_categories));
    const Out<double, 2> sums({samples.n_samples(), values.shape(1)});
    run_released([&](Interrupt& interrupt) {
        std::visit(
            [&](const auto& packed) {
                samples.visit([&](const auto& read) {
                    sum_leaf_values(packed, read, values.matrix(), sums.matrix(), n_threads, interrupt);
                });
            },
            forest.packed);
    });
    return sums.object();
}

auto apply(const Forest& forest, nb::handle X, int n_threads) {
    const AnySamples samples(X, ssize(forest.n_categories));
    const Out<std::int32_t, 2> leaves({samples.n_samples(), forest.n_trees()});
    run_released([&](Interrupt& interrupt) {
        std::visit(
            [&](const auto& packed) {
                samples.visit(
                    [&](const auto& read) { find_leaves(packed, read, leaves.matrix(), n_threads, interrupt); });
            },
            forest.packed);
    });
    return leaves.object();
}

auto roots_of(const Forest& forest) {
    return std::visit(
        [](const auto& packed) {
            return to_array(std::vector<std::int64_t>(packed.roots.begin(), packed.roots.end()));
        },
        forest.packed);
}

auto features_of(const Forest& forest) {
    return std::visit(
        [](const auto& packed) {
            std::vector<std::int64_t> features;
            features.reserve(packed.columns.size());
            for (const PackedColumn& column : packed.columns) features.push_back(column.feature);
            std::sort(features.begin(), features.end());
            return to_array(features);
        },
        forest.packed);
}

}  // namespace

void bind_forests(nb::module_& module) {
    nb::class_<Forest>(
        module, "Forest",
        "Several trees, laid out for prediction.\n\n"
        "Leaves are numbered through in the order of the nodes of all trees, one tree after the other, unless\n"
        "``leaf_numbers`` gives the number of each node that is a leaf.")
        .def(
            "__init__",
            [](Forest* self, nb::handle trees, In<std::int32_t, 1> n_categories, In<std::int32_t, 1> leaf_numbers) {
                new (self) Forest(make_forest(trees, n_categories, leaf_numbers));
            },
            "trees"_a, "n_categories"_a, "leaf_numbers"_a.none() = nb::none(),
            nb::sig("def __init__(self, trees: collections.abc.Sequence[Tree], "
                    "n_categories: numpy.typing.NDArray[numpy.int32], "
                    "leaf_numbers: numpy.typing.NDArray[numpy.int32] | None = None) -> None"))
        .def_prop_ro("n_trees", &Forest::n_trees, "Number of trees.")
        .def_prop_ro("roots", &roots_of, "Index of each tree's first node among the nodes of all trees.")
        .def_prop_ro("features", &features_of, "Indices of the features that the trees split.")
        .def_prop_ro(
            "n_categories", [](const Forest& forest) { return to_array(forest.n_categories); },
            "Number of categories of each feature, 0 for a numeric one.")
        .def("sum_leaf_values", &sum_values, "leaf_values"_a, "X"_a, "n_threads"_a = 1,
             "Return for each sample the sum of the values of the leaves that it reaches, one leaf per tree.")
        .def("apply", &apply, "X"_a, "n_threads"_a = 1,
             "Return for each sample and tree the node of that tree in which the sample ends.");
}

}  // namespace fuselearn::bindings
