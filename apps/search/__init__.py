"""What is found without following: search, what is read most now, whom one may want to follow."""
