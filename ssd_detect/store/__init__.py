"""Checkpoints that are fetched: the cache, downloads, and whether a file is what it should be.

Nothing else in this package opens a network connection, but for pictures and videos whose address the user gives.
"""
