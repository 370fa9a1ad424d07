// Ask for memory that is needed a few steps later, where the compiler can; samples of a node lie scattered over a
// table.

#pragma once

namespace fuselearn {

inline void prefetch([[maybe_unused]] const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

}  // namespace fuselearn
