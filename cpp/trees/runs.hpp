// The items of a feature in the order of their codes, as words that hold a code and an item each.
//
// Words of 64 bits are used for any item, words of 32 bits for nodes with at most 65,536 samples, which halves the
// memory traffic. There are no branches that depend on comparisons of codes, since mispredictions cost more than they
// save.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "support/views.hpp"

namespace fuselearn {

template <class Word>
constexpr int code_shift = sizeof(Word) * 4;

template <class Word>
constexpr Word make_word(std::uint32_t code, std::uint32_t item) {
    return (static_cast<Word>(code) << code_shift<Word>) | item;
}
template <class Word>
constexpr Index code_of(Word word) {
    return static_cast<Index>(word >> code_shift<Word>);
}
template <class Word>
constexpr std::uint32_t item_of(Word word) {
    return static_cast<std::uint32_t>(word & ((Word{1} << code_shift<Word>)-1));
}

// Samples of one kind of word, at most.
template <class Word>
constexpr Index most_items = Index{1} << code_shift<Word>;

// Words of a feature, those with missing values from `stop` on. Their codes are from `lowest` to `highest`, missing
// values aside. There are none if the feature is constant.
template <class Word>
struct Run {
    std::span<const Word> words;
    Index stop = 0;
    Index lowest = 0;
    Index highest = 0;
};

template <class Word>
Run<Word> sorted_run(std::span<const Word> words, Index missing_code) {
    const Index lowest = code_of(words.front());
    if (lowest == code_of(words.back())) return {};
    Index stop = ssize(words);
    while (code_of(words[stop - 1]) == missing_code) --stop;
    return {words, stop, lowest, code_of(words[stop - 1])};
}

// Up to this many words, each is compared with each.
constexpr Index few_words = 64;

// Sort up to `few_words` words by their codes: the position of each is the number of smaller keys.
template <class Word>
void sort_few(std::span<const Word> words, std::span<Word> sorted) {
    std::array<std::uint32_t, few_words> keys;
    const auto n = static_cast<std::uint32_t>(words.size());
    for (std::uint32_t k = 0; k < n; ++k) keys[k] = static_cast<std::uint32_t>(code_of(words[k]) << 6) | k;
    for (std::uint32_t k = 0; k < n; ++k) {
        const std::uint32_t own = keys[k];
        std::uint32_t position = 0;
        for (std::uint32_t other = 0; other < n; ++other) position += keys[other] < own;
        sorted[position] = words[k];
    }
}

// Sort words by one of their bytes, those with equal bytes in the order in which they come.
template <class Word>
void sort_by_byte(std::span<const Word> words, int shift, std::span<Word> sorted) {
    std::array<std::uint32_t, 257> starts{};
    for (const Word word : words) ++starts[((word >> shift) & 255u) + 1];
    for (std::size_t b = 1; b < starts.size(); ++b) starts[b] += starts[b - 1];
    for (const Word word : words) sorted[starts[(word >> shift) & 255u]++] = word;
}

// Sort words by their codes, which are up to `most_code`. The result is in `words`; `aside` is for passing use.
template <class Word>
void sort_by_code(std::span<Word> words, std::span<Word> aside, Index most_code) {
    aside = aside.first(words.size());
    if (ssize(words) <= few_words) {
        sort_few<Word>(words, aside);
        std::copy(aside.begin(), aside.end(), words.begin());
        return;
    }
    sort_by_byte<Word>(words, code_shift<Word>, aside);
    if (most_code > 255)
        sort_by_byte<Word>(aside, code_shift<Word> + 8, words);
    else
        std::copy(aside.begin(), aside.end(), words.begin());
}

}  // namespace fuselearn
