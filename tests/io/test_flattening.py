"""A model that was taken apart is put together with the same values, and the same sharing."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from fuselearn import CARTClassifier
from fuselearn.io import ModelFileError
from fuselearn.io.flattening import flatten, unflatten
from fuselearn.learners import TableCoder
from fuselearn.learners.svm import Kernel

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers() | st.booleans() | st.tuples(st.text()), inner)
    ),
    max_leaves=20,
)
kinds = npst.scalar_dtypes().filter(lambda dtype: dtype.kind != "V")


@given(plain)
def test_plain_values(value):
    restored = unflatten(flatten([value]))[0]
    assert restored == value
    assert repr(restored) == repr(value)  # 1 and True are equal


@given(st.lists(npst.arrays(kinds, npst.array_shapes(min_dims=0, min_side=0)), max_size=4), st.sampled_from("CF"))
def test_arrays(arrays, order):
    arrays = [np.asarray(array, order=order) for array in arrays]
    for new, old in zip(unflatten(flatten(arrays)), arrays, strict=True):
        assert new.dtype == old.dtype
        assert new.shape == old.shape
        assert new.tobytes() == old.tobytes()
        assert new.flags.c_contiguous == old.flags.c_contiguous
        assert new.flags.f_contiguous == old.flags.f_contiguous


def test_arrays_of_a_type_are_joined():
    flat = flatten([np.arange(3), np.arange(4), np.array([1.5])])
    assert {kind: len(array) for kind, array in flat["arrays"].items()} == {"<i8": 7, "<f8": 1}
    assert flat["others"] == []


def test_arrays_that_are_no_longer_whole():
    table = np.arange(12.0).reshape(3, 4)
    new = unflatten(flatten([table[:, ::2], table.T[1:]]))
    np.testing.assert_array_equal(new[0], table[:, ::2])
    np.testing.assert_array_equal(new[1], table.T[1:])


@pytest.mark.parametrize(
    "value", [np.float64(0.1), np.int8(3), np.bool_(True), np.str_("ü"), np.datetime64("2020-01-01")]
)
def test_scalars_keep_their_type(value):
    restored = unflatten(flatten([value]))[0]
    assert type(restored) is type(value)
    assert restored == value


def test_arrays_of_objects():
    value = np.array([["a", None], [1, (2.5, "b")]], dtype=object)
    restored = unflatten(flatten(value))
    assert restored.dtype == object
    assert restored.tolist() == value.tolist()


def test_what_is_there_twice_is_there_once():
    array, inner = np.arange(3), [1]
    restored = unflatten(flatten({"a": array, "b": array, "c": inner, "d": [inner]}))
    assert restored["a"] is restored["b"]
    assert restored["c"] is restored["d"][0]


def test_what_contains_itself():
    value = [1]
    value.append(value)
    restored = unflatten(flatten(value))
    assert restored[1] is restored
    coder = TableCoder()
    coder.own = {"coder": coder}
    restored = unflatten(flatten(coder))
    assert restored.own["coder"] is restored


def test_objects_named_tuples_and_mappings():
    value = [make_pipeline(CARTClassifier(max_depth=2)), Kernel("rbf", 0.5), Bunch(a=1)]
    flat = flatten(value)
    assert flat["others"] == []
    restored = unflatten(flat)
    assert restored[0][0].max_depth == 2
    assert restored[1] == Kernel("rbf", 0.5)
    assert type(restored[1]) is Kernel
    assert restored[2].a == 1


def test_others_are_for_skops():
    value = {"function": np.log1p, "slice": slice(1, 2), "set": {1}, "kind": int}
    flat = flatten(value)
    assert len(flat["others"]) == 4
    assert unflatten(flat) == value


def forge(parts, arrays=None):
    return {"parts": json.dumps(parts).encode(), "arrays": arrays or {}, "others": []}


def test_types_that_a_file_may_not_hold_are_named():
    for kind, name in [
        ("object", "subprocess.Popen"),
        ("object", "fuselearn._core.Tree"),
        ("object", "sklearn.tree._tree.Tree"),
        ("object", "sklearn.neighbors._kd_tree.KDTree"),
        ("object", "sklearn.utils._bunch.Bunch"),
        ("object", "builtins.list"),
        ("mapping", "os._Environ"),
        ("mapping", "fuselearn.learners.table.TableCoder"),
        ("named", "fuselearn._core.Forest"),
        ("named", "fuselearn.learners.table.TableCoder"),
    ]:
        with pytest.raises(ModelFileError, match=f"It contains {name}"):
            unflatten(forge([[kind, name, {}]]))


def test_keys_that_would_take_ages_to_hash_are_refused():
    doubled = [["tuple", [k + 1], [k + 1]] for k in range(1, 60)]
    with pytest.raises(ModelFileError, match="tuples of tuples"):
        unflatten(forge([["dict", [1], 0], *doubled, ["tuple", 1]]))


def test_long_arrays_of_no_numbers_are_refused():
    with pytest.raises(ModelFileError, match="a shape that is too large"):
        unflatten(forge([["array", "<f8", 0, [10**12, 0], "C"]], {"<f8": np.arange(3.0)}))


def test_parts_that_make_no_sense_are_errors():
    for parts in [
        [["list", [7]]],
        [["list", []]],
        [["array", "<f8", 0, [9], "C"]],
        [["array", "<i4", 0, [1], "C"]],
        [["array", "<f8", 0, [2], "K"]],
        [["scalar", "<f8", 5]],
        [["dict", "key"]],
        [["dict", [1], 0], ["list"]],
        [["other", 0]],
        [["tuple", [0]]],
        [["pickle", "cos"]],
        [["object", "fuselearn.learners.table.TableCoder", "text"]],
        [],
        {},
        7,
    ]:
        with pytest.raises((ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)):
            unflatten(forge(parts, {"<f8": np.arange(3.0)}))
