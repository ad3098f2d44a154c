"""What Schemathesis must not do to the things that its own requests need: run.ts names them."""

import os

import schemathesis

PROTECTED = frozenset(os.environ["CONTRACT_PROTECTED"].split())
# Well-formed, and nobody has it.
UNKNOWN_ID = "0198a5a0-0000-7000-8000-000000000000"


@schemathesis.hook
def before_call(context, case, kwargs):
    """A deletion, or a change by the operator, of the key, domain or workspace in use goes to an unknown id."""
    is_harmful = case.method == "DELETE" or (case.path.startswith("/api/v1/operator/") and case.method != "GET")
    if not is_harmful or not isinstance(case.path_parameters, dict):
        return
    for name, value in case.path_parameters.items():
        if str(value).lower() in PROTECTED:
            case.path_parameters[name] = UNKNOWN_ID
