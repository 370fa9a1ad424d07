// Exact sums of doubles, which depend neither on the order nor on how the numbers are divided.
//
// A finite double is a whole number of at most 53 bits times a power of two, not below 2^-1074. In these units a sum is
// a whole number of some 2,200 bits, kept in digits of 32 bits that need to be carried only once in 2^31 additions
// (Neal, 2015). Costs O(numbers). tests/core/test_exact.py pins it against math.fsum.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn {

class ExactSum {
public:
    // 66 for the numbers, three for the sums of up to 2^64 of them and their sign.
    static constexpr Index n_digits = 69;

    // Numbers that are not finite make the sum meaningless; the caller has to ask for them.
    void add(double value);
    void add_if(bool is_counted, double value) {
        if (is_counted) add(value);
    }

    void add(std::span<const double> values, Interrupt& interrupt) {
        constexpr Index block_size = 1 << 16;
        for (Index start = 0; start < ssize(values); start += block_size) {
            interrupt.check();
            for (const double value : values.subspan(start, std::min(block_size, ssize(values) - start))) add(value);
        }
    }

    bool is_finite() const { return is_finite_; }

    // The bytes of the sum in two's complement, the lowest first.
    std::array<char, 4 * n_digits> bytes() const {
        const Digits carried = carry(digits_);
        std::array<char, 4 * n_digits> bytes;
        for (Index k = 0; k < ssize(bytes); ++k) bytes[k] = static_cast<char>(carried[k / 4] >> (8 * (k % 4)));
        return bytes;
    }

    // The nearest double, the even one of two; infinite if there is none.
    double rounded() const;

private:
    using Digits = std::array<std::int64_t, n_digits>;
    static constexpr std::int64_t base = std::int64_t{1} << 32;
    static constexpr int most_pending = 1 << 29;  // an addition changes a digit by less than 2^33

    // Bring all digits but the last, which has the sign, between 0 and 2^32 - 1.
    static Digits carry(Digits digits) {
        for (Index k = 0; k + 1 < n_digits; ++k) {
            digits[k + 1] += digits[k] >> 32;
            digits[k] &= base - 1;
        }
        return digits;
    }

    Digits digits_{};
    int n_pending_ = 0;  // additions since the digits were carried
    bool is_finite_ = true;
};

inline void ExactSum::add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t exponent = (bits >> 52) & 0x7FF;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    is_finite_ &= exponent != 0x7FF;
    // Numbers below 2^-1022 have the exponent 0, but the unit of the exponent 1, and no leading bit.
    const auto is_normal = static_cast<std::uint64_t>(exponent != 0);
    const std::uint64_t whole = fraction | (is_normal << 52);
    const std::uint64_t shift = exponent - is_normal;
    const std::uint64_t low = (whole & 0xFFFFFFFFu) << (shift % 32);
    const std::uint64_t high = (whole >> 32) << (shift % 32);
    const auto sign = static_cast<std::int64_t>(bits) < 0 ? std::int64_t{-1} : std::int64_t{1};
    std::int64_t* digit = &digits_[shift / 32];
    digit[0] += sign * static_cast<std::int64_t>(low & 0xFFFFFFFFu);
    digit[1] += sign * static_cast<std::int64_t>((low >> 32) + (high & 0xFFFFFFFFu));
    digit[2] += sign * static_cast<std::int64_t>(high >> 32);
    if (++n_pending_ == most_pending) {
        digits_ = carry(digits_);
        n_pending_ = 0;
    }
}

inline double ExactSum::rounded() const {
    Digits digits = carry(digits_);
    const bool is_negative = digits[n_digits - 1] < 0;
    if (is_negative) {
        for (std::int64_t& digit : digits) digit = -digit;
        digits = carry(digits);
    }
    Index top = n_digits - 1;
    while (top >= 0 && digits[top] == 0) --top;
    if (top < 0) return 0.0;

    // The highest bit that is set and the 63 below it, of which the last is also set if any bit below them is.
    const auto digit = [&](Index k) { return k < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(digits[k]); };
    const int n_free = std::countl_zero(static_cast<std::uint32_t>(digit(top)));
    const std::uint64_t next = digit(top - 2) << n_free;
    std::uint64_t leading = (((digit(top) << 32) | digit(top - 1)) << n_free) | (next >> 32);
    bool is_more = (next & (base - 1)) != 0;
    for (Index k = 0; k < top - 2; ++k) is_more |= digit(k) != 0;
    leading |= static_cast<std::uint64_t>(is_more);
    // The conversion rounds. Scaling does not: where doubles have fewer than 53 bits, so has the sum.
    const double rounded = std::ldexp(static_cast<double>(leading), static_cast<int>(32 * (top - 1)) - n_free - 1074);
    return is_negative ? -rounded : rounded;
}

}  // namespace fuselearn
