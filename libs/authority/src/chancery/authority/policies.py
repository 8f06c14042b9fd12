"""The answer policy of a workspace: what holds when none was set, and its hash."""

from __future__ import annotations

from chancery.authority.states import PolicyState
from chancery.kernel.canonical import canonical_hash

NO_POLICY = PolicyState(policy_revision="0", modes=("auto", "rag", "data"), language="en")
"""What holds in a workspace that never set a policy."""


def effective_policy(state: PolicyState | None) -> PolicyState:
    """Return the policy that holds now."""
    return NO_POLICY if state is None else state


def policy_hash(state: PolicyState | None) -> str:
    """Return the hash of the policy that holds now, over revision, modes and language."""
    policy = effective_policy(state)
    return canonical_hash(
        {
            "policy_revision": policy.policy_revision,
            "modes": policy.modes,
            "language": policy.language,
        }
    )
