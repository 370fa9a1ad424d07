"""Write the badge of README from the measured coverage, which ``make coverage`` has left in ``.coverage``."""

import io
from pathlib import Path

from coverage import Coverage

BADGE = Path(__file__).resolve().parents[1] / "docs" / "_static" / "coverage.svg"
GOOD, POOR = "#2e7d32", "#b26a00"
GOOD_FROM = 95
TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="104" height="20" role="img" aria-label="coverage: {percent} %">
  <title>coverage: {percent} %</title>
  <rect width="104" height="20" rx="3" fill="#555"/>
  <path d="M62 0h39a3 3 0 0 1 3 3v14a3 3 0 0 1 -3 3h-39z" fill="{colour}"/>
  <g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" text-anchor="middle">
    <text x="31" y="14">coverage</text>
    <text x="83" y="14">{percent} %</text>
  </g>
</svg>
"""


def main() -> None:
    """Read the measurement and write the badge; the percentage is rounded down."""
    coverage = Coverage()
    coverage.load()
    percent = int(coverage.report(file=io.StringIO()))
    BADGE.write_text(TEMPLATE.format(percent=percent, colour=GOOD if percent >= GOOD_FROM else POOR), encoding="utf-8")
    print(f"{BADGE.name}: {percent} %")


if __name__ == "__main__":
    main()
