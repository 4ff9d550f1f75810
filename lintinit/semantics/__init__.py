"""What is known about torch and about names, as tables: facts that no checked code has to be followed for."""
