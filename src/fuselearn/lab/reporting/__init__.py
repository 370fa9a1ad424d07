"""The report of a comparison: findings, figures and tables on one HTML page."""
