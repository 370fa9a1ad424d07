// The interface between NumPy and the core: arguments are validated, and results are arrays owned by NumPy.
//
// A bound function takes `In<T, N>` for an array that it reads and `InOut<T, N>` for one that it changes. Both hold the
// Python object until `.read("name")`, which raises an error with that name unless the array has the right type and
// number of dimensions. An array that is not C-contiguous and aligned is copied if it is read, and rejected if it would
// be changed.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "support/interrupt.hpp"
#include "support/views.hpp"

namespace fuselearn::bindings {

namespace nb = nanobind;
using nb::literals::operator""_a;

template <class T>
constexpr const char* dtype_name() {
    if constexpr (std::is_same_v<T, double>) return "float64";
    if constexpr (std::is_same_v<T, float>) return "float32";
    if constexpr (std::is_same_v<T, bool>) return "bool";
    if constexpr (std::is_same_v<T, std::int8_t>) return "int8";
    if constexpr (std::is_same_v<T, std::int16_t>) return "int16";
    if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
    if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
    if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8";
    if constexpr (std::is_same_v<T, std::uint16_t>) return "uint16";
    if constexpr (std::is_same_v<T, std::uint32_t>) return "uint32";
    if constexpr (std::is_same_v<T, std::uint64_t>) return "uint64";
}

template <class T>
constexpr auto numpy_dtype() {
    if constexpr (std::is_same_v<T, double>)
        return nb::detail::const_name("numpy.float64");
    else if constexpr (std::is_same_v<T, float>)
        return nb::detail::const_name("numpy.float32");
    else if constexpr (std::is_same_v<T, bool>)
        return nb::detail::const_name("numpy.bool_");
    else if constexpr (std::is_same_v<T, std::int8_t>)
        return nb::detail::const_name("numpy.int8");
    else if constexpr (std::is_same_v<T, std::int16_t>)
        return nb::detail::const_name("numpy.int16");
    else if constexpr (std::is_same_v<T, std::int32_t>)
        return nb::detail::const_name("numpy.int32");
    else if constexpr (std::is_same_v<T, std::int64_t>)
        return nb::detail::const_name("numpy.int64");
    else if constexpr (std::is_same_v<T, std::uint8_t>)
        return nb::detail::const_name("numpy.uint8");
    else if constexpr (std::is_same_v<T, std::uint16_t>)
        return nb::detail::const_name("numpy.uint16");
    else if constexpr (std::is_same_v<T, std::uint32_t>)
        return nb::detail::const_name("numpy.uint32");
    else
        return nb::detail::const_name("numpy.uint64");
}

// How stubs name an array of such numbers.
template <class T>
constexpr auto array_name() {
    return nb::detail::const_name("numpy.typing.NDArray[") + numpy_dtype<T>() + nb::detail::const_name("]");
}

// Describe an argument for error messages: "a float32 array of shape (3, 2)" or "a list".
std::string describe(nb::handle source);

[[noreturn]] void raise_wrong_array(nb::handle source, const char* name, const char* dtype, int n_dimensions);
[[noreturn]] void raise_not_writable(const char* name);
[[noreturn]] void raise_value_error(const std::string& sentence);

// The items of a list or a tuple, kept alive even if the list changes.
nb::tuple hold(nb::handle source, const char* name);

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;

// Whether an array has C order; dimensions of length one may have any stride.
bool is_contiguous(const AnyArray& array);

// Whether values are aligned; those of a field of a record may not be.
template <class T>
bool is_aligned(const AnyArray& array) {
    return reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) == 0;
}

// Copy an array with any strides to C order.
void copy_strided(const AnyArray& array, void* target);

// The values of an array argument; they are valid as long as this object and the argument exist.
template <class T, int N>
class Values {
public:
    explicit Values(AnyArray array) : array_(std::move(array)) {
        if (is_contiguous(array_) && is_aligned<T>(array_)) {
            data_ = static_cast<const T*>(array_.data());
        } else {
            copy_ = std::make_unique<T[]>(array_.size());
            copy_strided(array_, copy_.get());
            data_ = copy_.get();
        }
    }

    Index size() const { return static_cast<Index>(array_.size()); }
    Index shape(int axis) const { return static_cast<Index>(array_.shape(static_cast<std::size_t>(axis))); }
    const T* data() const { return data_; }
    std::span<const T> span() const { return {data_, array_.size()}; }
    Matrix<const T> matrix() const
        requires(N == 2)
    {
        return {data_, shape(0), shape(1)};
    }

private:
    AnyArray array_;
    std::unique_ptr<T[]> copy_;
    const T* data_;
};

template <class T, int N>
struct In {
    nb::handle source;

    Values<T, N> read(const char* name) const {
        AnyArray array;
        if (!nb::try_cast<AnyArray>(source, array, false) || array.dtype() != nb::dtype<T>() || array.ndim() != N)
            raise_wrong_array(source, name, dtype_name<T>(), N);
        return Values<T, N>(std::move(array));
    }
    bool is_none() const { return source.is_none(); }
    bool has_dtype() const {
        AnyArray array;
        return nb::try_cast<AnyArray>(source, array, false) && array.dtype() == nb::dtype<T>();
    }
};

template <class T, int N>
struct InOut {
    nb::handle source;

    // A writable view; the argument must outlive it.
    auto read(const char* name) const {
        AnyArray array;
        if (!nb::try_cast<AnyArray>(source, array, false) || array.dtype() != nb::dtype<T>() || array.ndim() != N)
            raise_wrong_array(source, name, dtype_name<T>(), N);
        nb::ndarray<nb::device::cpu> writable;
        if (!is_contiguous(array) || !is_aligned<T>(array) ||
            !nb::try_cast<nb::ndarray<nb::device::cpu>>(source, writable, false))
            raise_not_writable(name);
        T* data = static_cast<T*>(writable.data());
        if constexpr (N == 1)
            return std::span<T>(data, array.size());
        else
            return Matrix<T>(data, static_cast<Index>(array.shape(0)), static_cast<Index>(array.shape(1)));
    }
};

// A NumPy array whose type is written to the stubs.
template <class T>
class ArrayOf : public nb::object {
public:
    using nb::object::object;
    static constexpr auto Name = array_name<T>();
};

// The same for codes of one byte or two, for records of nodes, and for flags that there may not be.
class CodesArray : public nb::object {
public:
    using nb::object::object;
    static constexpr auto Name = nb::detail::const_name("numpy.typing.NDArray[numpy.unsignedinteger[typing.Any]]");
};
class RecordsArray : public nb::object {
public:
    using nb::object::object;
    static constexpr auto Name = nb::detail::const_name("numpy.typing.NDArray[numpy.void]");
};
class OptionalFlags : public nb::object {
public:
    using nb::object::object;
    static constexpr auto Name = nb::detail::const_name("numpy.typing.NDArray[numpy.bool_] | None");
};

// A new NumPy array for results.
template <class T, int N>
class Out {
public:
    explicit Out(std::array<Index, N> shape);

    T* data() const { return data_; }
    std::span<T> span() const { return {data_, size_}; }
    Matrix<T> matrix() const
        requires(N == 2)
    {
        return {data_, shape_[0], shape_[1]};
    }
    ArrayOf<T> object() const { return nb::borrow<ArrayOf<T>>(object_); }

private:
    nb::object object_;
    T* data_ = nullptr;
    std::size_t size_ = 1;
    std::array<Index, N> shape_;
};

// numpy.empty(shape, dtype), and the address of its memory.
nb::object make_empty(std::span<const Index> shape, const char* dtype, void** data);

template <class T, int N>
Out<T, N>::Out(std::array<Index, N> shape) : shape_(shape) {
    for (const Index length : shape) size_ *= static_cast<std::size_t>(length);
    void* data = nullptr;
    object_ = make_empty(shape, dtype_name<T>(), &data);
    data_ = static_cast<T*>(data);
}

// A new array with a copy of these values.
template <class Container>
auto to_array(const Container& values) {
    using T = std::remove_cv_t<typename Container::value_type>;
    const Out<T, 1> out({ssize(values)});
    std::copy(values.begin(), values.end(), out.data());
    return out.object();
}

// Raise an error unless an array has the expected length.
void check_length(Index length, Index expected, const char* name, const char* other);

// Raise an error if a number is NaN or infinite.
void check_finite(std::span<const double> numbers, const char* name);

// Raise an error unless all numbers are from 0 to n - 1.
template <class T>
void check_range(std::span<const T> numbers, Index n, const char* name) {
    // As unsigned numbers, negative numbers are large, so a single comparison suffices.
    using Unsigned = std::make_unsigned_t<T>;
    Unsigned largest = 0;
    for (const T number : numbers) largest = std::max(largest, static_cast<Unsigned>(number));
    if (!numbers.empty() && static_cast<std::uint64_t>(largest) >= static_cast<std::uint64_t>(n))
        raise_value_error(std::string(name) + " must hold numbers from 0 to " + std::to_string(n - 1) + " only.");
}

// A Python integer from the little-endian bytes of its two's complement.
nb::int_ to_whole_number(std::span<const char> bytes);

// An Interrupt that checks the interpreter for signals. Use it while the interpreter's lock is released.
bool poll_signals() noexcept;

// Release the interpreter's lock, do the work, and turn an interruption into the pending KeyboardInterrupt.
template <class Work>
void run_released(const Work& work) {
    try {
        const nb::gil_scoped_release released;
        Interrupt interrupt(poll_signals);
        work(interrupt);
    } catch (const Interrupted&) {
        if (PyErr_Occurred() == nullptr) PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
}

// One function per group of bindings; module.cpp calls them all, this one first.
void bind_arrays();
void bind_sampling(nb::module_& module);
void bind_filters(nb::module_& module);
void bind_combining(nb::module_& module);
void bind_labels(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_sparse_tables(nb::module_& module);
void bind_trees(nb::module_& module);
void bind_growing(nb::module_& module);
void bind_ensembles(nb::module_& module);
void bind_forests(nb::module_& module);
void bind_levels(nb::module_& module);
void bind_gradients(nb::module_& module);
void bind_stumps(nb::module_& module);
void bind_svm(nb::module_& module);

}  // namespace fuselearn::bindings

namespace nanobind::detail {

template <class Argument, class T>
struct array_caster {
    NB_TYPE_CASTER(Argument, fuselearn::bindings::array_name<T>())
    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        value.source = source;
        return true;
    }
};

template <class T, int N>
struct type_caster<fuselearn::bindings::In<T, N>> : array_caster<fuselearn::bindings::In<T, N>, T> {};

template <class T, int N>
struct type_caster<fuselearn::bindings::InOut<T, N>> : array_caster<fuselearn::bindings::InOut<T, N>, T> {};

}  // namespace nanobind::detail
