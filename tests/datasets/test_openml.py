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
from fuselearn.datasets.openml import adapt
from fuselearn.datasets.registry import registry

RNG = np.random.default_rng(0)


@pytest.fixture
def openml(monkeypatch):
    """Answer like `fetch_openml`, with a table per number; count the requests."""
    tables, asked = {}, []

    def fetch_openml(*, data_id, **options):
        assert options["as_frame"] is True
        asked.append(data_id)
        name, X, y = tables[data_id]
        return Bunch(data=X, target=y, details={"name": name})

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return Bunch(tables=tables, asked=asked)


def numbers(rows, columns):
    return pd.DataFrame(RNG.normal(size=(rows, columns))).add_prefix("V")


def test_a_fetched_table_is_kept_and_comes_back_the_same(openml):
    y = pd.Series(pd.Categorical(["Rock", "Mine"] * 104), name="Class")
    openml.tables[40] = ("sonar", numbers(208, 60), y)
    fetched, cached = load_dataset("sonar"), load_dataset("sonar")
    assert openml.asked == [40]
    assert fetched.source.startswith("OpenML dataset 40")
    assert cached.source.endswith("sonar.csv.gz")
    pd.testing.assert_frame_equal(fetched.X, cached.X)
    pd.testing.assert_series_equal(fetched.y, cached.y)


def test_a_table_that_disagrees_is_refused_and_not_kept(openml, tmp_path):
    openml.tables[40] = ("sonar", numbers(200, 60), pd.Series(["R", "M"] * 100))
    with pytest.raises(DatasetError, match="it has 200 samples"):
        load_dataset("sonar")
    assert not (tmp_path / "cache").exists()


def test_another_dataset_under_the_number_is_refused(openml):
    openml.tables[40] = ("sonnet", numbers(208, 60), pd.Series(["R", "M"] * 104))
    with pytest.raises(DatasetError, match="is a dataset called 'sonnet'"):
        load_dataset("sonar")


def test_any_number_can_be_loaded(openml):
    X = numbers(20, 3)
    openml.tables[61] = ("whatever", X, pd.Series(["a", "b"] * 10, name="kind"))
    fetched, cached = load_dataset("openml-61"), load_dataset("openml-61")
    assert openml.asked == [61]
    assert fetched.source == "OpenML dataset 61"
    np.testing.assert_allclose(cached.X, X)
    assert cached.y.tolist() == ["a", "b"] * 10


def test_a_number_must_be_one(openml):
    for name in ("openml-", "openml-6a", "openml--6", "openml-²"):
        with pytest.raises(DatasetError, match="Unknown dataset"):
            load_dataset(name)


def test_a_number_without_a_network_says_what_to_do():
    with pytest.raises(DatasetError, match=r"Put openml-61.csv.gz \('class' last\) into the subfolder multiclass/"):
        load_dataset("openml-61", download=False)


def test_a_cache_that_cannot_be_written_only_warns(openml, tmp_path):
    (tmp_path / "cache").write_text("a file, not a folder")
    openml.tables[40] = ("sonar", numbers(208, 60), pd.Series(["R", "M"] * 104))
    with pytest.warns(UserWarning, match="could not be written to the cache"):
        assert len(load_dataset("sonar").X) == 208


def test_labels_written_as_words_become_0_and_1(openml):
    ones = np.zeros(593 * 6, dtype=bool)
    ones[:1108] = True
    words = np.where(ones.reshape(593, 6), "TRUE", "FALSE")
    Y = pd.DataFrame(words, columns=list("abcdef")).astype("category")
    openml.tables[40589] = ("emotions", numbers(593, 72), Y)
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


def test_row_names_and_constant_columns_go():
    flags = pd.DataFrame({"name": ["Chad", "Mali"], "bars": [3, 3]})
    assert list(adapt(registry()["flags"], flags, pd.Series(["a", "b"]))[0]) == ["bars"]
    mushroom = pd.DataFrame({"veil-type": ["p", "p"], "odor": ["a", "n"]})
    assert list(adapt(registry()["mushroom"], mushroom, pd.Series(["e", "p"]))[0]) == ["odor"]


def test_rows_with_missing_ratios_go():
    X = pd.DataFrame({"ratio": [0.9, np.nan, 0.8]})
    adapted, y = adapt(registry()["ilpd"], X, pd.Series(["1", "2", "3"]))
    assert adapted["ratio"].tolist() == [0.9, 0.8]
    assert y.tolist() == ["1", "3"]


def test_the_two_spellings_of_the_lowest_class_are_joined():
    sizes = {"1": 102, "2": 129, "3": 122, "4": 24, "5": 26}
    y = pd.Series([name for name, size in sizes.items() for _ in range(size)])
    _, joined = adapt(registry()["knowledge"], numbers(403, 5), y)
    assert sorted(joined.value_counts()) == [50, 102, 122, 129]


def test_birds_are_the_first_322_rows_with_a_label_for_none():
    Y = pd.DataFrame({"owl": ["TRUE"] + ["FALSE"] * 644})
    X, Y = adapt(registry()["birds"], numbers(645, 2), Y)
    assert X.shape == (322, 2)
    assert Y["none"].tolist() == [0] + [1] * 321


def test_yes_and_no_are_numbers_in_genbase():
    X = pd.DataFrame({"protein": ["P1", "P2"], "PS1": pd.Categorical(["YES", "NO"])})
    X, _ = adapt(registry()["genbase"], X, pd.DataFrame({"p": ["FALSE", "TRUE"]}))
    assert X.to_dict("list") == {"PS1": [1, 0]}


class FakeServer(urllib.request.HTTPSHandler):
    """Answer OpenML's four requests for one multi-label table, without a socket."""

    def __init__(self, number, name, features, labels, rows):
        super().__init__()
        arff = [f"@RELATION {name}"]
        arff += [f"@ATTRIBUTE {feature} REAL" for feature in features]
        arff += [f"@ATTRIBUTE {label} {{FALSE, TRUE}}" for label in labels]
        arff += ["@DATA", *(",".join(map(str, row)) for row in rows)]
        data = "\n".join(arff) + "\n"
        described = [
            {
                "index": str(index),
                "name": column,
                "data_type": "nominal" if column in labels else "numeric",
                "is_target": str(column in labels).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for index, column in enumerate([*features, *labels])
        ]
        about = {
            "id": str(number),
            "name": name,
            "version": "3",
            "description": "A test.",
            "format": "ARFF",
            "status": "active",
            "file_id": "99",
            "url": "https://openml.org/data/v1/download/99/x.arff",
            "default_target_attribute": ",".join(labels),
            "md5_checksum": hashlib.md5(data.encode()).hexdigest(),
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
        path = request.selector.removesuffix("/")
        body = self.answers.get(path)
        assert body is not None, f"an unexpected request: {path}"
        response = addinfourl(io.BytesIO(body.encode()), Message(), request.full_url, 200)
        response.msg = "OK"
        return response


def test_scikit_learn_really_parses_what_openml_sends(monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", the_real_fetch_openml)
    ones = np.zeros(593 * 6, dtype=bool)
    ones[:1108] = True
    words = np.where(ones.reshape(593, 6), "TRUE", "FALSE")
    features = np.round(RNG.normal(size=(593, 72)), 3)
    rows = [[*left, *right] for left, right in zip(features, words, strict=True)]
    server = FakeServer(40589, "emotions", [f"f{i}" for i in range(72)], [f"l{i}" for i in range(6)], rows)
    urllib.request.install_opener(urllib.request.build_opener(server))
    try:
        X, Y = load_dataset("emotions")
    finally:
        urllib.request.install_opener(None)
    assert (X.to_numpy() == features).all()
    assert (Y.to_numpy() == ones.reshape(593, 6)).all()
