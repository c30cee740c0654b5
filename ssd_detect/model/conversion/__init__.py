"""Writing a checkpoint in another format, and proving the written file before it gets its name."""
