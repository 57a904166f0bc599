"""What pages, endpoints and staff pages share about requests."""
