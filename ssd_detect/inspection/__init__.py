"""What a checkpoint is: what its file holds, what is known about it and from whom, and what pictures tell of it."""
