"""Fixtures that give a test a home of the embedded server; named by ``pytest_plugins``."""

from collections.abc import Iterator

import pytest
from homes import FAST, NewHome, copy_of, free_port, new_folder, remove

from memory import postgres
from memory.settings import Settings


@pytest.fixture
def new_home() -> Iterator[NewHome]:
    """Return a function that gives settings for a home that does not exist yet."""
    made: list[Settings] = []

    def make(*parts: str) -> Settings:
        settings = Settings(home=new_folder().joinpath(*(parts or ("home",))), port=free_port())
        made.append(settings)
        return settings

    yield make
    for settings in made:
        remove(settings)


@pytest.fixture(scope="session")
def pattern() -> Iterator[Settings]:
    """Return settings of a home that is set up and not running; copy it, never start it."""
    settings = Settings(home=new_folder() / "home", port=free_port())
    postgres.ensure(settings, options=FAST)
    postgres.stop(settings)
    yield settings
    remove(settings)


@pytest.fixture
def home(pattern: Settings, new_home: NewHome) -> Settings:
    """Return settings of a home of the test's own that is set up and not running."""
    return copy_of(pattern, new_home())


@pytest.fixture(scope="session")
def running(pattern: Settings) -> Iterator[Settings]:
    """Return settings of a server that runs, for tests that leave it as they find it."""
    settings = copy_of(pattern, Settings(home=new_folder() / "home", port=free_port()))
    postgres.ensure(settings, options=FAST)
    yield settings
    remove(settings)
