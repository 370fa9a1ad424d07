// Loops over floats, compiled a second time for processors with vectors of 32 bytes.
//
// The second copy has no other instructions than the first one, wider ones, and no fused multiplication and addition:
// its results are the same to the bit. It pays for loops that hardly wait for memory: SVMs (benchmarks/svm.py) are
// 1.6 times as fast by it.

#pragma once

namespace fuselearn {

#if defined(__x86_64__) && defined(__GNUC__)

inline bool has_wide_vectors() noexcept {
    static const bool has = __builtin_cpu_supports("avx2") != 0;
    return has;
}

// `flatten` compiles everything that the work calls into this function, and so for these instructions.
template <auto loop, class... Arguments>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] auto run_with_avx2(Arguments... arguments) {
    return loop(arguments...);
}
template <class Work>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void work_with_avx2(const Work& work) {
    work();
}

// Return loop(arguments...), of a function without calls that the compiler could not inline.
template <auto loop, class... Arguments>
auto vectorized(Arguments... arguments) {
    return has_wide_vectors() ? run_with_avx2<loop>(arguments...) : loop(arguments...);
}

// Call work(), which may hold references to what it works on.
template <class Work>
void run_widely(const Work& work) {
    if (has_wide_vectors())
        work_with_avx2(work);
    else
        work();
}

#else

template <auto loop, class... Arguments>
auto vectorized(Arguments... arguments) {
    return loop(arguments...);
}

template <class Work>
void run_widely(const Work& work) {
    work();
}

#endif

}  // namespace fuselearn
