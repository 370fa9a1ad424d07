// Non-owning views of arrays: std::span for one dimension, Matrix for two.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

namespace fuselearn {

using Index = std::ptrdiff_t;

// A row-major matrix.
template <class T>
class Matrix {
public:
    Matrix() = default;
    Matrix(T* data, Index n_rows, Index n_columns) : data_(data), n_rows_(n_rows), n_columns_(n_columns) {}

    // A matrix of constants is a view of any matrix.
    operator Matrix<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {data_, n_rows_, n_columns_};
    }

    T& operator()(Index i, Index j) const {
        assert(0 <= i && i < n_rows_ && 0 <= j && j < n_columns_);
        return data_[i * n_columns_ + j];
    }
    std::span<T> row(Index i) const {
        assert(0 <= i && i < n_rows_);
        return {data_ + i * n_columns_, static_cast<std::size_t>(n_columns_)};
    }
    std::span<T> flat() const { return {data_, static_cast<std::size_t>(n_rows_ * n_columns_)}; }

    T* data() const { return data_; }
    Index n_rows() const { return n_rows_; }
    Index n_columns() const { return n_columns_; }

private:
    T* data_ = nullptr;
    Index n_rows_ = 0;
    Index n_columns_ = 0;
};

// Lengths and positions are signed, as differences of them are common.
using std::ssize;

}  // namespace fuselearn
