// Loops over floats, compiled again for processors with vectors of 32 bytes, and of 64.
//
// The other copies use wider instructions but no fused multiply-add, so their results are bitwise identical. They pay
// off for loops that are not limited by memory: SVMs (benchmarks/svm.py) are 1.6 times as fast with 32 bytes, and with
// 64 bytes another 1.1 to 1.4 times.

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

#if defined(__clang__)  // has no attribute that makes it use vectors of 64 bytes

inline bool has_widest_vectors() noexcept { return false; }
template <auto loop, class... Arguments>
auto run_with_avx512(Arguments... arguments) {
    return loop(arguments...);
}

#else

inline bool has_widest_vectors() noexcept {
    static const bool has = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                            __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0;
    return has;
}
template <auto loop, class... Arguments>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512"), gnu::flatten, gnu::noinline]] auto
run_with_avx512(Arguments... arguments) {
    return loop(arguments...);
}

#endif

// Return loop(arguments...), of a function without calls that the compiler could not inline.
template <auto loop, class... Arguments>
auto vectorized(Arguments... arguments) {
    if (has_widest_vectors()) return run_with_avx512<loop>(arguments...);
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
