"""What is measured beside our site: what one would write first, and what the machine could do at best."""
