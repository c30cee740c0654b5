"""Videos: reading, writing, the loop between; times, colours, turns and sound."""
