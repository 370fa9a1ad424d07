// Loops over floats, compiled a second time for processors with vectors of 32 bytes.
//
// The second copy has no other instructions than the first one, wider ones, and no fused multiplication and addition:
// its results are the same to the bit. benchmarks/svm.py is 1.6 times as fast by it.

#pragma once

namespace fuselearn {

#if defined(__x86_64__) && defined(__GNUC__)

inline bool has_wide_vectors() noexcept {
    static const bool has = __builtin_cpu_supports("avx2") != 0;
    return has;
}

template <auto loop, class... Arguments>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] auto run_wide(Arguments... arguments) {
    return loop(arguments...);
}

// Return loop(arguments...), of a function without calls that the compiler could not inline.
template <auto loop, class... Arguments>
auto vectorized(Arguments... arguments) {
    return has_wide_vectors() ? run_wide<loop>(arguments...) : loop(arguments...);
}

#else

template <auto loop, class... Arguments>
auto vectorized(Arguments... arguments) {
    return loop(arguments...);
}

#endif

}  // namespace fuselearn
