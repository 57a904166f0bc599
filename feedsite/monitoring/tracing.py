"""Traces with OpenTelemetry, which is imported only on sites with OTEL_EXPORTER_OTLP_ENDPOINT."""

from django.conf import settings


def start(role: str) -> None:
    """Send traces from this process if the settings name a collector. Starts a thread, so call this after a fork."""
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        from feedsite.monitoring import otel  # noqa: PLC0415 -- from the optional requirements-otel.txt

        otel.start(role)
