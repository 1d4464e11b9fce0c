"""Roles and what each may do.

Rules enforced here:

- A right is held for one tenant, by a role that the configuration gives to a person; nothing is implied by another
  tenant's role, and nobody has a role by default.
- Deciding (``approve``, ``take_over``) is apart from carrying evidence away (``export``): who judges an action is
  not by that allowed to take the record out of the house, and the other way round.
- The single user of a desk without access control has every right, because the record lies open to them anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

Role = Literal["investigator", "approver", "auditor", "operator"]
Right = Literal["read", "note", "redact", "approve", "export", "take_over"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
RIGHTS: Final[Mapping[Role, frozenset[Right]]] = {
    "investigator": frozenset({"read", "note", "redact"}),
    "approver": frozenset({"read", "note", "approve"}),
    "auditor": frozenset({"read", "export"}),
    "operator": frozenset({"read", "take_over"}),
}


class Viewer(NamedTuple):
    """The person who looks."""

    name: str
    """How they are named on record."""
    tenants: Container[str]
    """Tenants whose evidence they may read."""
    roles: Mapping[str, frozenset[Role]] | None = None
    """Tenant → roles; None for the single user, who has every right."""
    account: str = ""
    """Who they are for the identity provider; empty where there is none."""

    def may_read(self, tenant: str) -> bool:
        """Whether evidence of ``tenant`` exists for this viewer."""
        return tenant in self.tenants

    def may(self, right: Right, tenant: str) -> bool:
        """Whether the viewer has a right at ``tenant``."""
        if not self.may_read(tenant):
            return False
        return self.roles is None or any(right in RIGHTS[role] for role in self.roles.get(tenant, ()))

    def roles_at(self, tenant: str) -> tuple[Role, ...]:
        """Roles held at ``tenant``, sorted; empty for the single user."""
        return () if self.roles is None else tuple(sorted(self.roles.get(tenant, ())))
