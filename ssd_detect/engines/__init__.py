"""Who computes the network: one small protocol, and what stands behind it."""
