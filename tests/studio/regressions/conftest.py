"""Complete studios, as for the tests of the service."""

from studio.service.conftest import open_studio

__all__ = ["open_studio"]
