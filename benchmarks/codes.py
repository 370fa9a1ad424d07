"""The search for a code book of 50 classes and 100 bits."""

from __future__ import annotations

from benchmarks.timing import pick, print_limit, seconds
from fuselearn.combine import make_code
from fuselearn.combine.code_books import distance_bound, min_distance

SIZE = pick((50, 100), (5, 9))


def main() -> None:
    found, drawn = (min_distance(make_code(*SIZE, kind=kind, random_state=0)) for kind in ("hamming", "random"))
    time = min(seconds(lambda: make_code(*SIZE, kind="hamming", random_state=0)) for _ in range(3))
    print_limit("code book, 50 classes, 100 bits", time, 2, "s")
    print(f"  minimum distance: found {found}, at random {drawn}, at most {distance_bound(*SIZE)} for any book")


if __name__ == "__main__":
    main()
