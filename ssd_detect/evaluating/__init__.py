"""The run of an evaluation: a data set, detections from one of three sources, tables, numbers, files."""
