"""Applications as JSON, in the Mastodon shape."""

from apps.accounts.serializers import Json
from apps.oauth.models import Application


def application_json(application: Application) -> Json:
    """An application as it sees itself."""
    addresses = application.redirect_uris.split()
    return {
        "id": str(application.pk or 0),
        "name": application.name,
        "website": application.website or None,
        "scopes": application.scopes.split(),
        "redirect_uri": "\n".join(addresses),
        "redirect_uris": addresses,
        "vapid_key": "",
    }


def registration_json(application: Application, secret: str) -> Json:
    """A new application with its secret, the only time that it is told."""
    return {
        **application_json(application),
        "client_id": application.client_id,
        "client_secret": secret,
        "client_secret_expires_at": 0,
    }
