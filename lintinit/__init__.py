"""A linter for PyTorch model code: finds state of modules that nothing ever fills."""

__version__ = "0.1.0"
