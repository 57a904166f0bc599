"""Commands of the project, including its own version of Django's `migrate`."""
