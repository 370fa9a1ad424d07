// The items of a feature in a node: samples with a class or with a list of labels; bins are in bins.hpp.
//
// All kinds offer the same few functions, so the search for a split (search.hpp) is written once:
//   weight, count (samples with their copies), squared_weights (sum of squares of the samples' weights),
//   product (weight times the node's totals of the item's classes), add (weight to class sums; returns by how much the
//   sum of their squares grows), sum_of (numbers over the item's classes), prepare (once per node).

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/views.hpp"
#include "trees/criterion.hpp"

namespace fuselearn {

// Weight, and number of samples with their copies.
struct Amount {
    double weight = 0.0;
    double count = 0.0;
};

// Samples with one class each. NClasses is 0 unless the number of classes is small and known to the compiler; without
// Weighted the weights are the counts.
template <int NClasses, bool Weighted>
struct ClassSamples {
    static constexpr bool multilabel = false;
    static constexpr bool weighted = Weighted;
    static constexpr int few_classes = NClasses;
    using Side = std::conditional_t<(NClasses > 0), FewClassesSide<ClassSamples, NClasses>, MovingSide<ClassSamples>>;

    struct Sample {
        std::int32_t weight;
        std::int32_t label;
    };
    std::vector<Sample> samples;
    std::vector<std::int32_t> counts;                  // empty without Weighted
    std::vector<std::array<double, NClasses>> spread;  // see spread_weights

    double weight(Index i) const { return samples[i].weight; }
    double count(Index i) const { return Weighted ? counts[i] : samples[i].weight; }
    double squared_weights(Index i) const { return weight(i) * weight(i); }
    double product(Index i, const Parent& parent) const { return weight(i) * parent.totals[samples[i].label]; }
    double sum_of(Index i, std::span<const double> numbers) const { return numbers[samples[i].label]; }

    double add(Index i, double weight, std::span<double> sums) const {
        double& sum = sums[samples[i].label];
        const double before = sum;
        sum = before + weight;
        return weight * (2 * before + weight);
    }
    template <std::size_t N>
    void add_to_few(Index i, std::array<double, N>& sums) const {
        for (std::size_t j = 0; j < N; ++j) sums[j] += spread[i][j];
    }
    // Write each weight into a vector of zeros at its class, for steps without a branch or a conversion.
    void spread_weights() {
        if constexpr (NClasses > 0) {
            spread.assign(samples.size(), {});
            for (std::size_t i = 0; i < samples.size(); ++i) spread[i][samples[i].label] = samples[i].weight;
        }
    }
    template <class Samples>
    void prepare(const Samples&, const Parent&) {}

    // Keep a node's samples side by side for `sum_gathered`.
    void gather(std::span<const std::uint32_t> indices) {
        labels_.resize(indices.size());
        weights_.resize(indices.size());
        if constexpr (Weighted) counts_.resize(indices.size());
        for (std::size_t k = 0; k < indices.size(); ++k) {
            const Sample sample = samples[indices[k]];
            labels_[k] = sample.label;
            weights_[k] = sample.weight;
            if constexpr (Weighted) counts_[k] = counts[indices[k]];
        }
    }
    // Sum up the gathered samples whose codes are from `first` to `last`. The weights of a tree sum to less than
    // 2^31; without branches, the loop becomes vector instructions.
    template <class Code>
    Amount sum_gathered(std::span<const Code> codes, Index first, Index last, std::span<double> sums) const {
        const auto least = static_cast<Code>(first);
        const auto width = static_cast<Code>(last - first);
        const std::int32_t* const labels = labels_.data();
        const std::int32_t* const weights = weights_.data();
        const std::int32_t* const copies = counts_.data();
        std::int32_t weight_sum = 0;
        std::int32_t count_sum = 0;
        std::array<std::int32_t, NClasses> of_class{};
        for (std::size_t k = 0; k < codes.size(); ++k) {
            const std::int32_t inside = -static_cast<std::int32_t>(static_cast<Code>(codes[k] - least) <= width);
            const std::int32_t weight = weights[k] & inside;
            weight_sum += weight;
            if constexpr (Weighted) count_sum += copies[k] & inside;
            if constexpr (NClasses > 0) {
                for (std::int32_t j = 0; j < NClasses; ++j)
                    of_class[j] += weight & -static_cast<std::int32_t>(labels[k] == j);
            } else {
                sums[labels[k]] += weight;
            }
        }
        for (std::size_t j = 0; j < NClasses; ++j) sums[j] += of_class[j];
        return {static_cast<double>(weight_sum), static_cast<double>(Weighted ? count_sum : weight_sum)};
    }

    // Become some of the items of others, in the order given.
    void take(const ClassSamples& others, std::span<const std::uint32_t> indices) {
        samples.clear();
        for (const std::uint32_t i : indices) samples.push_back(others.samples[i]);
        if constexpr (Weighted) {
            counts.clear();
            for (const std::uint32_t i : indices) counts.push_back(others.counts[i]);
        }
    }

private:
    std::vector<std::int32_t> labels_;
    std::vector<std::int32_t> weights_;
    std::vector<std::int32_t> counts_;
};

// Samples with a list of labels each.
struct LabelSamples {
    static constexpr bool multilabel = true;
    static constexpr bool weighted = true;
    using Side = MovingSide<LabelSamples>;

    struct Sample {
        double weight;
        double count;
        double product;
        std::span<const std::int32_t> labels;
    };
    std::vector<Sample> samples;

    double weight(Index i) const { return samples[i].weight; }
    double count(Index i) const { return samples[i].count; }
    double squared_weights(Index i) const { return weight(i) * weight(i); }
    double product(Index i, const Parent&) const { return samples[i].product; }

    double sum_of(Index i, std::span<const double> numbers) const {
        double total = 0.0;
        for (const std::int32_t label : samples[i].labels) total += numbers[label];
        return total;
    }
    double add(Index i, double weight, std::span<double> sums) const {
        double before = 0.0;
        const auto& labels = samples[i].labels;
        for (const std::int32_t label : labels) {
            before += sums[label];
            sums[label] += weight;
        }
        return weight * (2 * before + weight * static_cast<double>(labels.size()));
    }
    // Sum the labels of each sample once per node instead of once per feature.
    template <class Samples>
    void prepare(const Samples& indices, const Parent& parent) {
        for (const auto i : indices) samples[i].product = samples[i].weight * sum_of(i, parent.totals);
    }
    void take(const LabelSamples& others, std::span<const std::uint32_t> indices) {
        samples.clear();
        for (const std::uint32_t i : indices) samples.push_back(others.samples[i]);
    }
};

// Samples of a sparse table with a list of labels each, and one more item behind them: all samples that are zero in the
// feature at hand, whose label weights are in `rest`.
struct EntrySamples : LabelSamples {
    using Side = MovingSide<EntrySamples>;

    std::vector<double> rest;

    Index zero_item() const { return ssize(samples) - 1; }

    double add(Index i, double weight, std::span<double> sums) const {
        if (i != zero_item()) return LabelSamples::add(i, weight, sums);
        double squares = 0.0;
        if (weight == 0) return squares;  // the caller may leave the item out by a factor of 0
        for (Index j = 0; j < ssize(rest); ++j) {
            squares += rest[j] * (2 * sums[j] + rest[j]);
            sums[j] += rest[j];
        }
        return squares;
    }
};

// Sum up some items.
template <class Items>
Amount sum_items(const Items& items, std::span<const std::uint32_t> indices, std::span<double> sums) {
    Amount sum;
    if constexpr (requires { Items::few_classes; }) {
        if constexpr (Items::few_classes > 0) {
            // In registers: no step waits for a number to be stored and read again.
            std::array<double, Items::few_classes> of_class{};
            for (const std::uint32_t i : indices) {
                items.add_to_few(i, of_class);
                if constexpr (Items::weighted) sum.count += items.count(i);
            }
            for (std::size_t j = 0; j < of_class.size(); ++j) {
                sums[j] += of_class[j];
                sum.weight += of_class[j];
            }
            if constexpr (!Items::weighted) sum.count = sum.weight;
            return sum;
        }
    }
    for (const std::uint32_t i : indices) {
        items.add(i, items.weight(i), sums);
        sum.weight += items.weight(i);
        sum.count += items.count(i);
    }
    return sum;
}

}  // namespace fuselearn
