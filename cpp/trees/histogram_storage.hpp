// Samples counted per feature, code and class: used for nodes with more samples than codes, if all features are
// considered, samples have one class each and weights are counts.
//
// Only the histogram of the smaller child of a split is filled; that of the larger child is its parent's minus its
// sibling's, exactly, since all entries are integers. The cost of a node is proportional to the samples of the smaller
// child times features, plus bins. Nodes that are too small for a histogram are grown in sorted order.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"
#include "tables/table.hpp"
#include "trees/bins.hpp"
#include "trees/grower.hpp"
#include "trees/growth.hpp"
#include "trees/items.hpp"
#include "trees/search.hpp"
#include "trees/sorted_storage.hpp"

namespace fuselearn {

// A node that is grown later, as a branch of its own.
struct Branch {
    Root root;
    Place place;
};

template <int NClasses, class Code>
class HistogramStorage {
public:
    static constexpr bool larger_first = false;
    using Samples = ClassSamples<NClasses, false>;

    HistogramStorage(Growth& growth, Search& search, Interrupt& interrupt, Matrix<const Code> codes,
                     const Samples& samples, std::span<std::uint32_t> drawn)
        : growth_(growth),
          search_(search),
          interrupt_(interrupt),
          coding_(growth.coding()),
          codes_(codes),
          samples_(samples),
          drawn_(drawn),
          aside_(drawn.size()),
          starts_{0},
          sorted_(coding_) {
        for (Index f = 0; f < coding_.n_columns(); ++f) starts_.push_back(starts_.back() + coding_.missing_code(f) + 1);
    }

    // Nodes of at most `small_node` samples are grown in sorted order; nodes of at most `branch_size`, but for the
    // root, are listed as branches.
    void grow(const Root& root, Index small_node, Index branch_size) {
        small_node_ = std::min(small_node, SortedStorage<Samples>::most_samples);
        branch_size_ = branch_size;
        if (ssize(drawn_) > small_node_) fill(histogram(0), drawn_);
        grow_subtree(growth_, *this, search_, root, ssize(drawn_), interrupt_);
    }

    const std::vector<Branch>& branches() const { return branches_; }

    bool takes(const Waiting& here, const Root& root) {
        if (here.place.size() <= branch_size_ && here.node != root.node) {
            branches_.push_back({{here.node, here.depth, here.key}, here.place});
            return false;
        }
        if (here.place.size() > small_node_) return true;
        grow_sorted(growth_, search_, sorted_, samples_, codes_, samples_of(here.place),
                    {here.node, here.depth, here.key}, interrupt_);
        return false;
    }

    void find_split(Search& search, const Place& place) {
        const Matrix<const std::int32_t> counted = histogram(place.slot);
        for (Index position = 0; position < coding_.n_columns(); ++position) {
            const Feature feature = search.next_feature(position);
            const Index f = feature.index;
            if (f < 0) return;
            squared_weights_.clear();
            if (search.limits().correct_for_chance && coding_.is_category_column(f)) sum_squared_weights(f, place);
            const ClassBins<NClasses> bins{counted, squared_weights_};
            search.try_feature(bins, bin_list_.list(bins, starts_[f], coding_.missing_code(f)), feature);
        }
    }

    Half divide(const Split& split, const Place& place, std::span<double> sums) {
        Half left;
        const Matrix<const std::int32_t> counted = histogram(place.slot);
        for (Index code = 0; code <= split.missing_code; ++code) {
            if (!split.goes_left(code)) continue;
            const auto bin = counted.row(starts_[split.feature] + code);
            for (Index j = 0; j < ssize(sums); ++j) {
                sums[j] += bin[j];
                left.count += bin[j];
            }
        }
        left.weight = static_cast<double>(left.count);
        Index n_aside = 0;
        std::uint32_t* position = drawn_.data() + place.start;
        for (const std::uint32_t i : samples_of(place)) {
            const bool is_left = split.goes_left(codes_(i, split.feature));
            *position = i;
            aside_[n_aside] = i;
            position += is_left;
            n_aside += !is_left;
        }
        std::copy_n(aside_.begin(), n_aside, position);
        left.n_samples = place.size() - n_aside;
        return left;
    }

    // The larger child waits first, at the slot of its parent, and the smaller one behind it.
    void deal(const Place& place, const Half& left, const Grows& grows) {
        const bool left_is_smaller = 2 * left.n_samples < place.size();
        const Index middle = place.start + left.n_samples;
        const Place smaller = left_is_smaller ? Place{place.start, middle} : Place{middle, place.end};
        const Index n_larger = place.size() - smaller.size();
        const Index least = std::max(small_node_, branch_size_);
        if (grows[left_is_smaller ? 1 : 0] && n_larger > least) {
            const Matrix<std::int32_t> own = histogram(place.slot + 1);
            fill(own, samples_of(smaller));
            const Matrix<std::int32_t> of_parent = histogram(place.slot);
            for (Index k = 0; k < ssize(own.flat()); ++k) of_parent.data()[k] -= own.data()[k];
        } else if (grows[left_is_smaller ? 0 : 1] && smaller.size() > least) {
            fill(histogram(place.slot), samples_of(smaller));
        }
    }

private:
    std::span<const std::uint32_t> samples_of(const Place& place) const {
        return {drawn_.data() + place.start, static_cast<std::size_t>(place.size())};
    }

    Matrix<std::int32_t> histogram(Index slot) {
        const Index n_values = growth_.tree().n_values;
        while (ssize(histograms_) <= slot) histograms_.emplace_back(starts_.back() * n_values);
        return {histograms_[slot].data(), starts_.back(), n_values};
    }

    // Count the samples of a node, per feature, code and class.
    void fill(Matrix<std::int32_t> counted, std::span<const std::uint32_t> samples) {
        std::fill(counted.flat().begin(), counted.flat().end(), 0);
        const Index n_features = coding_.n_columns();
        const Index n_values = counted.n_columns();
        for (const std::uint32_t i : samples) {
            const auto sample = samples_.samples[i];
            const auto row = codes_.row(i);
            std::int32_t* const of_class = counted.data() + sample.label;
            for (Index f = 0; f < n_features; ++f) of_class[(starts_[f] + row[f]) * n_values] += sample.weight;
        }
    }

    void sum_squared_weights(Index f, const Place& place) {
        squared_weights_.assign(starts_.back(), 0.0);
        for (const std::uint32_t i : samples_of(place))
            squared_weights_[starts_[f] + codes_(i, f)] += samples_.squared_weights(i);
    }

    Growth& growth_;
    Search& search_;
    Interrupt& interrupt_;
    const Coding& coding_;
    Matrix<const Code> codes_;
    const Samples& samples_;
    std::span<std::uint32_t> drawn_;
    std::vector<std::uint32_t> aside_;
    std::vector<Index> starts_;
    std::vector<std::vector<std::int32_t>> histograms_;
    std::vector<double> squared_weights_;
    BinList bin_list_;
    SortedStorage<Samples> sorted_;
    Index small_node_ = 0;
    Index branch_size_ = 0;
    std::vector<Branch> branches_;
};

}  // namespace fuselearn
