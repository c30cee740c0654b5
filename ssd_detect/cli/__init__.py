"""The `ssd-detect` command: one file a verb. Parsing, settings, calls, printing; no arrays."""
