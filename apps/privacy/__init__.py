"""What the site holds of a person: taken along as an archive, or erased."""
