// Exact sums of doubles, which depend neither on the order nor on how the numbers are divided.
//
// A finite double is a whole number of at most 53 bits times a power of two, not below 2^-1074. In these units a sum is
// a whole number of some 2,200 bits, kept in digits of 32 bits that need to be carried only once in 2^31 additions
// (Neal, 2015). Costs O(numbers). tests/engines/test_exact.py pins it against math.fsum.

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
    void add(std::span<const double> values, Interrupt& interrupt) {
        for (Index start = 0; start < ssize(values); start += most_additions) {
            interrupt.check();
            const Index stop = std::min(start + most_additions, ssize(values));
            for (Index i = start; i < stop; ++i) add(values[i]);
            carry();
        }
    }

    bool is_finite() const { return is_finite_; }

    // The bytes of the sum in two's complement, the lowest first.
    std::array<char, 4 * n_digits> bytes() const {
        std::array<char, 4 * n_digits> bytes;
        for (Index k = 0; k < ssize(bytes); ++k) bytes[k] = static_cast<char>(digits_[k / 4] >> (8 * (k % 4)));
        return bytes;
    }

    // The nearest double, the even one of two; infinite if there is none.
    double rounded() const;

private:
    static constexpr Index most_additions = Index{1} << 20;
    static constexpr std::int64_t base = std::int64_t{1} << 32;

    void add(double value) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        const std::uint64_t exponent = (bits >> 52) & 0x7FF;
        const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
        is_finite_ &= exponent != 0x7FF;
        // Without the leading bit, and with the exponent of 1, for the numbers below 2^-1022.
        const std::uint64_t whole = fraction | (static_cast<std::uint64_t>(exponent != 0) << 52);
        const std::uint64_t shift = exponent - (exponent != 0);
        const std::uint64_t low = (whole & 0xFFFFFFFFu) << (shift % 32);
        const std::uint64_t high = (whole >> 32) << (shift % 32);
        const auto sign = static_cast<std::int64_t>(bits) < 0 ? std::int64_t{-1} : std::int64_t{1};
        std::int64_t* digit = &digits_[shift / 32];
        digit[0] += sign * static_cast<std::int64_t>(low & 0xFFFFFFFFu);
        digit[1] += sign * static_cast<std::int64_t>((low >> 32) + (high & 0xFFFFFFFFu));
        digit[2] += sign * static_cast<std::int64_t>(high >> 32);
    }

    // Bring all digits but the last, which has the sign, between 0 and 2^32 - 1.
    void carry() {
        for (Index k = 0; k + 1 < n_digits; ++k) {
            digits_[k + 1] += digits_[k] >> 32;
            digits_[k] &= base - 1;
        }
    }

    std::array<std::int64_t, n_digits> digits_{};
    bool is_finite_ = true;
};

inline double ExactSum::rounded() const {
    const bool is_negative = digits_[n_digits - 1] < 0;
    ExactSum magnitude = *this;
    if (is_negative) {
        for (std::int64_t& digit : magnitude.digits_) digit = -digit;
        magnitude.carry();
    }
    Index top = n_digits - 1;
    while (top >= 0 && magnitude.digits_[top] == 0) --top;
    if (top < 0) return 0.0;

    // The highest bit that is set and the 63 below it, of which the last is also set if any bit below them is.
    const auto digit = [&](Index k) { return k < 0 ? 0 : static_cast<std::uint64_t>(magnitude.digits_[k]); };
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
