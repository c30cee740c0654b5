"""The network: what it is (`spec`), its weights (`locate`, `checkpoint`), its graph and its session."""
