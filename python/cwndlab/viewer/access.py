"""Access to the server, for the browser with the address and not for pages of other sites.

The token in the address is exchanged for a cookie that scripts cannot read. Requests for another
host's name (DNS rebinding) are refused by the Host header; requests from other sites, or other
ports of this machine, by `Sec-Fetch-Site`, `Origin`, and the content type of posts.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message

LOOPBACK = "127.0.0.1"
JSON = "application/json"
_TOKEN_BYTES = 24


class Refused(Exception):  # noqa: N818  an answer, not an error
    """A request that is refused, with its HTTP status."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        """Store the reason as a sentence."""
        super().__init__(sentence)
        self.status = status


class Access:
    """The secrets of one server."""

    def __init__(self, port: int) -> None:
        """Draw new ones."""
        self._port = port
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._session = secrets.token_urlsafe(_TOKEN_BYTES)
        self._hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}

    @property
    def address(self) -> str:
        """The address that the user opens."""
        return f"http://{LOOPBACK}:{self._port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Return the header that sets the cookie."""
        return f"{self._name}={self._session}; HttpOnly; SameSite=Strict; Path=/"

    @property
    def _name(self) -> str:
        return f"cwndlab-{self._port}"

    def check_host(self, headers: Message) -> None:
        """Refuse every name but this machine's own.

        Raises:
            Refused: the request was meant for another host.
        """
        if headers.get_all("Host", []) not in [[host] for host in self._hosts]:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this address is not one of this server")

    def check_token(self, token: str) -> None:
        """Refuse a wrong token.

        Raises:
            Refused: it is wrong.
        """
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, _WRONG)

    def check(self, headers: Message, *, is_post: bool) -> None:
        """Refuse requests that do not come from the page itself.

        Raises:
            Refused: it comes from elsewhere, or without the cookie.
        """
        site = headers.get("Sec-Fetch-Site", "same-origin" if is_post else "none")
        origin = headers.get("Origin")
        own = f"http://{headers.get('Host')}"
        is_elsewhere = site not in ({"same-origin"} if is_post else {"same-origin", "none"})
        if is_elsewhere or (origin is not None and origin != own) or (is_post and origin is None):
            raise Refused(HTTPStatus.FORBIDDEN, "only the page itself may ask")
        if is_post and headers.get_content_type() != JSON:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"what is posted must be {JSON}")
        if not hmac.compare_digest(self._sent(headers), self._session):
            raise Refused(HTTPStatus.FORBIDDEN, _WRONG)

    def _sent(self, headers: Message) -> str:
        try:
            morsel = SimpleCookie(headers.get("Cookie", "")).get(self._name)
        except CookieError:
            return ""
        value = "" if morsel is None else morsel.value
        return value if value.isascii() else ""


_WRONG = "open the address that `cwndlab open` printed: it holds the token of this session"
