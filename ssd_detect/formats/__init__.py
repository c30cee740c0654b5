"""Results as data: one file an output format."""
