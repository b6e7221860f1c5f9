"""From a plan to a bundle."""
