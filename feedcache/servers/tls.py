"""TLS connections to the servers that the site uses, whatever their kind."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress

HANDSHAKE_SECONDS = 2.0


def tls_context(files: Mapping[str, str]) -> ssl.SSLContext:
    """A client context that verifies certificates. Raises OSError if a file is missing or invalid."""
    context = ssl.create_default_context(cafile=files.get("ca_certs"))
    if "certfile" in files:
        context.load_cert_chain(files["certfile"], files.get("keyfile"))
    return context


def handshake_error(host: str, port: int, files: Mapping[str, str]) -> str:
    """The reason why a TLS handshake fails; "" if it succeeds or the server is down. Raises OSError for wrong files."""
    context = tls_context(files)
    try:
        with (
            socket.create_connection((host, port), HANDSHAKE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=host) as connection,
        ):
            with suppress(ssl.SSLError):
                connection.sendall(b"PING\r\n")
            connection.recv(1)  # a server that requires a client certificate refuses only now
    except ssl.SSLError as error:
        return str(error)
    except OSError:
        return ""
    return ""
