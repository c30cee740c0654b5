"""Videos in one run: what goes where, one video from its frames to its copy, and what came of all."""
