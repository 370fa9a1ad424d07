// Run a loop compiled for wider vectors where the processor has them.
//
// Neither the order of additions nor their rounding depends on the width: nothing is contracted or reassociated, so
// results are equal to the bit. It pays for loops over doubles that hardly wait for memory.

#pragma once

namespace fuselearn {

#if defined(__x86_64__) && defined(__GNUC__)
constexpr bool has_wider_vectors = true;

// `flatten` compiles everything that the work calls into this function, and so for these instructions.
template <class Work>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void run_for_avx2(const Work& work) {
    work();
}

inline bool processor_has_avx2() { return __builtin_cpu_supports("avx2"); }
#else
constexpr bool has_wider_vectors = false;
#endif

template <class Work>
void run_widely(const Work& work) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (processor_has_avx2()) {
        run_for_avx2(work);
        return;
    }
#endif
    work();
}

}  // namespace fuselearn
