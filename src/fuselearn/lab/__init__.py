"""The lab: compare ensembles the way the research papers do.

- `ranks`: a table of scores turned into ranks, counts of wins and intervals of mean ranks.
- `statistics`: the tests that say whether a difference of ranks is real.
- `figures`: the papers' figures, drawn from tidy tables of results.
- `styles`: one colour and marker per method, the same in every figure.
- `published`: the scores and p-values that the papers print.
"""
