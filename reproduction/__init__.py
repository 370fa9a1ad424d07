"""The experiments of the papers, and the pages that compare them with the printed tables.

``python -m reproduction kfhe`` runs the experiments of the KFHE paper; ``python -m reproduction --help`` lists the
others. They use what everybody can use: datasets by name, and the public interface of `fuselearn.lab`.

- `methods`: the methods of the experiments under the papers' names; `baselines`: classifiers of other packages.
- `experiments`: which methods are compared on which data.
- `kfhe`, `homer`, `robust`: the page of each experiment; `pages`: what they share.
- `published`: the numbers printed in the papers.
"""
