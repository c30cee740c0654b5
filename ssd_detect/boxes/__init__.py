"""Anchors, decoding and suppression: pure NumPy functions, no state."""
