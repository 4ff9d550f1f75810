"""One module per output format; each holds ``render(report) -> str``."""
