"""The probes: each finds out one kind of thing about a machine, from sources that it is given; `gather` runs all.

Nothing is imported here: a run that only looks for signs of a GPU needs two of them.
"""
