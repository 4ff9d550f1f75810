"""lintinit's own rules: each a module beside its page."""
