"""The container: strict BagIt directories, strict JSON, integer CSV."""
