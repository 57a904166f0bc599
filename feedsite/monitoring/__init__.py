"""What operators watch a running site by: health, metrics for Prometheus, logs."""
