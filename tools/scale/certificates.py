"""A certificate authority and a server certificate for this machine, for the tests and `./run scale`."""

import os
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"
LIFE = timedelta(days=1)
PASSWORD = "only for this run"  # noqa: S105 -- of a file that is deleted afterwards


class Certificates(NamedTuple):
    """PEM files; `store` has certificate and key for Java."""

    ca: Path
    certificate: Path
    key: Path
    store: Path


def make_certificates(directory: Path) -> Certificates:
    """Create certificates for servers at 127.0.0.1 and localhost, and for their clients."""
    directory.mkdir(parents=True, exist_ok=True)
    ca_key, key = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"CA of {directory.name}")])
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    is_ca = x509.BasicConstraints(ca=True, path_length=0)
    ca = _builder(ca_name, ca_name, ca_key).add_extension(is_ca, critical=True)
    names = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(IPv4Address(HOST))]
    )
    own = _builder(name, ca_name, key).add_extension(names, critical=False)
    signed_ca, signed = (one.sign(ca_key, hashes.SHA256()) for one in (ca, own))
    found = Certificates(
        *(directory / file for file in ("ca.pem", "own.pem", "own.key", "own.p12"))
    )
    found.ca.write_bytes(signed_ca.public_bytes(Encoding.PEM))
    found.certificate.write_bytes(signed.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    found.key.write_bytes(private)
    os.chmod(found.key, 0o600)  # noqa: PTH101 -- PostgreSQL refuses a key that others may read
    secret = BestAvailableEncryption(PASSWORD.encode())
    store = pkcs12.serialize_key_and_certificates(b"server", key, signed, [signed_ca], secret)
    found.store.write_bytes(store)
    return found


def _builder(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LIFE)
        .not_valid_after(now + LIFE)
    )
