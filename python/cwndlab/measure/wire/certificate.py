"""Create and read self-signed server certificates, identified by fingerprints as in ssh."""

from __future__ import annotations

import base64
import hashlib
import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cwndlab.errors import CwndlabError, read_failure

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "cwndlab serve"
_FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)
_LAST_DAY = datetime(9999, 12, 31, tzinfo=UTC)  # RFC 5280 section 4.1.2.5: no expiry


class CertificateError(CwndlabError):
    """The file with the server's private key cannot be used."""


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """TLS context of a server, and the hash of its certificate."""

    context: ssl.SSLContext
    binding: bytes
    """SHA-256 of the certificate; with the token, it yields the keys of the messages' HMACs."""

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint in the format of ssh."""
        return fingerprint(self.binding)


def fingerprint(binding: bytes) -> str:
    """Return the SHA-256 of a certificate as a fingerprint in the format of ssh."""
    return f"SHA256:{base64.b64encode(binding).decode().rstrip('=')}"


def binding_of(certificate: bytes) -> bytes:
    """Return the SHA-256 of a certificate in DER encoding."""
    return hashlib.sha256(certificate).digest()


def make_certificate(path: Path) -> None:
    """Write a new private key and its certificate to a file that only this user can read.

    Raises:
        FileExistsError: the file exists.
        OSError: the file cannot be written.
    """
    # Imported here because only servers need this library, which takes long to load.
    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FIRST_DAY)
        .not_valid_after(_LAST_DAY)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret + certificate.public_bytes(pem))


def read_certificate(path: Path) -> ServerCertificate:
    """Read the key and certificate in a file.

    Raises:
        CertificateError: the file cannot be read, lacks the key or the certificate, or can be
            read by other users.
    """
    try:
        text = path.read_text(encoding="ascii")
        is_open = path.stat().st_mode & 0o077
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0  # no resumption of TLS sessions
        context.load_cert_chain(path)
        at = text.index("-----BEGIN CERTIFICATE-----")
        certificate = ssl.PEM_cert_to_DER_cert(text[at:])
    except (ssl.SSLError, ValueError):
        msg = (
            f"{path}: does not contain a key and a certificate; if you delete the file, "
            "`cwndlab serve` creates a new one"
        )
        raise CertificateError(msg) from None
    except OSError as error:
        raise CertificateError(read_failure(path, error)) from None
    if is_open:
        msg = f"{path}: other users can read this file; run chmod 600 {path}"
        raise CertificateError(msg)
    return ServerCertificate(context, binding_of(certificate))


def client_context() -> ssl.SSLContext:
    """Return a TLS 1.3 context that accepts every certificate; the caller checks fingerprints."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
