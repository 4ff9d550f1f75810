"""The companion of the linter: proves on real modules what the linter claims about their source.

Needs torch and nothing else; the linter does not need it.
"""

from lintinit.runtime.assertion import assert_initialized
from lintinit.runtime.audit import audit
from lintinit.runtime.dummy_load import initialize_dummy_weights
from lintinit.runtime.hash_topk import HashTopK
from lintinit.runtime.outcome import VerifyReport
from lintinit.runtime.report import AuditReport
from lintinit.runtime.verify import verify_routing, verify_target

__all__ = [
    "AuditReport",
    "HashTopK",
    "VerifyReport",
    "assert_initialized",
    "audit",
    "initialize_dummy_weights",
    "verify_routing",
    "verify_target",
]
