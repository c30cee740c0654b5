"""Many pictures in one run: what goes where, what is done already, and what came of it."""
