import hashlib
import io
import json
import urllib.request
from email.message import Message
from urllib.response import addinfourl

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import fetch_openml as the_real_fetch_openml
from sklearn.utils import Bunch

from fuselearn.datasets import DatasetError, load_dataset
from fuselearn.datasets.registry import adapt, registry, swap_target_of_flags

RNG = np.random.default_rng(0)


@pytest.fixture
def openml(monkeypatch):
    """Answer like `fetch_openml`, with a table per number; count the requests."""
    tables, asked = {}, []

    def fetch_openml(*, data_id, **options):
        assert options["as_frame"] is True
        asked.append(data_id)
        X, y = tables[data_id]
        return Bunch(data=X, target=y)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return Bunch(tables=tables, asked=asked)


def numbers(rows, columns):
    return pd.DataFrame(RNG.normal(size=(rows, columns))).add_prefix("V")


def test_a_fetched_table_is_kept_and_comes_back_the_same(openml):
    y = pd.Series(pd.Categorical(["Rock", "Mine"] * 104), name="Class")
    openml.tables[40] = (numbers(208, 60), y)
    fetched, cached = load_dataset("sonar"), load_dataset("sonar")
    assert openml.asked == [40]
    assert fetched.source.startswith("OpenML dataset 40")
    assert cached.source.endswith("sonar.csv.gz")
    pd.testing.assert_frame_equal(fetched.X, cached.X)
    pd.testing.assert_series_equal(fetched.y, cached.y)


def test_a_table_that_disagrees_is_refused_and_not_kept(openml, tmp_path):
    openml.tables[40] = (numbers(200, 60), pd.Series(["R", "M"] * 100))
    with pytest.raises(DatasetError, match="200 samples instead of 208"):
        load_dataset("sonar")
    assert not (tmp_path / "cache").exists()


def test_any_number_can_be_loaded(openml):
    X = numbers(20, 3)
    openml.tables[61] = (X, pd.Series(["a", "b"] * 10, name="kind"))
    fetched, cached = load_dataset("openml-61"), load_dataset("openml-61")
    assert openml.asked == [61]
    assert fetched.source == "OpenML dataset 61"
    np.testing.assert_allclose(cached.X, X)
    assert cached.y.tolist() == ["a", "b"] * 10


def test_a_cache_that_cannot_be_written_only_warns(openml, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    openml.tables[40] = (numbers(208, 60), pd.Series(["R", "M"] * 104))
    with pytest.warns(UserWarning, match="could not be written to the cache"):
        assert len(load_dataset("sonar").X) == 208


WORDS = np.where((np.arange(593 * 6) < 1108).reshape(593, 6), "TRUE", "FALSE")


def test_labels_written_as_words_become_0_and_1(openml):
    openml.tables[40589] = numbers(593, 72), pd.DataFrame(WORDS, columns=list("abcdef")).astype("category")
    fetched, cached = load_dataset("emotions"), load_dataset("emotions")
    assert fetched.y.to_numpy().sum() == 1108
    pd.testing.assert_frame_equal(fetched.y, cached.y)


def test_numbers_declared_as_nominal_become_numbers():
    X = pd.DataFrame(
        {
            "Wifes_education": pd.Categorical(["1", "4", None]),
            "Husbands_occupation": pd.Categorical(["2", "3", "2"]),
            "flag": pd.Categorical(["TRUE", "FALSE", "TRUE"]),
            "text": pd.Categorical(["5", "5more", "5"]),
        }
    )
    adapted, y = adapt(registry()["cmc"], X, pd.Series(pd.Categorical(["1", "2", "1"])))
    assert adapted["Wifes_education"].tolist()[:2] == [1, 4]
    assert adapted["Husbands_occupation"].tolist() == ["c2", "c3", "c2"]
    assert adapted["flag"].tolist() == [1, 0, 1]
    assert adapted["text"].dtype == "category"
    assert y.tolist() == ["1", "2", "1"]


def test_what_donors_left_in_their_tables_goes():
    def adapted(name, X, y):
        return adapt(registry()[name], X, y)

    classes = pd.Series(["a", "b", "c"])
    flags = pd.DataFrame({"name": ["Chad", "Mali", "Peru"], "bars": [3, 3, 1]})
    assert list(adapted("flags", flags, classes)[0]) == ["bars"]
    mushroom = pd.DataFrame({"veil-type": list("ppp"), "odor": list("ana")})
    assert list(adapted("mushroom", mushroom, classes)[0]) == ["odor"]
    X, y = adapted("ilpd", pd.DataFrame({"ratio": [0.9, np.nan, 0.8]}), classes)
    assert X["ratio"].tolist() == [0.9, 0.8]
    assert y.tolist() == ["a", "c"]
    genes = pd.DataFrame({"protein": ["P1", "P2"], "PS1": pd.Categorical(["YES", "NO"])})
    X, _ = adapted("genbase", genes, pd.DataFrame({"p": ["FALSE", "TRUE"]}))
    assert X.to_dict("list") == {"PS1": [1, 0]}
    # Two spellings of the lowest class are one class.
    y = pd.Series(np.repeat(list("12345"), [102, 129, 122, 24, 26]))
    assert sorted(adapted("knowledge", numbers(403, 5), y)[1].value_counts()) == [50, 102, 122, 129]
    # Birds are the first 322 samples, with a label for none.
    X, Y = adapted("birds", numbers(645, 2), pd.DataFrame({"owl": ["TRUE"] + ["FALSE"] * 644}))
    assert X.shape == (322, 2)
    assert Y["none"].tolist() == [0] + [1] * 321


def test_the_corner_of_flags_becomes_the_target_once():
    codes = ["c3", "c1"]
    published = pd.DataFrame({"zone": codes, "landmass": codes, "language": codes, "botright": ["red", "blue"]})
    X, y = swap_target_of_flags(published, pd.Series(["hindu", "other"], name="class"))
    assert X["zone"].tolist() == [3, 1]
    assert X["religion"].tolist() == ["hindu", "other"]
    assert "botright" not in X
    assert (y.name, y.tolist()) == ("class", ["red", "blue"])
    again, same = swap_target_of_flags(X, y)
    assert again is X
    assert same is y


class FakeServer(urllib.request.HTTPSHandler):
    """Answer OpenML's four requests for one multi-label table, without a socket."""

    def __init__(self, number, name, features, labels, rows):
        super().__init__()
        attributes = [*(f"{feature} REAL" for feature in features), *(f"{label} {{FALSE, TRUE}}" for label in labels)]
        lines = [f"@RELATION {name}", *(f"@ATTRIBUTE {each}" for each in attributes), "@DATA"]
        data = "\n".join([*lines, *(",".join(map(str, row)) for row in rows), ""])
        described = [
            {
                **{"index": str(index), "name": column, "data_type": "nominal" if column in labels else "numeric"},
                **{"is_target": str(column in labels).lower(), "is_ignore": "false", "is_row_identifier": "false"},
                "number_of_missing_values": "0",
            }
            for index, column in enumerate([*features, *labels])
        ]
        about = {
            **{"id": str(number), "name": name, "version": "3", "description": "A test.", "format": "ARFF"},
            **{"status": "active", "file_id": "99", "url": "https://openml.org/data/v1/download/99/x.arff"},
            **{"default_target_attribute": ",".join(labels), "md5_checksum": hashlib.md5(data.encode()).hexdigest()},
        }
        api = "/api/v1/json/data"
        self.answers = {
            f"{api}/{number}": json.dumps({"data_set_description": about}),
            f"{api}/features/{number}": json.dumps({"data_features": {"feature": described}}),
            f"{api}/qualities/{number}": json.dumps({"data_qualities": {"quality": []}}),
            "/data/v1/download/99": data,  # what older versions of scikit-learn ask for
            "/data/v1/download/99/x.arff": data,
        }

    def https_open(self, request):
        body = self.answers[request.selector.removesuffix("/")]
        response = addinfourl(io.BytesIO(body.encode()), Message(), request.full_url, 200)
        response.msg = "OK"
        return response


def test_scikit_learn_really_parses_what_openml_sends(monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", the_real_fetch_openml)
    features = np.round(RNG.normal(size=(593, 72)), 3)
    rows = [[*left, *right] for left, right in zip(features, WORDS, strict=True)]
    server = FakeServer(40589, "emotions", [f"f{i}" for i in range(72)], [f"l{i}" for i in range(6)], rows)
    urllib.request.install_opener(urllib.request.build_opener(server))
    try:
        X, Y = load_dataset("emotions")
    finally:
        urllib.request.install_opener(None)
    assert (X.to_numpy() == features).all()
    assert (Y.to_numpy() == (WORDS == "TRUE")).all()
