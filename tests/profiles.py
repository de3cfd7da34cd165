"""Hypothesis profiles: how many examples a property is tried on.

`HYPOTHESIS_PROFILE` selects one: `dev` (10 examples, `make check`), `ci` (50, `make test` and the default) or
`deep` (500). `ci` tries the same examples in every run, the others new ones. A property with slow examples
takes fewer of them with :func:`fewer`.
"""

import os

import hypothesis

N_EXAMPLES = {"dev": 10, "ci": 50, "deep": 500}

# No deadlines: a busy machine generates examples as slowly as it runs them.
_UNTIMED = {
    "deadline": None,
    "suppress_health_check": [
        hypothesis.HealthCheck.too_slow,
        hypothesis.HealthCheck.function_scoped_fixture,  # examples do not change the fixtures
    ],
}


def load_profile():
    """Register the profiles and load the selected one."""
    for name, n_examples in N_EXAMPLES.items():
        hypothesis.settings.register_profile(
            name, max_examples=n_examples, derandomize=name == "ci", **_UNTIMED
        )
    hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def fewer(times):
    """Return settings with the examples of the profile divided by `times`, at least two."""
    return hypothesis.settings(max_examples=max(2, hypothesis.settings().max_examples // times))
