"""The report of a comparison: what was found, in words and figures, on one HTML page."""
