"""The OpenAPI document is accurate: responses match it, and no request makes the server fail."""

import warnings
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, settings

from studio.http.web import HOST, answer, ask

schemathesis = pytest.importorskip("schemathesis")

# One never ends, the others would end what the test needs; test_server and test_door cover them.
LEFT_OUT = ("/api/events", "/api/logout", "/api/people/{person}/active")
N_EXAMPLES = 3  # of each operation: this is to notice a document that is wrong, not to search for days


@pytest.fixture(scope="module")
def client(shared):
    client = shared.owner()
    for word in ("SAME", "DIFFERENT"):
        answer(client, ask(client)[0], word)
    shared.desk.settle()
    return client


def operations(document):
    return [(method.upper(), path) for path, item in document["paths"].items() for method in item]


def test_the_document_lists_every_operation_and_its_errors(shared):
    document = shared.stranger().get("/api/openapi.json").json()
    found = operations(document)
    assert len(found) >= 30
    for method, path in found:
        described = document["paths"][path][method.lower()]
        assert described["summary"]
        assert described["description"]
        assert {"200", "401", "422", "503"} <= set(described["responses"])


def conforms(document, operation, response):
    """Check an answer against its schema; schemathesis reads the tuples of OpenAPI 3.1 as those of 3.0."""
    import jsonschema_rs

    described = document["paths"][operation.path][operation.method.lower()]["responses"]
    content = described[str(response.status_code)].get("content", {})
    schema = content.get("application/json", {}).get("schema")
    if schema is not None and response.headers["content-type"] == "application/json":
        whole = {"components": document["components"], **schema}
        jsonschema_rs.Draft202012Validator(whole).validate(response.json())


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_every_request_is_answered_as_documented(client, mode):
    """With requests that the document allows, and with others."""
    document = client.get("/api/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    tried, seen = 0, Counter()
    for outcome in schema.get_all_operations():
        operation = outcome.ok()
        if operation.path not in LEFT_OUT:
            seen += _try_out(document, operation, client, mode)
            tried += 1
    assert tried >= 30
    assert seen[422] > 20 if mode == "NEGATIVE" else seen[200] > 20


def _try_out(document, operation, client, mode):
    from hypothesis.errors import Unsatisfiable
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

    checks = (not_a_server_error, status_code_conformance, content_type_conformance)

    @settings(
        max_examples=N_EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @_give_cases(operation, mode)
    def attempt(case):
        request = case.as_transport_kwargs(base_url=f"http://{HOST}")
        request["headers"] = {**dict(request.get("headers") or {}), "X-Likewise": "1"}
        request.pop("cookies", None)
        response = client.request(**request)
        case.validate_response(response, checks=checks)
        conforms(document, operation, response)
        statuses[response.status_code] += 1

    statuses = Counter()
    # For an operation without parameters no invalid request can be generated.
    with warnings.catch_warnings(), suppress(Unsatisfiable):
        warnings.simplefilter("ignore")
        attempt()
    return statuses


def _give_cases(operation, mode):
    from hypothesis import given
    from schemathesis.generation import GenerationMode

    return given(case=operation.as_strategy(generation_mode=GenerationMode[mode]))
