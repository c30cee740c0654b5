"""The report of an evaluation: one HTML page and its pictures, metrics.json, per_class.csv. `report.py` comes first."""
