"""Check requests to the server of `cwndlab open`.

Browsers that have opened the printed address are allowed; requests from other sites are refused.
The server exchanges the token in the address for a cookie that scripts cannot read. If the Host
header of a request names another host (DNS rebinding), the request is refused. `Sec-Fetch-Site`,
`Origin` and content type reveal requests from another site or another port of this computer.
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


class Refused(Exception):  # noqa: N818  a reply, not an error
    """A refused request, with the HTTP status and reason of the reply."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        """Store the HTTP status of the reply, and the reason as a sentence."""
        super().__init__(sentence)
        self.status = status


class Access:
    """Checks requests against the token and the cookie of one server."""

    def __init__(self, port: int) -> None:
        """Create a random token and a random cookie for the server at `port`."""
        self._port = port
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._session = secrets.token_urlsafe(_TOKEN_BYTES)
        self._hosts = {f"{LOOPBACK}:{port}", f"localhost:{port}"}

    @property
    def address(self) -> str:
        """The address that the user opens in a browser; it contains the server's token."""
        return f"http://{LOOPBACK}:{self._port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Value of the header `Set-Cookie` in the reply to a request with the correct token."""
        return f"{self._name}={self._session}; HttpOnly; SameSite=Strict; Path=/"

    @property
    def _name(self) -> str:
        return f"cwndlab-{self._port}"

    def check_host(self, headers: Message) -> None:
        """Refuse requests whose Host header does not name this server.

        Raises:
            Refused: the Host header names another host.
        """
        if headers.get_all("Host", []) not in [[host] for host in self._hosts]:
            raise Refused(
                HTTPStatus.MISDIRECTED_REQUEST, "the Host header does not name this server"
            )

    def check_token(self, token: str) -> None:
        """Refuse a request whose token is not the token of this server.

        Raises:
            Refused: the token is wrong.
        """
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, _WRONG)

    def check(self, headers: Message, *, is_post: bool) -> None:
        """Refuse requests that do not come from the page of `cwndlab open`.

        Raises:
            Refused: the request comes from another site, has no cookie, or posts data other than
                JSON.
        """
        site = headers.get("Sec-Fetch-Site", "same-origin" if is_post else "none")
        origin = headers.get("Origin")
        own = f"http://{headers.get('Host')}"
        is_elsewhere = site not in ({"same-origin"} if is_post else {"same-origin", "none"})
        if is_elsewhere or (origin is not None and origin != own) or (is_post and origin is None):
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "this request did not come from the page that cwndlab open shows",
            )
        if is_post and headers.get_content_type() != JSON:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body of a POST must be {JSON}")
        if not hmac.compare_digest(self._sent(headers), self._session):
            raise Refused(HTTPStatus.FORBIDDEN, _WRONG)

    def _sent(self, headers: Message) -> str:
        try:
            morsel = SimpleCookie(headers.get("Cookie", "")).get(self._name)
        except CookieError:
            return ""
        value = "" if morsel is None else morsel.value
        return value if value.isascii() else ""


_WRONG = "open the address that `cwndlab open` printed, which contains the token of this session"
