"""Two studios on one machine, which browsers treat as one host."""

import pytest

from studio.http.web import Site
from studio.service.desk import open_desk

pytest.importorskip("fastapi")


def test_logging_in_to_a_second_studio_keeps_the_session_of_the_first(tmp_path):
    sites = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        sites.append(Site(open_desk(tmp_path / name)))
    try:
        first, second = (site.owner() for site in sites)
        jar = {**first.cookies, **second.cookies}  # one browser; cookies are shared between ports
        for site in sites:
            client = site.stranger()
            client.cookies.update(jar)
            assert client.get("/api/me").status_code == 200
    finally:
        for site in sites:
            site.close()


def test_a_locked_out_owner_gets_no_login_link(tmp_path):
    desk = open_desk(tmp_path)
    try:
        other = desk.person("Other", "owner")
        desk.studio.people.set_active(desk.owner.id, False, other)
        found = desk.studio.people.get_owner()
        assert found == other
        person, _ = desk.studio.people.log_in(desk.studio.people.make_link_token(found.id))
        assert person == other
    finally:
        desk.close()
