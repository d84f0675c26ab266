"""Calls the API with the token of the command platform-auth, from requests, httpx and others.

    from platform_auth import api
    rows = api.get("/v1/stations").json()

`api` is a `requests.Session`. For httpx and others, there is `PlatformAuth`. The command
`platform-auth python > platform_auth.py` writes this file, which needs Python 3.9 or later.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
import warnings
from datetime import datetime
from typing import TYPE_CHECKING, Any, AsyncGenerator, Generator, Optional, Union
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import httpx
    import requests

    api: requests.Session
    _Auth = httpx.Auth
else:
    try:
        from httpx import Auth as _Auth
    except Exception:  # httpx is not installed, or broken, which must not stop users of requests
        _Auth = object

__all__ = ["LoginNeeded", "PlatformAuth", "PlatformAuthError", "login"]


class PlatformAuthError(RuntimeError):
    """The command failed, or it or `API_BASE_URL` is missing. The message says what to do."""


class LoginNeeded(PlatformAuthError):
    """You have to log in, because there is no session or it is over."""


class _Secret(str):
    """A text that debuggers and verbose tracebacks do not show."""

    def __repr__(self) -> str:
        return "'...'"


class PlatformAuth(_Auth):
    """The `auth` of a requests or httpx call, session or client.

    Sends the token only to the host of `api`, which by default is `API_BASE_URL` of the settings.
    After a 401, repeats the call once if there is a newer token. Several threads can share one
    object. `env_file` is the `.env` to use, by default the one that `platform-auth` finds.
    """

    def __init__(
        self,
        api: Optional[str] = None,
        *,
        env_file: Union[str, os.PathLike[str], None] = None,
    ) -> None:
        self._given = api
        self._env_file = None if env_file is None else os.path.expanduser(os.fspath(env_file))
        self._api = None if api is None else _checked(api)
        self._header = _Secret()
        self._asked_at = self._renew_at = 0.0
        self._refreshed_at = 0.0
        self._lock = threading.Lock()

    def headers(self) -> dict[str, str]:
        """The header with a current token, for other libraries. They may send it to any host."""
        return {"Authorization": self._current()}

    def __repr__(self) -> str:
        return f"PlatformAuth({self._api!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process or a file gets its own token.
        return _make, (type(self), self._given, self._env_file)

    # requests

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        header = self._header_for(str(request.url))
        if header is not None:
            request.headers["Authorization"] = header
            request.register_hook("response", self._repeat)  # type: ignore[no-untyped-call]
        return request

    def _repeat(self, response: requests.Response, **options: Any) -> requests.Response:
        request = response.request
        sent = request.headers.get("Authorization")
        if (
            response.status_code != 401
            or not isinstance(sent, _Secret)
            or not isinstance(request.body, (bytes, str, type(None)))
        ):
            return response
        newer = self._newer_than(sent)
        if newer == sent:
            return response
        response.content  # so that the connection can be used again
        response.close()
        again = request.copy()
        again.headers["Authorization"] = newer
        second: requests.Response = response.connection.send(again, **options)  # type: ignore
        second.request = again
        second.history = [*response.history, response]
        return second

    # httpx

    def sync_auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Called by `httpx.Client`."""
        header = self._header_for(str(request.url))
        if header is not None:
            request.headers["Authorization"] = header
        response = yield request
        if header is not None and _was_refused(response, header):
            newer = self._newer_than(header)
            if newer != header:
                request.headers["Authorization"] = newer
                yield request

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Called by `httpx.AsyncClient`. The command does not block the event loop."""
        from anyio.to_thread import run_sync  # httpx needs anyio, too

        url = str(request.url)
        header = await run_sync(self._header_for, url)
        if header is not None:
            request.headers["Authorization"] = header
        response = yield request
        if header is not None and _was_refused(response, header):
            newer = await run_sync(self._newer_than, header)
            if newer != header:
                request.headers["Authorization"] = newer
                yield request

    # The token

    def _base(self) -> str:
        """The address of the API, with a slash at its end."""
        if self._api is None:
            self._current()
        if self._api is None:
            raise PlatformAuthError(
                "The settings have no API_BASE_URL; add it to the .env, or write "
                'PlatformAuth("https://...") with the address of the API'
            )
        return self._api

    def _header_for(self, url: str) -> Optional[_Secret]:
        """The header for a call; `None` if the address is not the API's."""
        api = self._base()
        if _origin(url) == _origin(api):
            return self._current()
        scheme, host, _ = _origin(url)
        warnings.warn(f"PlatformAuth sends no token to {scheme}://{host}, only to {api}")
        return None

    def _is_current(self) -> bool:
        return time.time() < self._renew_at and self._asked_at > _logged_in_at

    def _current(self, rejected: Optional[_Secret] = None) -> _Secret:
        """A current header; after a 401, another one than the rejected one if there is another."""
        with self._lock:
            if not self._is_current() or self._header == rejected:
                self._ask()
            if self._header == rejected and time.time() > self._refreshed_at + 30:
                self._refreshed_at = time.time()
                self._run("refresh")
                self._ask()
            return self._header

    def _newer_than(self, rejected: _Secret) -> _Secret:
        try:
            return self._current(rejected)
        except PlatformAuthError as error:
            warnings.warn(f"The API rejected the token (401), and there is no newer one: {error}")
            return rejected

    def _ask(self) -> None:
        printed = self._run("token", "--min-valid", "60")
        base, end = printed.get("api_base_url"), printed.get("expires_at")
        if self._api is None and base is not None:
            self._api = _checked(base)
        left = 90.0  # seconds, if the token does not say when it expires
        if end is not None:
            left = datetime.fromisoformat(end.replace("Z", "+00:00")).timestamp() - time.time()
        self._header = printed["header"]
        self._asked_at = time.time()
        self._renew_at = time.time() + left - min(60, left / 3)
        for warning in printed.get("warnings", []):
            warnings.warn(warning)

    def _run(self, *words: str, text: str = "") -> dict[str, Any]:
        # A function that raises an error has no variable with a secret: tracebacks may show those.
        result = self._outcome(words, text)
        if isinstance(result, PlatformAuthError):
            raise result
        return result

    def _outcome(
        self, words: tuple[str, ...], text: str
    ) -> Union[PlatformAuthError, dict[str, Any]]:
        """Runs the command. Returns what it printed, or an error."""
        # Jupyter and VS Code are often started without the folders of the shell's PATH.
        folders = [os.path.expanduser(f"~/{folder}") for folder in (".local/bin", ".deno/bin")]
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), *folders])
        program = shutil.which("platform-auth", path=path)
        if program is None:
            return PlatformAuthError(
                "Cannot find the command platform-auth; install it. If it works in a terminal, add "
                "its folder to the PATH: os.environ['PATH'] += os.pathsep + '/its/folder'"
            )
        line = [program, *words, "--json"]
        if self._env_file is not None:
            line += ["--env-file", self._env_file]
        try:
            done = subprocess.run(
                line,
                input=text,  # nothing can be typed
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "PATH": path},
            )
        except OSError as error:
            problem = f"Cannot run {program}: {error.strerror}"
            return PlatformAuthError(f"{problem}; install it again")
        if done.returncode != 0:
            return _error_in(done.stderr, done.returncode)
        try:
            printed = json.loads(done.stdout)
            if words[0] == "token":
                # Anything else could not be a header, or would be another one, too.
                token = re.fullmatch("[!-~]+", printed.pop("access_token"))
                printed["header"] = _Secret(f"bearer {token[0]}")  # type: ignore
            return printed
        except (ValueError, TypeError, KeyError, AttributeError):
            pass  # the error must not lead to what was printed, as its cause would
        return PlatformAuthError(
            f"{program} printed no token, so it is another program or another version; to "
            "write this file again, run: platform-auth python > platform_auth.py"
        )


_logged_in_at = 0.0


def login(*, env_file: Union[str, os.PathLike[str], None] = None) -> None:
    """Prompts for a portal string, which the portal's "Copy Token" copies, and logs in with it."""
    global _logged_in_at
    from getpass import getpass

    auth = PlatformAuth(env_file=env_file)
    secret = _Secret(getpass('Paste the portal string from "Copy Token": '))
    status = auth._run("login", "--portal", "--stdin", text=secret)
    _logged_in_at = time.time()
    name = status.get("username")
    print(f"Signed in as {name}." if name else "Signed in.")
    for warning in status.get("warnings", []):
        print(warning)


def _make(kind: type[PlatformAuth], api: Optional[str], env_file: Optional[str]) -> PlatformAuth:
    return kind(api, env_file=env_file)


def _checked(api: str) -> str:
    """The address of an API, with a slash at its end."""
    scheme, host, _ = _origin(api)
    is_local = scheme == "http" and host in ("localhost", "127.0.0.1", "::1")
    if not host or "@" in api or not (scheme == "https" or is_local):
        raise ValueError(
            "PlatformAuth takes an https address without a password (http only for localhost)"
        )
    return api.rstrip("/") + "/"


def _origin(url: str) -> tuple[str, str, Optional[int]]:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname or "", port


def _was_refused(response: httpx.Response, header: _Secret) -> bool:
    """Whether the API rejected the token of a call that can be repeated."""
    request = response.request  # after a redirect to another host, this has no token
    if response.status_code != 401 or request.headers.get("Authorization") != header:
        return False
    try:
        request.content
        return True
    except RuntimeError:  # a stream, which has been read
        return False


def _error_in(stderr: str, code: int) -> PlatformAuthError:
    """The error that a command printed."""
    try:
        error = json.loads(stderr[stderr.index("{") :])["error"]
        message = f"{error['problem']}; {error['fix']}"
    except (ValueError, KeyError, TypeError):
        message = stderr.strip() or f"platform-auth failed with exit status {code}"
    if code != 3:
        return PlatformAuthError(message)
    return LoginNeeded(
        f"{message}. Do this in a terminal, because a notebook's cell cannot answer prompts. "
        "To log in here with a portal string, call platform_auth.login()"
    )


def _make_api() -> requests.Session:
    import requests

    auth = PlatformAuth()

    class Api(requests.Session):
        """A session that takes paths of the API, such as `api.get("/v1/stations")`."""

        def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
            options.setdefault("timeout", (30, 300))  # seconds; else requests waits for ever
            return super().request(method, urljoin(auth._base(), url), *args, **options)

    session = Api()
    session.auth = auth
    return session


def __getattr__(name: str) -> Any:
    if name != "api":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Made at its first use, because users of httpx may not have requests.
    made = globals()["api"] = _make_api()
    return made
