"""Drop all root privileges except one capability, after the server has opened its port.

The process keeps CAP_NET_ADMIN, which permits it to choose any congestion control algorithm of the
kernel (net/ipv4/tcp_cong.c, `tcp_set_congestion_control`). It keeps no other privilege of root and
cannot regain privileges.
"""

from __future__ import annotations

import ctypes
import os
import pwd

from cwndlab.errors import CwndlabError

# linux/capability.h and linux/prctl.h
_NET_ADMIN = 12
_LAST = 63
_VERSION_3 = 0x2008_0522
_DROP_BOUND, _KEEP_CAPABILITIES, _NO_NEW_PRIVILEGES = 24, 8, 38


class PrivilegeError(CwndlabError):
    """The process cannot drop root privileges."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def unprivileged_user(name: str | None) -> pwd.struct_passwd:
    """Return the user as whom the server runs: `name`, else sudo's caller, else "nobody".

    Raises:
        PrivilegeError: the user does not exist, or `name` is root.
    """
    wanted = name or os.environ.get("SUDO_USER") or "nobody"
    try:
        user = pwd.getpwnam(wanted)
    except KeyError:
        msg = f"no user {wanted} exists on this computer; name another user with --user"
        raise PrivilegeError(msg) from None
    if user.pw_uid == 0:
        if name is None:
            return pwd.getpwnam("nobody")
        msg = "--user root would keep root privileges; name another user"
        raise PrivilegeError(msg)
    return user


def drop_root(user: pwd.struct_passwd) -> None:
    """Drop root: run this thread, and threads that it starts, as `user`; keep CAP_NET_ADMIN.

    Raises:
        PrivilegeError: the system refuses to drop the privileges.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    has_net_admin = bool(_permitted(libc) & 1 << _NET_ADMIN)
    for capability in range(_LAST + 1):
        if capability != _NET_ADMIN:
            libc.prctl(_DROP_BOUND, capability, 0, 0, 0)  # refused if the kernel does not know it
    _call(libc.prctl, _KEEP_CAPABILITIES, 1, 0, 0, 0)
    try:
        os.setgroups([])
        os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
        os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    except OSError as error:
        raise _refused(error) from None
    kept = 1 << _NET_ADMIN if has_net_admin else 0
    sets = (_Sets * 2)(_Sets(kept, kept, 0), _Sets(0, 0, 0))
    _call(libc.capset, ctypes.byref(_Header(_VERSION_3, 0)), sets)
    _call(libc.prctl, _NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def may_choose_any_algorithm() -> bool:
    """Return whether this thread has CAP_NET_ADMIN, which allows the use of every algorithm."""
    return bool(_permitted(ctypes.CDLL(None, use_errno=True)) & 1 << _NET_ADMIN)


def _permitted(libc: ctypes.CDLL) -> int:
    sets = (_Sets * 2)()
    _call(libc.capget, ctypes.byref(_Header(_VERSION_3, 0)), sets)
    return int(sets[0].permitted)


def _call(function: ctypes._NamedFuncPointer, *arguments: object) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise _refused(OSError(number, os.strerror(number)))


def _refused(error: OSError) -> PrivilegeError:
    return PrivilegeError(
        f"this system refuses to drop root privileges ({(error.strerror or str(error)).lower()}); "
        "start the server as another user"
    )
