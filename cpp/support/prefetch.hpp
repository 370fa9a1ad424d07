// Prefetch memory that is needed a few steps later, if the compiler supports it; the samples of a node are scattered
// over a table.

#pragma once

namespace fuselearn {

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

}  // namespace fuselearn
