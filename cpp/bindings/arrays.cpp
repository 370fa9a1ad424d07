#include "bindings/arrays.hpp"

#include <nanobind/stl/string.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <new>

namespace fuselearn::bindings {

namespace {

std::string text_of(const nb::object& value) { return nb::cast<std::string>(nb::str(value)); }

}  // namespace

std::string describe(nb::handle source) {
    if (nb::hasattr(source, "dtype") && nb::hasattr(source, "shape"))
        return "an array of " + text_of(source.attr("dtype")) + " of shape " + text_of(source.attr("shape"));
    return "a value of type " + text_of(source.type().attr("__name__"));
}

void raise_wrong_array(nb::handle source, const char* name, const char* dtype, int n_dimensions) {
    const std::string sentence = std::string(name) + " must be an array of " + dtype + " with " +
                                 std::to_string(n_dimensions) + (n_dimensions == 1 ? " dimension" : " dimensions") +
                                 ", not " + describe(source) + ".";
    throw nb::type_error(sentence.c_str());
}

void raise_not_writable(const char* name) {
    const std::string sentence =
        std::string(name) + " is changed in place, so it must be writable, aligned and C-contiguous.";
    throw nb::value_error(sentence.c_str());
}

void raise_value_error(const std::string& sentence) { throw nb::value_error(sentence.c_str()); }

nb::tuple hold(nb::handle source, const char* name) {
    if (!nb::isinstance<nb::list>(source) && !nb::isinstance<nb::tuple>(source))
        throw nb::type_error((std::string(name) + " must be a list or a tuple, not " + describe(source) + ".").c_str());
    return nb::tuple(source);
}

bool is_contiguous(const AnyArray& array) {
    if (array.size() == 0) return true;  // whatever its strides are
    std::int64_t expected = 1;
    for (std::size_t axis = array.ndim(); axis-- > 0;) {
        const auto length = static_cast<std::int64_t>(array.shape(axis));
        if (length != 1 && array.stride(axis) != expected) return false;
        expected *= length;
    }
    return true;
}

void copy_strided(const AnyArray& array, void* target) {
    const std::size_t n_bytes = array.itemsize();
    const auto* source = static_cast<const char*>(array.data());
    auto* copy = static_cast<char*>(target);
    std::vector<std::size_t> position(array.ndim(), 0);
    for (std::size_t k = 0; k < array.size(); ++k) {
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < array.ndim(); ++axis)
            offset += static_cast<std::int64_t>(position[axis]) * array.stride(axis);
        std::memcpy(copy + k * n_bytes, source + offset * static_cast<std::int64_t>(n_bytes), n_bytes);
        for (std::size_t axis = array.ndim(); axis-- > 0;) {
            if (++position[axis] < array.shape(axis)) break;
            position[axis] = 0;
        }
    }
}

namespace {

// Looked up once, at import: the lookup takes longer than most calls, and a static initialized on first use could wait
// for the interpreter's lock while another thread waits for the static.
struct Numpy {
    nb::handle empty;
    std::vector<std::pair<const char*, nb::handle>> dtypes;
};
Numpy numpy;

nb::handle dtype_of(const char* name) {
    for (const auto& [known, dtype] : numpy.dtypes)
        if (known == name || std::strcmp(known, name) == 0) return dtype;
    throw nb::type_error("The core makes no arrays of this type.");
}

}  // namespace

void bind_arrays() {
    const nb::module_ module = nb::module_::import_("numpy");
    numpy.empty = nb::object(module.attr("empty")).release();
    const nb::object dtype = module.attr("dtype");
    for (const char* name : {dtype_name<double>(), dtype_name<float>(), dtype_name<bool>(), dtype_name<std::int8_t>(),
                             dtype_name<std::int32_t>(), dtype_name<std::int64_t>(), dtype_name<std::uint8_t>(),
                             dtype_name<std::uint16_t>(), dtype_name<std::uint32_t>(), dtype_name<std::uint64_t>()})
        numpy.dtypes.emplace_back(name, dtype(name).release());
}

nb::object make_empty(std::span<const Index> shape, const char* dtype, void** data) {
    // NumPy's own error for such an array is a ValueError about arr.size.
    double n_values = 1;
    for (const Index length : shape) n_values *= static_cast<double>(std::max<Index>(length, 1));
    if (n_values > 1e17) throw std::bad_alloc();
    nb::object made;
    if (shape.size() == 1) {
        made = numpy.empty(shape[0], dtype_of(dtype));
    } else {
        nb::list lengths;
        for (const Index length : shape) lengths.append(length);
        made = numpy.empty(nb::tuple(lengths), dtype_of(dtype));
    }
    const auto array = nb::cast<nb::ndarray<nb::device::cpu>>(made, false);
    *data = array.data();
    return made;
}

void check_length(Index length, Index expected, const char* name, const char* other) {
    if (length != expected)
        raise_value_error(std::string(name) + " must be as long as " + other + " (" + std::to_string(expected) +
                          "), not " + std::to_string(length) + ".");
}

void check_finite(std::span<const double> numbers, const char* name) {
    Index n_wrong = 0;  // counted, so that the loop has no branch
    for (const double number : numbers) n_wrong += !(std::abs(number) <= std::numeric_limits<double>::max());
    if (n_wrong > 0) raise_value_error(std::string(name) + " must be finite.");
}

nb::int_ to_whole_number(std::span<const char> bytes) {
    const nb::object from_bytes = nb::module_::import_("builtins").attr("int").attr("from_bytes");
    return nb::borrow<nb::int_>(from_bytes(nb::bytes(bytes.data(), bytes.size()), "little", "signed"_a = true));
}

bool poll_signals() noexcept {
    const nb::gil_scoped_acquire acquired;
    return PyErr_CheckSignals() != 0;
}

}  // namespace fuselearn::bindings
