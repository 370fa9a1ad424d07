// Kernel values of samples to which labels are appended as features.
//
// These features are binary, so only the number of labels that differ between two samples matters. Linear values change
// by a summand and radial values by a factor that depends on this number; both are looked up in a small table.
// tests/core/test_kernels.py compares with the kernel values of samples with all features.

#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "support/interrupt.hpp"
#include "support/views.hpp"
#include "support/wide.hpp"

namespace fuselearn::svm {

struct LabelBits {
    std::span<const std::int64_t> samples;  // whose kernel values to take
    Matrix<const std::uint64_t> words;      // (n, n_words), their labels
};

template <bool are_added>
void append_row(const float* __restrict values, const std::int64_t* __restrict samples,
                const std::uint64_t* __restrict words, const std::uint64_t* __restrict own, Index n_words,
                const float* __restrict changes, float* __restrict appended, Index n) {
    for (Index j = 0; j < n; ++j) {
        int n_differing = 0;
        for (Index w = 0; w < n_words; ++w) n_differing += std::popcount(words[j * n_words + w] ^ own[w]);
        const float value = values[samples[j]];
        appended[j] = are_added ? value + changes[n_differing] : value * changes[n_differing];
    }
}

// Return a number that the differing labels of two samples do not exceed: that of labels which any sample has.
inline int count_labels(Matrix<const std::uint64_t> left, Matrix<const std::uint64_t> right) {
    int n_labels = 0;
    for (Index w = 0; w < left.n_columns(); ++w) {
        std::uint64_t present = 0;
        for (Index i = 0; i < left.n_rows(); ++i) present |= left(i, w);
        for (Index j = 0; j < right.n_rows(); ++j) present |= right(j, w);
        n_labels += std::popcount(present);
    }
    return n_labels;
}

// Write the values between the samples on the left and those on the right. `changes` says what is added to a value, or
// what it is multiplied with, for each number of labels that differ.
template <bool are_added>
void append_labels(Matrix<const float> values, const LabelBits& left, const LabelBits& right,
                   std::span<const float> changes, Matrix<float> appended, Interrupt& interrupt) {
    for (Index i = 0; i < appended.n_rows(); ++i) {
        interrupt.check();
        vectorized<append_row<are_added>>(values.row(left.samples[i]).data(), right.samples.data(), right.words.data(),
                                          left.words.row(i).data(), right.words.n_columns(), changes.data(),
                                          appended.row(i).data(), appended.n_columns());
    }
}

}  // namespace fuselearn::svm
