from collections.abc import Sequence
from typing import Any

import numpy
import numpy.dtypes
import numpy.typing

def draw_uniforms(seed: int, first: int, n_numbers: int) -> numpy.typing.NDArray[numpy.float64]: ...
def draw_counts(
    seed: int, weights: numpy.typing.NDArray[numpy.float64], n_draws: int
) -> numpy.typing.NDArray[numpy.int32]: ...
def draw_covering_counts(
    seed: int,
    weights: numpy.typing.NDArray[numpy.float64],
    n_draws: int,
    classes: numpy.typing.NDArray[numpy.int32],
    n_classes: int,
    max_tries: int,
) -> numpy.typing.NDArray[numpy.int32]: ...
def draw_poisson_counts(
    seed: int, rates: numpy.typing.NDArray[numpy.float64], first: int, n_tries: int
) -> numpy.typing.NDArray[numpy.int32]: ...
def draw_covering_poisson_counts(
    seed: int,
    rates: numpy.typing.NDArray[numpy.float64],
    classes: numpy.typing.NDArray[numpy.int32],
    n_classes: int,
    max_tries: int,
) -> numpy.typing.NDArray[numpy.int32]: ...
def sum_units(values: numpy.typing.NDArray[numpy.float64]) -> int: ...
def exact_sum(values: numpy.typing.NDArray[numpy.float64]) -> float: ...
def pull(
    state: numpy.typing.NDArray[numpy.float64], measurement: numpy.typing.NDArray[numpy.float64], gain: float
) -> None: ...
def pull_halfway(
    state: numpy.typing.NDArray[numpy.float64], votes: numpy.typing.NDArray[numpy.int32], gain: float
) -> None: ...
def compare_votes(
    estimate: numpy.typing.NDArray[numpy.float64],
    votes: numpy.typing.NDArray[numpy.int32],
    truth: numpy.typing.NDArray[numpy.int32],
    fractions: numpy.typing.NDArray[numpy.float64],
    is_exact: bool,
) -> tuple[numpy.typing.NDArray[numpy.bool_], tuple[float, float, float]]: ...
def compare_votes_in_units(
    estimate: numpy.typing.NDArray[numpy.float64],
    votes: numpy.typing.NDArray[numpy.int32],
    truth: numpy.typing.NDArray[numpy.int32],
    fractions: numpy.typing.NDArray[numpy.float64],
) -> tuple[numpy.typing.NDArray[numpy.bool_], tuple[int, int, int]]: ...
def measure_weights(
    weights: numpy.typing.NDArray[numpy.float64],
    loss: object,
    first_weights: numpy.typing.NDArray[numpy.float64],
    n_samples: float,
    weighting: int,
) -> numpy.typing.NDArray[numpy.float64]: ...
def update_weights(
    weights: numpy.typing.NDArray[numpy.float64],
    loss: object,
    first_weights: numpy.typing.NDArray[numpy.float64],
    gain: float,
    weighting: int,
    is_exact: bool = False,
) -> None: ...
def sum_leads(
    scores: object, weights: numpy.typing.NDArray[numpy.float64]
) -> tuple[numpy.typing.NDArray[numpy.float64], int]: ...
def average_logarithms(
    values: numpy.typing.NDArray[numpy.float64],
    total: numpy.typing.NDArray[numpy.float64],
    size: float,
    members: numpy.typing.NDArray[numpy.int64],
) -> numpy.typing.NDArray[numpy.float64]: ...
def tally_classes(
    values: numpy.typing.NDArray[numpy.float64],
    members: numpy.typing.NDArray[numpy.int64],
    total: numpy.typing.NDArray[numpy.float64],
    truth: numpy.typing.NDArray[numpy.int64],
    weights: numpy.typing.NDArray[numpy.float64],
    samples: numpy.typing.NDArray[numpy.int64],
) -> numpy.typing.NDArray[numpy.float64]: ...
def measure_distances_i2(
    clusters: numpy.typing.NDArray[numpy.int16], n_threads: int
) -> numpy.typing.NDArray[numpy.float64]: ...
def measure_distances_i4(
    clusters: numpy.typing.NDArray[numpy.int32], n_threads: int
) -> numpy.typing.NDArray[numpy.float64]: ...
def climb(
    bits: numpy.typing.NDArray[numpy.int8], prices: numpy.typing.NDArray[numpy.float64], most_sweeps: int
) -> int: ...
def deal_samples(
    sample_starts: numpy.typing.NDArray[numpy.int64],
    sample_labels: numpy.typing.NDArray[numpy.int64],
    label_starts: numpy.typing.NDArray[numpy.int64],
    label_samples: numpy.typing.NDArray[numpy.int64],
    label_order: numpy.typing.NDArray[numpy.int64],
    room: numpy.typing.NDArray[numpy.int64],
    fractions: numpy.typing.NDArray[numpy.int64],
    draws: numpy.typing.NDArray[numpy.float64],
) -> numpy.typing.NDArray[numpy.int32]: ...
def cluster_labels(
    co_occurrences: numpy.typing.NDArray[numpy.float64],
    first: numpy.typing.NDArray[numpy.int64],
    capacity: int,
    most_rounds: int,
) -> numpy.typing.NDArray[numpy.int64]: ...
def find_best_sizes(
    ordered: numpy.typing.NDArray[numpy.float64], empty: float
) -> numpy.typing.NDArray[numpy.int64]: ...

class Table:
    def __init__(
        self,
        codes: object,
        n_codes: numpy.typing.NDArray[numpy.int32],
        lower: numpy.typing.NDArray[numpy.float64],
        upper: numpy.typing.NDArray[numpy.float64],
        is_category: numpy.typing.NDArray[numpy.bool_] | None = None,
    ) -> None: ...
    @property
    def codes(self) -> numpy.typing.NDArray[numpy.unsignedinteger[Any]]: ...
    @property
    def is_category(self) -> numpy.typing.NDArray[numpy.bool_] | None: ...
    def order(self) -> numpy.typing.NDArray[numpy.uint32]: ...
    def with_codes(self, codes: object) -> Table: ...
    def with_upper(self, upper: numpy.typing.NDArray[numpy.float64]) -> Table: ...
    def take(self, samples: numpy.typing.NDArray[numpy.int64]) -> Table: ...
    def select(self, columns: numpy.typing.NDArray[numpy.int64]) -> Table: ...
    def append_flags(self, flags: numpy.typing.NDArray[numpy.uint8]) -> Table: ...
    def encode(self, X: numpy.typing.NDArray[numpy.float64]) -> numpy.typing.NDArray[numpy.unsignedinteger[Any]]: ...
    def raise_upper(
        self, X: numpy.typing.NDArray[numpy.float64], codes: object
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple, /) -> None: ...
    @property
    def n_codes(self) -> numpy.typing.NDArray[numpy.int32]: ...
    @property
    def offsets(self) -> numpy.typing.NDArray[numpy.int64]: ...
    @property
    def lower(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def upper(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_columns(self) -> int: ...

def code_block(
    values: numpy.typing.NDArray[numpy.float64],
    sorted: numpy.typing.NDArray[numpy.float64],
    n_categories: numpy.typing.NDArray[numpy.int32],
    most_codes: int,
    n_bins: int,
    codes: numpy.typing.NDArray[numpy.uint16],
    first: int,
) -> tuple[
    numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]
]: ...

class SparseTable:
    def __init__(
        self,
        starts: numpy.typing.NDArray[numpy.int64],
        columns: numpy.typing.NDArray[numpy.uint32],
        codes: numpy.typing.NDArray[numpy.uint16],
        zeros: numpy.typing.NDArray[numpy.int32],
        n_codes: numpy.typing.NDArray[numpy.int32],
        lower: numpy.typing.NDArray[numpy.float64],
        upper: numpy.typing.NDArray[numpy.float64],
    ) -> None: ...
    @property
    def by_sample(self) -> tuple: ...
    @property
    def by_column(self) -> tuple: ...
    @property
    def zeros(self) -> numpy.typing.NDArray[numpy.int32]: ...
    @property
    def is_category(self) -> None: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple, /) -> None: ...
    @property
    def n_codes(self) -> numpy.typing.NDArray[numpy.int32]: ...
    @property
    def offsets(self) -> numpy.typing.NDArray[numpy.int64]: ...
    @property
    def lower(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def upper(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_columns(self) -> int: ...

def code_entries(
    starts: numpy.typing.NDArray[numpy.int64],
    samples: numpy.typing.NDArray[numpy.int32],
    values: numpy.typing.NDArray[numpy.float64],
    n_samples: int,
    most_codes: int,
    n_bins: int,
) -> SparseTable: ...

NODE: numpy.dtypes.VoidDType = ...

class Tree:
    def __init__(
        self, nodes: object, values: numpy.typing.NDArray[numpy.float64], subsets: numpy.typing.NDArray[numpy.uint32]
    ) -> None: ...
    @property
    def nodes(self) -> numpy.typing.NDArray[numpy.void]: ...
    @property
    def values(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def subsets(self) -> numpy.typing.NDArray[numpy.uint32]: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    @property
    def depth(self) -> int: ...
    def shares(self) -> numpy.typing.NDArray[numpy.float64]: ...
    def with_values(self, values: numpy.typing.NDArray[numpy.float64]) -> Tree: ...
    def with_leaf_values(self, values: numpy.typing.NDArray[numpy.float64]) -> Tree: ...
    def with_features(self, features: numpy.typing.NDArray[numpy.int64]) -> Tree: ...
    def apply(
        self, table: Table | SparseTable, samples: numpy.typing.NDArray[numpy.int64] | None = None
    ) -> numpy.typing.NDArray[numpy.int32]: ...
    def vote(self, table: Table | SparseTable) -> numpy.typing.NDArray[numpy.int32]: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple, /) -> None: ...

def unstack_trees(
    nodes: object,
    values: numpy.typing.NDArray[numpy.float64],
    subsets: numpy.typing.NDArray[numpy.uint32],
    n_nodes: numpy.typing.NDArray[numpy.int64],
    n_words: numpy.typing.NDArray[numpy.int64],
    n_categories: numpy.typing.NDArray[numpy.int32],
) -> list[Tree]: ...

class TreeSettings:
    def __init__(
        self,
        *,
        min_split: int = 20,
        min_leaf: int = 7,
        max_depth: int = 30,
        complexity: float = 0.01,
        max_features: int = 2147483647,
        random_cuts: bool = False,
        correct_for_chance: bool = False,
    ) -> None: ...
    @property
    def min_split(self) -> int: ...
    @property
    def min_leaf(self) -> int: ...
    @property
    def max_depth(self) -> int: ...
    @property
    def complexity(self) -> float: ...
    @property
    def max_features(self) -> int: ...
    @property
    def random_cuts(self) -> bool: ...
    @property
    def correct_for_chance(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...
    def replace(self, **changes: Any) -> TreeSettings: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple[int, int, int, float, int, bool, bool], /) -> None: ...

class ClassTarget:
    def __init__(self, classes: numpy.typing.NDArray[numpy.int32], n_classes: int) -> None: ...
    @property
    def n_classes(self) -> int: ...
    def __len__(self) -> int: ...

class LabelTarget:
    def __init__(
        self, starts: numpy.typing.NDArray[numpy.int64], labels: numpy.typing.NDArray[numpy.int32], n_labels: int
    ) -> None: ...
    @property
    def n_labels(self) -> int: ...
    def __len__(self) -> int: ...

class StoragePlan:
    def __init__(
        self,
        *,
        most_presorted: int = 2000,
        least_histogram: int = 8,
        samples_per_code: float = 1.5,
        n_branches: int = 16,
        least_branch: int = 2000,
        times_as_many: int = 4,
        most_sorted: int = 65536,
    ) -> None: ...

def grow_class_tree(
    table: Table,
    target: ClassTarget,
    counts: numpy.typing.NDArray[numpy.int32],
    settings: TreeSettings,
    seed: int = 0,
    n_threads: int = 1,
    whole: numpy.typing.NDArray[numpy.int32] | None = None,
    weights: numpy.typing.NDArray[numpy.float64] | None = None,
    plan: StoragePlan | None = None,
) -> Tree: ...
def grow_label_tree(
    table: Table,
    target: LabelTarget,
    counts: numpy.typing.NDArray[numpy.int32],
    settings: TreeSettings,
    seed: int = 0,
    n_threads: int = 1,
    whole: numpy.typing.NDArray[numpy.int32] | None = None,
    weights: numpy.typing.NDArray[numpy.float64] | None = None,
    plan: StoragePlan | None = None,
) -> Tree: ...
def grow_sparse_label_tree(
    table: SparseTable,
    target: LabelTarget,
    counts: numpy.typing.NDArray[numpy.int32],
    settings: TreeSettings,
    seed: int = 0,
    n_threads: int = 1,
    whole: numpy.typing.NDArray[numpy.int32] | None = None,
    weights: numpy.typing.NDArray[numpy.float64] | None = None,
    plan: StoragePlan | None = None,
) -> Tree: ...

class ClassFilters:
    def __init__(
        self,
        table: Table,
        target: ClassTarget,
        settings: TreeSettings,
        fractions: numpy.typing.NDArray[numpy.float64],
        estimate: numpy.typing.NDArray[numpy.float64],
        weights: numpy.typing.NDArray[numpy.float64],
    ) -> None: ...
    def measure(
        self, seed: int, n_draws: int, max_tries: int, n_threads: int = 1
    ) -> tuple[Tree, float, float, float]: ...
    def count_out_of_bag(self, priors: numpy.typing.NDArray[numpy.float64]) -> float: ...
    def update(self, gain: float, weight_gain: float, weighting: int) -> None: ...
    def reset_weights(self) -> None: ...
    @property
    def out_of_bag_votes(self) -> numpy.typing.NDArray[numpy.int32]: ...
    @out_of_bag_votes.setter
    def out_of_bag_votes(self, arg: numpy.typing.NDArray[numpy.int32], /) -> None: ...
    @property
    def estimate(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def weights(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def counts(self) -> numpy.typing.NDArray[numpy.int32]: ...

class Forest:
    def __init__(
        self,
        trees: Sequence[Tree],
        n_categories: numpy.typing.NDArray[numpy.int32],
        leaf_numbers: numpy.typing.NDArray[numpy.int32] | None = None,
    ) -> None: ...
    @property
    def n_trees(self) -> int: ...
    @property
    def roots(self) -> numpy.typing.NDArray[numpy.int64]: ...
    @property
    def features(self) -> numpy.typing.NDArray[numpy.int64]: ...
    @property
    def n_categories(self) -> numpy.typing.NDArray[numpy.int32]: ...
    def sum_leaf_values(
        self, leaf_values: numpy.typing.NDArray[numpy.float64], X: object, n_threads: int = 1
    ) -> numpy.typing.NDArray[numpy.float64]: ...
    def apply(self, X: object, n_threads: int = 1) -> numpy.typing.NDArray[numpy.int32]: ...

class LevelBins:
    @property
    def n_nodes(self) -> int: ...
    def list_filled(self) -> tuple: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple, /) -> None: ...

def count_bins(
    samples: numpy.typing.NDArray[numpy.uint32],
    copies: numpy.typing.NDArray[numpy.int32],
    ends: numpy.typing.NDArray[numpy.int64],
    codes: object,
    features: numpy.typing.NDArray[numpy.int64],
    n_codes: numpy.typing.NDArray[numpy.int32],
    classes: numpy.typing.NDArray[numpy.int32],
    n_classes: int,
    nodes: numpy.typing.NDArray[numpy.int64],
    squared: bool,
) -> LevelBins: ...
def merge_bins(parts: Sequence[LevelBins]) -> LevelBins: ...

class LevelSplits:
    @property
    def n_children(self) -> int: ...
    def __getstate__(self) -> tuple: ...
    def __setstate__(self, arg: tuple, /) -> None: ...

class GrowingTree:
    def __init__(
        self, table: Table, totals: numpy.typing.NDArray[numpy.int64], settings: TreeSettings, seed: int, most_kept: int
    ) -> None: ...
    @property
    def has_grown(self) -> bool: ...
    @property
    def squared(self) -> bool: ...
    def rounds(self, n_bins: int) -> list: ...
    def counted_nodes(self, first: int, end: int) -> numpy.typing.NDArray[numpy.int64]: ...
    def split(self, first: int, end: int, bins: LevelBins) -> None: ...
    def end_level(self) -> LevelSplits: ...
    def finish(self) -> Tree: ...

def descend(
    samples: numpy.typing.NDArray[numpy.uint32],
    copies: numpy.typing.NDArray[numpy.int32],
    ends: numpy.typing.NDArray[numpy.int64],
    codes: object,
    features: numpy.typing.NDArray[numpy.int64],
    n_codes: numpy.typing.NDArray[numpy.int32],
    splits: LevelSplits,
) -> tuple: ...
def reach_leaves(
    tree: Tree, codes: object, n_codes: numpy.typing.NDArray[numpy.int32]
) -> numpy.typing.NDArray[numpy.int32]: ...

class GradientTable:
    def __init__(self, table: Table) -> None: ...
    @property
    def n_columns(self) -> int: ...

def grow_gradient_tree(
    table: GradientTable,
    statistics: numpy.typing.NDArray[numpy.float64],
    samples: numpy.typing.NDArray[numpy.int32],
    features: numpy.typing.NDArray[numpy.int64],
    max_depth: int,
    min_leaf: int,
    l2: float,
    n_threads: int,
) -> Tree: ...

class Stump:
    @property
    def score(self) -> float: ...
    @property
    def feature(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def missing_left(self) -> bool: ...

class PairTable:
    def __init__(self, table: Table | SparseTable) -> None: ...
    @property
    def n_columns(self) -> int: ...

def find_stump(
    table: PairTable,
    positive: numpy.typing.NDArray[numpy.float64],
    negative: numpy.typing.NDArray[numpy.float64],
    first_feature: int,
    end_feature: int,
    n_threads: int = 1,
) -> Stump: ...
def left_samples(table: PairTable, stump: Stump) -> numpy.typing.NDArray[numpy.bool_]: ...
def make_stump_tree(table: PairTable, stump: Stump, votes: numpy.typing.NDArray[numpy.float64]) -> Tree: ...
def take_block(
    gram: numpy.typing.NDArray[numpy.float32], samples: numpy.typing.NDArray[numpy.int64]
) -> numpy.typing.NDArray[numpy.float32]: ...
def solve_svm(
    gram: numpy.typing.NDArray[numpy.float32],
    signs: numpy.typing.NDArray[numpy.float64],
    bounds: numpy.typing.NDArray[numpy.float64],
    max_steps: int,
    tolerance: float,
) -> tuple: ...
def train_svms(
    gram: numpy.typing.NDArray[numpy.float32],
    signs: numpy.typing.NDArray[numpy.float64],
    weights: numpy.typing.NDArray[numpy.float64],
    cost: float,
    folds: numpy.typing.NDArray[numpy.float64],
    max_steps: int,
    tolerance: float,
    n_threads: int,
) -> tuple: ...
def train_linear_svms(
    X: object,
    samples: numpy.typing.NDArray[numpy.int64],
    squares: numpy.typing.NDArray[numpy.float64],
    signs: numpy.typing.NDArray[numpy.float64],
    weights: numpy.typing.NDArray[numpy.float64],
    cost: float,
    folds: numpy.typing.NDArray[numpy.float64],
    max_passes: int,
    tolerance: float,
    n_threads: int,
) -> tuple: ...
def train_sparse_linear_svms(
    data: numpy.typing.NDArray[numpy.float64],
    indices: object,
    starts: object,
    n_features: int,
    samples: numpy.typing.NDArray[numpy.int64],
    squares: numpy.typing.NDArray[numpy.float64],
    signs: numpy.typing.NDArray[numpy.float64],
    weights: numpy.typing.NDArray[numpy.float64],
    cost: float,
    folds: numpy.typing.NDArray[numpy.float64],
    max_passes: int,
    tolerance: float,
    n_threads: int,
) -> tuple: ...
def fit_sigmoid(
    values: numpy.typing.NDArray[numpy.float64],
    signs: numpy.typing.NDArray[numpy.float64],
    weights: numpy.typing.NDArray[numpy.float64],
) -> tuple: ...
def append_labels(
    values: numpy.typing.NDArray[numpy.float32],
    rows: numpy.typing.NDArray[numpy.int64],
    columns: numpy.typing.NDArray[numpy.int64],
    left: numpy.typing.NDArray[numpy.uint64],
    right: numpy.typing.NDArray[numpy.uint64],
    changes: numpy.typing.NDArray[numpy.float32],
    are_added: bool,
) -> numpy.typing.NDArray[numpy.float32]: ...
def decide(
    kernel_rows: numpy.typing.NDArray[numpy.float32],
    asked: numpy.typing.NDArray[numpy.int64],
    support: numpy.typing.NDArray[numpy.int32],
    coefficients: numpy.typing.NDArray[numpy.float32],
    intercepts: numpy.typing.NDArray[numpy.float64],
) -> numpy.typing.NDArray[numpy.float64]: ...
def collapse(
    X: numpy.typing.NDArray[numpy.float64],
    support: numpy.typing.NDArray[numpy.int32],
    coefficients: numpy.typing.NDArray[numpy.float64],
) -> numpy.typing.NDArray[numpy.float64]: ...
