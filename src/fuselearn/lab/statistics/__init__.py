"""Statistics for comparing methods over datasets, or over the folds of one.

A *score table* has one row per dataset and one column per method: a DataFrame, whose index and columns name them, or
any two-dimensional array, whose datasets and methods are then numbered from 0. Higher scores are better unless
``higher_is_better=False``. `score_table` makes one from tidy results, as :func:`fuselearn.lab.summarize` returns them.

- `mid_ranks` ranks the methods on each dataset, `aligned_ranks` on all together; `average_ranks`, `bootstrap_ranks`
  and `win_tie_loss` summarize.
- `friedman_test` and `aligned_test` test whether any method differs from the others; `friedman_posthoc` and
  `aligned_posthoc` which ones do. `finner` corrects p-values for multiple comparisons, and `indistinct_groups` lists
  the bars of a critical-difference diagram (:func:`fuselearn.lab.figures.critical_difference`).
- `wilcoxon_test` compares two methods over datasets, `resampled_t_test` over the folds of one dataset.
"""

from fuselearn.lab.statistics.ranks import (
    WinTieLoss,
    aligned_ranks,
    average_ranks,
    bootstrap_ranks,
    mid_ranks,
    score_table,
    win_tie_loss,
)
from fuselearn.lab.statistics.significance import (
    OmnibusTest,
    PostHoc,
    ResampledTTest,
    WilcoxonTest,
    aligned_posthoc,
    aligned_test,
    finner,
    friedman_posthoc,
    friedman_test,
    indistinct_groups,
    resampled_t_test,
    wilcoxon_test,
)

__all__ = [
    "OmnibusTest",
    "PostHoc",
    "ResampledTTest",
    "WilcoxonTest",
    "WinTieLoss",
    "aligned_posthoc",
    "aligned_ranks",
    "aligned_test",
    "average_ranks",
    "bootstrap_ranks",
    "finner",
    "friedman_posthoc",
    "friedman_test",
    "indistinct_groups",
    "mid_ranks",
    "resampled_t_test",
    "score_table",
    "wilcoxon_test",
    "win_tie_loss",
]
