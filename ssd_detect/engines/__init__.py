"""Who computes the network: one small protocol, and what stands behind it.

`network` is the protocol, `open` the way to it; `converted` and `entry` are the cache, `proving` what is proved before
first use, `choice` the measured choice of `auto`; `quantised` makes int8. To the right of `media`, whose pictures that
is calibrated with.
"""
