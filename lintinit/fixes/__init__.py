"""How state gets a default: which value, and where in the code."""
