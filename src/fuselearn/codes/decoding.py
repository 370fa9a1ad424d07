"""From predicted bits back to classes: distances to the codewords, and probabilities made of them.

Three ways to measure how far a sample's predicted bits p_b are from the codeword W_c of a class:

    l1         sum_b |W_cb - p_b|,                                    the expected number of wrong bits
    hamming    the same, after rounding each p_b to 0 or 1,           the number of wrong bits
    loss       - sum_b log(p_b if W_cb is 1, else 1 - p_b),           the log loss of the bits

The class with the least distance is predicted; of equally near ones, the first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn._validation import clip_probabilities
from fuselearn.codes.codebook import CodeBook

DECODINGS = ("l1", "hamming", "loss")
# Distances are sums in an order that depends on the processor; what differs by less than this share is equal.
ROUNDING = 1e-12

Floats = npt.NDArray[np.float64]


def codeword_distances(
    bits: Floats, code: CodeBook, decoding: str = "l1", *, least_probability: float = 1e-6
) -> Floats:
    """Measure how far each sample's predicted bits are from each class's codeword.

    Parameters
    ----------
    bits : array of shape (n_samples, n_bits)
        Probabilities that each bit is 1.
    code : int8 array of shape (n_classes, n_bits)
    decoding : {"l1", "hamming", "loss"}
    least_probability : float, default=1e-6
        For ``"loss"``: neither 0 nor 1 is taken to be less likely than this. Otherwise a bit that is certain and wrong
        would rule out the right class, whatever the other bits say.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> code = np.array([[0, 0, 0], [1, 1, 1]], dtype=np.int8)
    >>> codeword_distances(np.array([[0.9, 0.2, 0.8]]), code)
    array([[1.9, 1.1]])
    >>> codeword_distances(np.array([[0.9, 0.2, 0.8]]), code, "hamming")
    array([[2., 1.]])
    """
    if decoding == "loss":
        bits = np.clip(bits, least_probability, 1.0 - least_probability)
        if_one, if_zero = -np.log(bits), -np.log1p(-bits)
    else:
        # A bit of exactly one half is half wrong for every class.
        ones = np.where(bits == 0.5, 0.5, bits > 0.5) if decoding == "hamming" else bits
        if_one, if_zero = 1.0 - ones, ones
    return if_one @ code.T + if_zero @ (1.0 - code).T


def class_probabilities(distances: Floats, n_bits: int, decoding: str = "l1") -> Floats:
    """Turn distances to the codewords into class probabilities.

    With log loss they are likelihoods under independent bits, ::

        P(c) proportional to prod_b p_b^W_cb (1 - p_b)^(1 - W_cb).

    Otherwise each bit is taken to be wrong with the same probability e, so that d wrong bits have ::

        P(c) proportional to (e / (1 - e))^d_c.

    The sample itself shows e: its nearest codeword differs in d_min bits, so e = (d_min + 1/2) / (n_bits + 1).
    Samples far from every codeword thus get even probabilities, also if the classifiers of the bits are
    over-confident, as over-fitted ones are. A single bit has no others to be compared with; there P(c) = 1 - d_c.

    Parameters
    ----------
    distances : array of shape (n_samples, n_classes)
        As ``codeword_distances`` gives them.
    n_bits : int
    decoding : {"l1", "hamming", "loss"}

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        Rows sum to one, and the nearest codeword has the largest probability.

    Examples
    --------
    >>> class_probabilities(np.array([[0.0, 2.0, 2.0], [1.0, 1.0, 1.0]]), n_bits=3).round(2)
    array([[0.96, 0.02, 0.02],
           [0.33, 0.33, 0.33]])
    """
    if decoding != "loss" and n_bits == 1:
        return clip_probabilities(1.0 - distances)
    nearest = distances.min(axis=1, keepdims=True)
    exponents = nearest - distances
    exponents[exponents >= -ROUNDING * (1.0 + nearest)] = 0.0
    if decoding != "loss":
        # Above one half, which codes with few bits can reach, the nearest codeword would be the least likely one.
        error = np.minimum((nearest + 0.5) / (n_bits + 1), n_bits / (2 * n_bits + 2))
        exponents *= np.log((1.0 - error) / error)
    likelihoods = np.exp(exponents)
    return likelihoods / likelihoods.sum(axis=1, keepdims=True)
