"""Talk among mentioned people, one line for each thread."""
