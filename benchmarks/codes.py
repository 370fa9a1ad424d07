"""The search for a code book of 50 classes and 100 bits."""

from __future__ import annotations

from benchmarks.timing import pick, print_limit, seconds
from fuselearn.codes import distance_bound, min_distance, random_code, search_code

SIZE = pick((50, 100), (5, 9))


def main() -> None:
    found, drawn = (min_distance(make(*SIZE, random_state=0)) for make in (search_code, random_code))
    time = min(seconds(lambda: search_code(*SIZE, random_state=0)) for _ in range(3))
    print_limit("code book, 50 classes, 100 bits", time, 2, "s")
    print(f"  minimum distance: found {found}, at random {drawn}, at most {distance_bound(*SIZE)} for any book")


if __name__ == "__main__":
    main()
