"""Consensus clustering finds what its members cannot, and says how sure it is."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fuselearn.combine import ConsensusClustering
from fuselearn.combine import clustering as module
from fuselearn.combine.clustering import _measure_stability, measure_distances

BLOBS, TRUTH = make_blobs(120, centers=3, cluster_std=0.6, random_state=1)


def brute_force(members):
    n_samples = len(members)
    shares = np.eye(n_samples)
    for i in range(n_samples):
        for j in range(n_samples):
            both = (members[i] != -1) & (members[j] != -1)
            together = (members[i] == members[j]) & (members[i] >= 0)
            if i != j:
                shares[i, j] = together.sum() / both.sum() if both.any() else 0.0
    return shares


tables = st.integers(0, 2**31).map(
    lambda seed: np.random.default_rng(seed).integers(-2, 3, size=(seed % 9 + 2, seed % 5 + 1)).astype(np.int32)
)


@given(tables, st.integers(1, 3))
def test_shares_by_counting_pairs(members, n_threads):
    shares = 1.0 - squareform(measure_distances(members, n_threads))
    np.testing.assert_allclose(shares, brute_force(members), atol=1e-12)


@given(tables)
def test_stability_is_the_mean_share_within_the_cluster(members):
    """Weighed by how many members have drawn both samples."""
    labels = np.arange(len(members)) % 2
    stability = _measure_stability(members, labels)
    for i in range(len(members)):
        others = [j for j in range(len(members)) if j != i and labels[j] == labels[i]]
        both = sum(((members[i] != -1) & (members[j] != -1)).sum() for j in others)
        together = sum(((members[i] == members[j]) & (members[i] >= 0)).sum() for j in others)
        assert stability[i] == pytest.approx(together / both if both else 1.0)


def test_lifetimes_and_clusters_by_hand():
    """Three clusterings of five samples: {0, 1} and {2, 3, 4} in all of them, but for one that splits off sample 4."""
    members = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0], [1, 2, 0]], dtype=np.int32)
    model = ConsensusClustering(method="single")
    model.members_ = members
    labels = model._divide_hierarchy(0)
    factors = [(2 / 3 + 0.005) / 0.005, 1.005 / (2 / 3 + 0.005), 1, 1]
    assert model.lifetimes_.tolist() == pytest.approx(np.log(factors))
    assert adjusted_rand_score(labels, [0, 0, 1, 1, 1]) == 1.0


@pytest.mark.parametrize("method", ["average", "single"])
@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_linkage_is_that_of_scipy(method, n_clusters):
    model = ConsensusClustering(n_clusters=n_clusters, method=method, random_state=0).fit(BLOBS)
    tree = linkage(squareform(1.0 - model.co_association(), checks=False), method)
    assert adjusted_rand_score(model.labels_, fcluster(tree, n_clusters, "maxclust")) == 1.0
    np.testing.assert_allclose(model.co_association(), brute_force(model.members_), atol=1e-12)


@pytest.mark.parametrize("method", ["average", "single", "spectral"])
def test_the_number_of_blobs_is_found(method):
    model = ConsensusClustering(method=method, random_state=0).fit(BLOBS)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_, TRUTH) == 1.0
    assert (model.stability_ > 0.2).all()
    assert model.labels_[0] == 0


@pytest.mark.parametrize("shape", ["moons", "circles"])
def test_shapes_that_k_means_cannot_find(shape):
    if shape == "moons":
        X, y = make_moons(300, noise=0.05, random_state=0)
    else:
        X, y = make_circles(400, factor=0.4, noise=0.04, random_state=0)
    assert adjusted_rand_score(KMeans(2, n_init=10, random_state=0).fit_predict(X), y) < 0.3
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(model.labels_, y) > 0.98


def test_several_clusterers_take_turns():
    pairs = [("means", KMeans(3)), ("tree", AgglomerativeClustering(3)), ("density", DBSCAN(0.5))]
    model = ConsensusClustering(pairs, n_estimators=7, random_state=0).fit(BLOBS)
    assert model.member_names_ == ["means", "tree", "density"] * 2 + ["means"]
    assert adjusted_rand_score(model.labels_, TRUTH) > 0.95
    assert (model.members_ == -2).any(), "DBSCAN has noise"
    agreement = model.agreement()
    assert agreement["clusterer"].tolist() == model.member_names_
    assert agreement.loc[0, "adjusted_rand"] == pytest.approx(1.0, abs=0.05)
    assert agreement.loc[0, "n_clusters"] == 3
    assert ((model.members_ == -1).sum(axis=0) == 24).all(), "a fifth is not drawn"


def test_frames_reach_pipelines():
    frame = pd.DataFrame({"colour": list("rrrrggggbbbb") * 3})
    pipeline = make_pipeline(OneHotEncoder(), KMeans(3, n_init=3))
    model = ConsensusClustering(pipeline, n_estimators=5, random_state=0).fit(frame)
    assert adjusted_rand_score(model.labels_, frame["colour"]) == 1.0
    assert model.feature_names_in_.tolist() == ["colour"]


def test_the_figure_shows_shares_and_lifetimes():
    figure = ConsensusClustering(n_estimators=10, random_state=0).fit(BLOBS).plot_stability()
    left, right = figure.axes[:2]
    assert left.images[0].get_array().shape == (120, 120)
    assert len(left.lines) == 4, "two borders between three clusters, both ways"
    assert right.get_title() == "3 clusters"


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"estimators": "k-means"}, TypeError, "must be a clusterer with fit_predict"),
        ({"estimators": [KMeans()]}, ValueError, r"must be a list of \(name, estimator\)"),
        ({"estimators": [("scaler", OneHotEncoder())]}, TypeError, "'scaler' must be a clusterer with fit_predict"),
        ({"n_clusters": 121}, ValueError, "n_clusters=121 is more than the number of samples, 120"),
        ({"max_samples": 1.5}, ValueError, "max_samples as a fraction must be above 0 and at most 1"),
    ],
)
def test_wrong_parameters_are_refused(parameters, error, sentence):
    with pytest.raises(error, match=sentence):
        ConsensusClustering(**parameters).fit(BLOBS)


def test_too_many_samples_for_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_SAMPLES", 100)
    with pytest.raises(ValueError, match='use method="spectral", or at most 100 samples'):
        ConsensusClustering().fit(BLOBS)
    model = ConsensusClustering(method="spectral", random_state=0).fit(BLOBS)
    assert model.n_clusters_ == 3
