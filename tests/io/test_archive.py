"""A small file does not expand into gigabytes, nor into work without end."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse
import skops.io
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.io import ModelFileError, load, save
from fuselearn.io.checks import check_archive

X, y = load_wine(return_X_y=True)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.fuse"
    save(CARTClassifier().fit(X, y), path)
    return path


def refuse(path, match):
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=match):
        load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6


def test_an_entry_that_inflates(path, forge_model):
    forge_model(path, {"1.npy": bytes(50_000_000)})
    refuse(path, "expand to far more than its size")


def array_header(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (3,), (2**63 - 1, 2**63 - 1)])
def test_an_array_that_claims_to_be_larger_than_its_entry(path, forge_model, shape):
    forge_model(path, {"1.npy": array_header(shape) + bytes(8)})
    refuse(path, "does not match its shape")


def test_an_array_of_objects(path, forge_model):
    file = io.BytesIO()
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)
    forge_model(path, {"1.npy": file.getvalue()})
    refuse(path, "does not match its shape")


def test_a_sparse_matrix_that_inflates(path, forge_model):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", array_header((20_000_000,)) + bytes(160_000_000))
    forge_model(path, {"1.npz": inner.getvalue()})
    refuse(path, "sparse matrix")


def a_list(own_id, content):
    return {
        "__class__": "list",
        "__module__": "builtins",
        "__loader__": "ListNode",
        "content": content,
        "__id__": own_id,
    }


def test_parts_that_refer_to_each_other_without_end(path, forge_model):
    """Forty lists, each of which names the previous one twice, would be looked at a million million times."""

    def describe(schema):
        below = a_list(1, [])
        for own_id in range(2, 42):
            below = a_list(own_id, [below, a_list(own_id - 1, [])])
        schema["content"]["others"]["content"].append(below)

    forge_model(path, describe=describe)
    refuse(path, "one part in two ways")


def test_a_part_in_itself(path, forge_model):
    def describe(schema):
        schema["content"]["others"]["content"].append(a_list(7, [a_list(7, [])]))

    forge_model(path, describe=describe)
    refuse(path, "one part in two ways")


def test_one_entry_read_many_times_over(path, forge_model):
    array = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "1.npy",
    }

    def describe(schema):
        schema["content"]["others"]["content"].append(a_list(7, [{**array, "__id__": k} for k in range(8, 1000)]))

    forge_model(path, {"1.npy": array_header((400_000,)) + bytes(3_200_000)}, describe)
    refuse(path, "one entry for several parts")


def test_a_description_that_is_nested_too_deeply(path, forge_model):
    forge_model(path, {"schema.json": b"[" * 100_000 + b"]" * 100_000})
    refuse(path, "recursion|no model file|too deeply")


def test_an_entry_that_is_missing(path, forge_model):
    def describe(schema):
        schema["content"]["others"]["content"].append({"__loader__": "NdArrayNode", "file": "nowhere.npy", "__id__": 7})

    forge_model(path, describe=describe)
    refuse(path, r"nowhere\.npy is missing")


def test_entries_of_the_same_name():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("schema.json", "{}")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("schema.json", "[]")
    with pytest.raises(ModelFileError, match="same name"):
        check_archive(content.getvalue())


@pytest.mark.parametrize("shared", [np.arange(3.0), [1, 2], CARTClassifier().fit(X, y)])
def test_a_part_that_is_there_twice_is_no_bomb(shared):
    check_archive(skops.io.dumps([shared, [shared, shared]]))


def test_sparse_matrices_are_welcome(tmp_path):
    rows = scipy.sparse.csr_matrix(np.where(np.median(X, axis=0) < X, X, 0.0))
    model = KFHEClassifier(SVC(), n_estimators=2, random_state=0).fit(rows, y)
    save(model, tmp_path / "model.fuse")
    np.testing.assert_array_equal(load(tmp_path / "model.fuse").predict(rows), model.predict(rows))


def test_the_outline_names_the_same_types():
    content = skops.io.dumps(GridSearchCV(KFHEClassifier(n_estimators=3, random_state=0), {}, cv=2).fit(X, y))
    outline = check_archive(content)
    assert len(outline) < len(content)
    assert skops.io.get_untrusted_types(data=outline) == skops.io.get_untrusted_types(data=content)
    with zipfile.ZipFile(io.BytesIO(outline)) as archive:
        assert json.loads(archive.read("schema.json"))["__class__"] == "GridSearchCV"
