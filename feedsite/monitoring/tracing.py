"""Traces by OpenTelemetry, for sites with OTEL_EXPORTER_OTLP_ENDPOINT; without it nothing of it is imported."""

from django.conf import settings


def start(role: str) -> None:
    """Send traces from this process, if the settings say so. Starts a thread, so call it after a fork."""
    if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
        from feedsite.monitoring import otel  # noqa: PLC0415 -- of the optional requirements-otel.txt

        otel.start(role)
