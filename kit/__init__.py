"""Measure GEMM performance by NVIDIA's guidelines, and judge what others measured."""

__version__ = "0.1.0"
