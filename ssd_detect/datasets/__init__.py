"""Annotated data sets: reading, checking, converting and describing them. Knows nothing of networks."""
