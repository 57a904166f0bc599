"""`python -m tools.compose`: what docker-compose.yml describes, with this machine's programs instead of images."""
