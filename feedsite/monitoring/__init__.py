"""Monitoring of a running site: health checks, metrics for Prometheus, logs."""
