"""Make the figures of docs/ensembles.md: python docs/figures/ensembles.py."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.ensemble import AdaBoostRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from fuselearn import BaggedRegressor, FixedRuleClassifier
from fuselearn.combine import AveragingRegressor
from fuselearn.diagnosis import compare_bias_variance

HERE = Path(__file__).parent
DEPTHS = (1, 2, 3, 4, 6, 8)


def draw_and_rule() -> Figure:
    """Draw two half planes and their AND."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 2))
    members = [
        (name, LogisticRegression().fit(X[:, [f]], X[:, f] > 0), [f]) for f, name in enumerate(("right", "upper"))
    ]
    both = FixedRuleClassifier(members, rule="and", positive_class=True, prefit=True).fit(X)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 200)] * 2), axis=-1).reshape(-1, 2)
    areas = {
        "x > 0": members[0][1].predict(grid[:, [0]]),
        "y > 0": members[1][1].predict(grid[:, [1]]),
        "both: AND": both.predict(grid),
    }
    figure = Figure(figsize=(8, 2.9), layout="constrained")
    wanted = (X > 0).all(axis=1)
    for axes, (title, area) in zip(figure.subplots(1, 3), areas.items(), strict=True):
        axes.contourf(*grid.T.reshape(2, 200, 200), area.reshape(200, 200), levels=1, colors=["#f4f4f4", "#cfe3f5"])
        axes.scatter(*X[wanted].T, s=12, color="#1b5e9e", label="corner")
        axes.scatter(*X[~wanted].T, s=12, color="#c0562f", marker="x", label="rest")
        axes.set(title=title, xticks=[], yticks=[])
    return figure


def draw_averaging() -> Figure:
    """Draw two overfitted regressors and their mean."""
    rng = np.random.default_rng(1)
    x = np.linspace(0, 6, 400)[:, None]
    trees = []
    for _ in range(2):
        sample = rng.uniform(0, 6, 60)
        target = np.sin(sample) + rng.normal(scale=0.4, size=60)
        trees.append(DecisionTreeRegressor().fit(sample[:, None], target))
    mean = AveragingRegressor([("one", trees[0]), ("two", trees[1])], prefit=True).fit(x)
    figure = Figure(figsize=(8, 2.9), layout="constrained")
    titles = ("one", "the other", "their mean")
    for axes, title, model in zip(figure.subplots(1, 3, sharey=True), titles, (*trees, mean), strict=True):
        error = np.mean((model.predict(x) - np.sin(x[:, 0])) ** 2)
        axes.plot(x, np.sin(x), color="#999999")
        axes.plot(x, model.predict(x), color="#1b5e9e", linewidth=1)
        axes.set(title=f"{title}: error {error:.2f}", xticks=[])
    return figure


def draw_bias_variance() -> Figure:
    """Draw bias and variance of trees, of bagging and of boosting against depth."""

    def wave(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(0, 6, 80)
        return x[:, None], np.sin(2 * x) + rng.normal(scale=0.4, size=80)

    X, y = wave(np.random.default_rng(1))
    settings = {"sampling": wave, "y_true": np.sin(2 * X[:, 0]), "n_rounds": 40, "random_state": 0, "label": "depth"}
    families = {
        "one tree": lambda depth: DecisionTreeRegressor(max_depth=depth),
        "bagging": lambda depth: BaggedRegressor(DecisionTreeRegressor(max_depth=depth), n_estimators=25),
        "boosting": lambda depth: AdaBoostRegressor(DecisionTreeRegressor(max_depth=depth), n_estimators=25),
    }
    figure = Figure(figsize=(8, 2.9), layout="constrained")
    for axes, (title, make) in zip(figure.subplots(1, 3, sharey=True), families.items(), strict=True):
        compared = compare_bias_variance([(depth, make(depth)) for depth in DEPTHS], X, y, **settings)
        axes.plot(DEPTHS, compared["bias"], color="#c0562f", marker="o", label="bias²")
        axes.plot(DEPTHS, compared["variance_effect"], color="#1b5e9e", marker="s", label="variance")
        axes.set(title=title, xlabel="depth", ylim=(0, None))
    figure.axes[0].legend(frameon=False)
    return figure


FIGURES = {"and_rule": draw_and_rule, "averaging": draw_averaging, "bias_variance": draw_bias_variance}


if __name__ == "__main__":
    for name, draw in FIGURES.items():
        draw().savefig(HERE / f"{name}.svg", metadata={"Date": None})
        print(HERE / f"{name}.svg")
