"""What several tests of exports need: to run an exported model, to compare it with the model, and tables."""

import numpy as np
import onnx
import onnxruntime
import pandas as pd
from sklearn.base import is_regressor

from fuselearn import to_onnx


def run(exported, feed):
    """Return the outputs of an exported model, run by onnxruntime."""
    onnx.checker.check_model(exported, full_check=True)
    return onnxruntime.InferenceSession(exported.SerializeToString()).run(None, feed)


def compare(model, samples, feed=None, *, exported=None, tolerance=1e-5, wrong=0.0):
    """Compare an exported model with the model; no more than a fraction of the labels may be wrong."""
    exported = to_onnx(model) if exported is None else exported
    outputs = run(exported, {"X": samples} if feed is None else feed)
    if is_regressor(model):
        np.testing.assert_allclose(outputs[0][:, 0], model.predict(samples), rtol=1e-12, atol=1e-12)
        return
    label, probabilities = outputs
    assert label.shape == model.predict(samples).shape
    assert (label != model.predict(samples)).mean() <= wrong
    np.testing.assert_allclose(probabilities, model.predict_proba(samples), atol=tolerance)
    assert probabilities.dtype == np.float32
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    assert len(np.unique(label)) > 1


def make_frame(n_samples, n_towns, seed, names=("size", "color", "town", "grade", "member")):
    """Make samples with numbers, categories of text and of numbers, and missing ones of each kind."""
    rng = np.random.default_rng(seed)
    colors = ["green", "red", "blau"]
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_samples),
            "color": pd.Categorical(rng.choice(colors, n_samples), categories=colors),
            "town": rng.choice([f"town {k}" for k in range(n_towns)], n_samples),
            "grade": pd.Categorical(rng.choice([1, 2, 5], n_samples)),
            "member": pd.Categorical(rng.choice([False, True], n_samples)),
        }
    )
    for name in frame:
        frame.loc[rng.random(n_samples) < 0.1, name] = None
    return frame[list(names)]


def feed_frame(frame):
    """Turn a frame into what onnxruntime takes, as docs/deploy.md says."""
    return {
        name: frame[[name]].to_numpy(float)
        if name in ("size", "grade", "member")
        else frame[[name]].astype(object).fillna("").to_numpy()
        for name in frame
    }
