"""Judge a bundle from its evidence alone."""
