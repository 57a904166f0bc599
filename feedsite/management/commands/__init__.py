"""Commands of the project, among them changed ones of Django."""
