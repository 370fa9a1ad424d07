"""Ensembles that train for long print how far they are, if asked to."""

import pytest

from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import (
    EnsembleHOMERClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    EnsembleOfPrunedSetsClassifier,
    FusedMultilabelClassifier,
    KFHEHOMERClassifier,
    KFHEMultilabelClassifier,
    PCTForestClassifier,
)

X, Y = make_digit_pairs(60, random_state=0)
FILTERED = (KFHEHOMERClassifier, KFHEMultilabelClassifier)
ENSEMBLES = (
    *FILTERED,
    EnsembleHOMERClassifier,
    EnsembleOfChainsClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfPrunedSetsClassifier,
)


@pytest.mark.parametrize("make", ENSEMBLES)
def test_verbose_prints_lines(make, capsys):
    base = PCTForestClassifier(1, max_depth=2) if make is KFHEMultilabelClassifier else "tree"
    for verbose, n_lines in ((0, 0), (1, 10), (2, 20)):
        make(base, 20, verbose=verbose, random_state=0).fit(X, Y)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == n_lines
    assert lines[-1].startswith(f"[{make.__name__}] 20 of 20 members")
    assert lines[-1].endswith(" s.")
    assert lines[0].endswith("left.")
    assert ("gain" in lines[0]) == (make in FILTERED)


def test_a_line_for_each_member_of_the_fused_classifier(capsys):
    members = [("one", PCTForestClassifier(5)), ("two", PCTForestClassifier(5, splitter="random"))]
    FusedMultilabelClassifier(members, verbose=1, random_state=0).fit(X, Y)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("[FusedMultilabelClassifier] 1 of 2 members; ")
    assert first.endswith("left.")
    assert second.startswith("[FusedMultilabelClassifier] 2 of 2 members; ")
