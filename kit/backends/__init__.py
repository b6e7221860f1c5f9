"""Who multiplies: one module per backend."""
