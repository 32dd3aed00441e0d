"""One name for a repository, however its address is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.remotes import LONGEST_REMOTE, name_of_remote, normalised

SAME = [
    "https://github.com/me/app.git",
    "https://github.com/me/app",
    "https://github.com/me/app/",
    "HTTPS://GitHub.COM:443/me/app.git",
    "https://user:word@github.com/me/app.git",
    "https://" + "x" * 40 + "@github.com/me/app.git?access=1#part",
    "git@github.com:me/app.git",
    "github.com:me/app",
    "[git@github.com:22]:me/app.git",
    "ssh://git@github.com/me/app.git",
    "ssh://git@ssh.github.com:443/me/app.git",
    "git+ssh://git@github.com:22/me//app.git",
    "git://github.com:9418/me/app.git",
    "https://github.com/Me/App.git",
    "  https://github.com/me/app.git\n",
]


@pytest.mark.parametrize("address", SAME)
def test_one_repository_has_one_name_in_every_form_of_address(address: str) -> None:
    assert normalised(address) == "github.com/me/app"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://git.example.org:8443/a/B.git", "git.example.org:8443/a/B"),
        ("ssh://git@git.example.org:2222/a/B.git", "git.example.org/a/B"),
        ("https://[2001:DB8::1]/a/b", "2001:db8::1/a/b"),
        ("git@[2001:db8::1]:a/b", "2001:db8::1/a/b"),
        ("https://git.example.org/a%20b/c", "git.example.org/a b/c"),
        ("host:~me/app.git", "host/~me/app"),
        ("file:///srv/git/app.git", "file:/srv/git/app"),
        ("file://localhost/srv/git/app.git", "file:/srv/git/app"),
        ("file://Server/share/app", "file://server/share/app"),
        ("/srv/git/app.git/", "file:/srv/git/app"),
        ("/srv/app/.git", "file:/srv/app"),
        ("../other.git", "file:/home/me/other"),
        ("C:\\git\\app.git", "file:C:/git/app"),
    ],
)
def test_hosts_ports_and_paths_are_told_apart(address: str, name: str) -> None:
    assert normalised(address, base="/home/me/app") == name


@pytest.mark.parametrize(
    "address",
    [
        "",
        " ",
        "https://",
        "https://github.com",
        "https://host:port/a/b",
        "https://[broken/a/b",
        "ext::sh -c something",
        "codecommit::eu-west-1://app",
        "/",
        "a\x00b",
        "https://h/" + "a" * LONGEST_REMOTE,
    ],
)
def test_what_names_no_repository_gives_no_name(address: str) -> None:
    assert normalised(address) is None


def test_forks_have_names_of_their_own() -> None:
    assert normalised("git@github.com:me/app.git") != normalised("git@github.com:you/app.git")


def test_a_relative_path_without_its_repository_names_nothing() -> None:
    assert normalised("../other.git") is None


def test_the_name_of_a_repository_is_the_last_part() -> None:
    assert name_of_remote("github.com/me/app") == "app"


@given(st.text(max_size=40), st.text(alphabet="abc:@/[]%.\\", max_size=40))
def test_any_address_is_survived_and_never_shows_its_user(free: str, signs: str) -> None:
    for address in (free, signs, f"https://{signs}@host.example/a/b", f"ssh://{free}"):
        found = normalised(address)
        assert found is None or found
    secret = normalised("https://me:word-not-to-be-seen@host.example/a/b")
    assert secret == "host.example/a/b"


@given(st.sampled_from(SAME[:-1]))
def test_a_name_is_its_own_name(address: str) -> None:
    name = normalised(address)
    assert name is not None
    assert normalised(f"https://{name}") == name
