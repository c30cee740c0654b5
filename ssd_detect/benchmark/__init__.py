"""`ssd-detect benchmark`: how fast this machine is, part by part; every engine runs in a worker process of its own."""
