"""How good detections are, in the numbers of the papers: pure NumPy, no network, no files of data sets."""
