"""Statistics of labels by hand, from their definitions, and on published datasets."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from fuselearn.datasets import DatasetError, load_dataset
from fuselearn.multilabel import describe_labels

# Positives 4, 2, 1: IRLbl 1, 2, 4.
Y = pd.DataFrame({"a": [1, 1, 1, 1, 0, 0], "b": [0, 0, 1, 1, 0, 0], "c": [0, 0, 0, 1, 0, 0]})
labels = st.tuples(st.integers(1, 9), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 1))
)


def test_sizes_and_imbalance_by_hand():
    found = describe_labels(Y)
    assert (found.n_samples, found.n_labels, found.n_unlabeled) == (6, 3, 2)
    assert found.cardinality == pytest.approx(7 / 6)
    assert found.density == pytest.approx(7 / 18)
    assert (found.n_label_sets, found.n_single_sets) == (4, 2)  # {}, {a}, {a, b}, {a, b, c}
    assert found.label_set_fraction == pytest.approx(4 / 6)
    assert found.imbalance_ratios.tolist() == [1, 2, 4]
    assert found.mean_imbalance_ratio == pytest.approx(7 / 3)


def test_scumble_by_hand():
    found = describe_labels(Y)
    ab = 1 - np.sqrt(1 * 2) / 1.5
    abc = 1 - np.cbrt(1 * 2 * 4) / (7 / 3)
    assert found.sample_scumbles == pytest.approx([0, 0, ab, abc, 0, 0])
    assert found.scumble == pytest.approx((ab + abc) / 6)
    assert found.label_scumbles == pytest.approx([(ab + abc) / 4, (ab + abc) / 2, abc])


def test_labels_that_occur_together():
    found = describe_labels(Y)
    assert found.cooccurrence.tolist() == [[4, 2, 1], [2, 2, 1], [1, 1, 1]]
    assert found.conditional.tolist() == [[1, 0.5, 0.25], [1, 1, 0.5], [1, 1, 1]]


def test_the_table_of_labels():
    table = describe_labels(Y).to_frame()
    assert table.index.tolist() == ["a", "b", "c"]
    assert table.columns.tolist() == ["positives", "frequency", "imbalance_ratio", "scumble"]
    assert table.loc["b", ["positives", "imbalance_ratio"]].tolist() == [2, 2]
    assert describe_labels(Y.to_numpy()).to_frame().index.tolist() == [0, 1, 2]


def test_a_label_that_no_sample_has():
    found = describe_labels(Y.assign(none=0))
    assert np.isnan(found.imbalance_ratios[3])
    assert np.isnan(found.label_scumbles[3])
    assert np.isnan(found.conditional[3]).all()
    assert found.mean_imbalance_ratio == describe_labels(Y).mean_imbalance_ratio
    assert found.scumble == describe_labels(Y).scumble
    empty = describe_labels(np.zeros((3, 2)))
    assert np.isnan(empty.mean_imbalance_ratio)
    assert (empty.scumble, empty.cardinality, empty.n_label_sets) == (0, 0, 1)


@settings(max_examples=40)
@given(table=labels)
def test_against_definitions_and_for_sparse_labels(table):
    found = describe_labels(sparse.csr_matrix(table))
    assert found.n_label_sets == len({tuple(row) for row in table})
    counts = table.sum(axis=0)
    ratios = [counts.max() / count if count else np.nan for count in counts]
    assert found.imbalance_ratios == pytest.approx(ratios, nan_ok=True)
    scumbles = []
    for row in table:
        own = [ratio for ratio, has in zip(ratios, row, strict=True) if has]
        scumbles.append(1 - np.prod(own) ** (1 / len(own)) / np.mean(own) if own else 0)
    assert found.sample_scumbles == pytest.approx(scumbles, abs=1e-12)
    assert str(found) == str(describe_labels(table))


def test_wide_sparse_labels_stay_sparse():
    wide = sparse.csr_array((np.ones(3), ([0, 1, 1], [0, 5, 999_999])), shape=(2, 1_000_000))
    found = describe_labels(wide)
    assert (found.cardinality, found.n_label_sets) == (1.5, 2)


@pytest.mark.parametrize(
    ("name", "single_sets", "cardinality", "mean_ir", "scumble"),
    [("flags_ml", 24, 3.392, 2.255, 0.061), ("emotions", 4, 1.868, 1.478, 0.011), ("birds", 55, 1.503, 13.004, None)],
)
def test_published_datasets(name, single_sets, cardinality, mean_ir, scumble):
    """Table 2 of the KFHE-HOMER paper, and SCUMBLE as in the repository of mldr.datasets."""
    try:
        found = describe_labels(load_dataset(name, download=False).y)
    except (DatasetError, FileNotFoundError):
        pytest.skip("the dataset is not here")
    assert found.n_single_sets == single_sets
    assert found.cardinality == pytest.approx(cardinality, abs=0.0005)
    assert found.mean_imbalance_ratio == pytest.approx(mean_ir, abs=0.0005)
    assert scumble is None or found.scumble == pytest.approx(scumble, abs=0.0005)


def test_text_names_the_most_frequent_labels():
    text = str(describe_labels(Y[["c", "a", "b"]]))
    assert "MeanIR 2.333, SCUMBLE 0.0" in text
    assert [line.split()[0] for line in text.splitlines()[5:]] == ["a", "b", "c"]
    many = str(describe_labels(np.eye(30)))
    assert many.endswith("and 20 less frequent labels")
    assert describe_labels(Y).summary()["cardinality"] == pytest.approx(7 / 6)


@pytest.mark.parametrize("conditional", [False, True])
def test_plots(conditional):
    axes = describe_labels(Y).plot(conditional=conditional).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b", "c"]
    assert axes.texts[2].get_text() == ("0.25" if conditional else "1")
    assert axes.images[0].get_array()[1, 0] == (1.0 if conditional else 2)
    axes = describe_labels(Y[["c", "b", "a"]]).plot(max_labels=2).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["b", "a"]
    assert axes.get_title().endswith("the 2 most frequent of 3")
    assert describe_labels([[1], [0]]).plot().axes


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match="Y must hold 0 and 1 only, but it has 2"):
        describe_labels([[1, 2]])
    with pytest.raises(ValueError, match="max_labels must be at least 1"):
        describe_labels(Y).plot(max_labels=0)
