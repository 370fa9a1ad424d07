"""The page of an audit shows the suspects, their features, and trusted samples near them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fuselearn.diagnosis import LabelAudit
from fuselearn.diagnosis.label_audit import find_trusted_neighbors
from fuselearn.lab import audit_page
from fuselearn.lab.audit_page import render_audit

X = pd.DataFrame(
    {"size": [1.0, 1.25, np.nan, 9.0, 9.5, 9.25], "colour": pd.Categorical(["red", "red", None, "blue", "blue", "red"])}
)
Y = pd.Series(["small", "small", "small", "large", "large", "small"])


def make_audit(n_wrong=1):
    rows = pd.DataFrame(
        {
            "given": Y,
            "suggested": np.where(Y == "small", "large", "small"),
            "probability": [0.9, 0.8, 0.7, 1.0, 0.95, 0.001],
            "suggested_probability": [0.1, 0.2, 0.3, 0.0, 0.05, 0.999],
        }
    ).sort_values("probability")
    rows["suspect"] = np.arange(6) < n_wrong
    rows["confidence"] = 0.75
    classes = ["large", "small"]
    noise = pd.DataFrame([[2 / 3, 1 / 3], [0.0, 1.0]], index=classes, columns=classes)
    return LabelAudit(rows, n_wrong, noise, pd.DataFrame(), make_predictability(classes), rows.index.to_numpy())


def make_predictability(names, predictable=True):
    skill = 0.5 if predictable else -0.1
    columns = {"samples": 3, "skill": skill, "predictable": predictable, "contradicted": 2, "suspects": 1}
    return pd.DataFrame(columns, index=names)


def render(audit=None, table=X):
    names = [f"row {k + 1}" for k in range(6)]
    return render_audit(audit or make_audit(), table, Y, title="a<b.csv", names=names, command="fuselearn audit a")


def test_a_suspect_stands_beside_its_nearest_trusted_samples():
    page = render()
    card = page[page.index('<article class="card">') :]
    assert "1. row 6" in card
    assert 'labeled <span class="given">small</span>, probability &lt;1\xa0%' in card
    assert 'suggested <span class="suggested">large</span>, probability &gt;99\xa0%, confidence 75\xa0%' in card
    neighbors = find_trusted_neighbors(X, np.arange(6) == 5, np.array([5]))
    assert set(neighbors[0].tolist()) == {3, 4, 2}
    for place in neighbors[0]:
        assert f'<th scope="col">row {place + 1}</th>' in card
    assert '<th scope="row">size</th><td>9.25</td>' in card
    assert "<td>–</td>" in card, "a missing value"


def test_the_page_names_what_was_audited_and_which_class_is_taken_for_which():
    page = render()
    assert "<title>Label audit of a&lt;b.csv – fuselearn</title>" in page
    assert "<h1>About 1 of 6 labels (16.7%) are likely to be wrong</h1>" in page
    assert '<td class="wrong" style="--s:0.333">33\xa0%</td>' in page
    assert "fuselearn audit a" in page


def test_doubts_are_counted_for_each_pair_of_labels():
    page = render(make_audit(3))
    assert '<tr><th scope="row">small</th><td>large</td><td>3</td><td>75\xa0%</td></tr>' in page
    assert "Which labels are doubted" not in render(make_audit(0))


def test_nothing_is_fetched_and_dark_mode_is_known():
    page = render()
    assert "http" not in page
    assert "src=" not in page
    assert "prefers-color-scheme: dark" in page


def test_without_suspects():
    page = render(make_audit(0))
    assert "<h1>About 0 of 6 labels (0.0%) are likely to be wrong</h1>" in page
    assert "<article" not in page


def test_classes_that_cannot_be_predicted_are_said():
    audit = make_audit(0)
    nothing = replace(audit, predictability=make_predictability(["large", "small"], predictable=False))
    page = render(nothing)
    assert "<h1>Nothing can be said about the labels" in page
    assert '<tr><th scope="row">small</th><td>3</td><td>-0.100</td><td>no</td><td>2</td><td>1</td></tr>' in page
    assert '<tr><th scope="row">small</th><td>3</td><td>0.500</td><td>yes</td><td>2</td><td>1</td></tr>' in render(
        audit
    )


def test_long_lists_and_wide_tables_are_cut_with_a_note(monkeypatch):
    monkeypatch.setattr(audit_page, "MOST_SUSPECTS", 1)
    monkeypatch.setattr(audit_page, "MOST_FEATURES", 1)
    page = render(make_audit(3))
    assert page.count("<article") == 1
    assert "The first 1 of 3 suspects are shown." in page
    assert "1 more features are not shown." in page
    assert "colour" not in page


def test_neighbors_are_never_suspects_and_may_be_few():
    found = find_trusted_neighbors(X, np.array([True, True, True, True, False, True]), np.array([0, 5]))
    assert found.tolist() == [[4], [4]]


@pytest.mark.parametrize("n_classes", [20, 21])
def test_a_large_noise_matrix_is_left_out(n_classes):
    audit = make_audit()
    noise = pd.DataFrame(np.eye(n_classes))
    page = render(replace(audit, noise_matrix=noise, predictability=make_predictability(noise.index)))
    assert ("Estimated label noise between classes" in page) == (n_classes == 20)


def test_each_of_several_labels_is_trusted_on_its_own():
    labels = pd.DataFrame({"red": [1, 1, 0, 0, 0, 0], "big": [0, 0, 0, 1, 1, 0]})
    rows = pd.DataFrame(
        [
            (5, "big", 0, 1, 0.1, 0.9, True),
            (4, "red", 0, 1, 0.2, 0.8, True),
            *((k, "red", labels["red"][k], 1 - labels["red"][k], 0.9, 0.1, False) for k in (0, 1, 2, 3, 5)),
            *((k, "big", labels["big"][k], 1 - labels["big"][k], 0.9, 0.1, False) for k in range(5)),
        ],
        columns=["place", "label", "given", "suggested", "probability", "suggested_probability", "suspect"],
    ).set_index("place")
    rows["confidence"] = 0.75
    predictability = make_predictability(["red", "big"])
    audit = LabelAudit(rows, 2, pd.DataFrame(), pd.DataFrame(np.zeros((6, 2))), predictability, np.arange(12))
    names = [f"row {k + 1}" for k in range(6)]
    page = render_audit(audit, X, labels, title="songs", names=names, command="c")
    first, second = page.split('<article class="card">')[1:]
    assert "1. row 6" in first
    assert "<p>label <b>big</b></p>" in first
    assert '<th scope="col">row 5</th>' in first, "trusted for this label"
    assert '<tr><th scope="row">big</th><td class="given">0</td><td class="suggested">1</td>' in first
    assert "2. row 5" in second
    assert '<th scope="col">row 6</th>' in second
    assert '<tr><th scope="row">big</th><td>3</td><td>0.500</td><td>yes</td><td>2</td><td>1</td></tr>' in page
    assert "<dt>labels</dt><dd>2</dd>" in page
