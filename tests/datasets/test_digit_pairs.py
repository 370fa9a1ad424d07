import numpy as np
import pytest
from sklearn.datasets import load_digits

from fuselearn.datasets import make_digit_pairs

DIGITS = load_digits()
KNOWN = {image.tobytes(): target for image, target in zip(DIGITS.images, DIGITS.target, strict=True)}


def test_both_halves_are_real_digits_and_the_labels_name_them():
    X, Y = make_digit_pairs(300, random_state=3)
    assert [*X.columns[[0, -1]], *Y.columns[[0, -1]]] == ["pixel_0_0", "pixel_7_15", "digit_0", "digit_9"]
    pictures = X.to_numpy().reshape(300, 8, 16)
    for picture, labels in zip(pictures, Y.to_numpy(), strict=True):
        shown = {KNOWN[np.ascontiguousarray(half).tobytes()] for half in np.split(picture, 2, axis=1)}
        assert set(np.flatnonzero(labels)) == shown
    assert (Y.sum(axis=1) == 1).any()


def test_overlaid_pixels_are_the_darker_of_the_two():
    side, Y = make_digit_pairs(50, "side_by_side", random_state=5)
    over, same_labels = make_digit_pairs(50, "overlaid", random_state=5)
    left, right = np.split(side.to_numpy().reshape(50, 8, 16), 2, axis=2)
    assert (over.to_numpy() == np.maximum(left, right).reshape(50, 64)).all()
    assert Y.equals(same_labels)


def test_the_seed_decides():
    first, again, other = (make_digit_pairs(20, random_state=seed).X for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_bad_arguments_get_a_sentence():
    for arguments, sentence in (((0,), "n_samples must be at least 1"), ((5, "stacked"), "layout must be")):
        with pytest.raises(ValueError, match=sentence):
            make_digit_pairs(*arguments)
