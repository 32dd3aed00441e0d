"""What the files of git say of a directory, compared with what git itself makes."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from memory.workplace import DISK, MAX_DEPTH, Workplace, look, settled

ADDRESS = "git@github.com:me/app.git"
REMOTE = "github.com/me/app"


def git(folder: Path, *arguments: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@example.org",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.org",
    }
    program = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
    subprocess.run(
        [*program, *arguments], cwd=folder, env=environment, check=True, capture_output=True
    )


def repository(folder: Path, *, address: str | None = ADDRESS) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "first")
    if address:
        git(folder, "remote", "add", "origin", address)
    return folder


def test_a_repository_is_its_root_and_origin_from_every_folder_in_it(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    inner = app / "src" / "deep"
    inner.mkdir(parents=True)
    for folder in (app, inner, app / ".git" / "refs"):
        assert look(str(folder)) == Workplace(
            directory=str(folder), root=str(app), remotes=(REMOTE,)
        )


def test_worktrees_are_folded_into_their_repository(tmp_path: Path) -> None:
    app = repository(tmp_path / "app", address=None)
    for place in (tmp_path / "beside", app / ".claude" / "worktrees" / "trial"):
        git(app, "worktree", "add", "--detach", str(place))
        assert look(str(place)) == Workplace(directory=str(place), root=str(app))
    git(app, "remote", "add", "origin", ADDRESS)
    assert look(str(tmp_path / "beside")).remotes == (REMOTE,)


def test_a_worktree_that_was_pruned_is_still_folded(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    place = tmp_path / "beside"
    git(app, "worktree", "add", "--detach", str(place))
    moved = tmp_path / "moved"
    place.rename(moved)
    git(app, "worktree", "prune")
    assert look(str(moved)).root == str(app)
    assert look(str(moved)).remotes == (REMOTE,)


def test_a_bare_repository_beside_its_worktrees_is_one(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--bare", str(app), str(bare))
    assert look(str(bare)).root == str(bare)
    assert look(str(bare)).remotes == (f"file:{app}",)
    around = tmp_path / "around"
    around.mkdir()
    git(around, "clone", "--bare", str(app), str(around / ".bare"))
    (around / ".git").write_text("gitdir: ./.bare\n")
    git(around, "worktree", "add", "--detach", str(around / "main"))
    assert look(str(around)).root == str(around)
    assert look(str(around / "main")).root == str(around)


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    library = repository(tmp_path / "library", address=None)
    app = repository(tmp_path / "app")
    git(app, "submodule", "add", str(library), "vendor/library")
    inner = app / "vendor" / "library"
    assert look(str(inner)) == Workplace(
        directory=str(inner), root=str(inner), remotes=(f"file:{library}",)
    )
    assert look(str(app / "vendor")).remotes == (REMOTE,)


def test_a_git_folder_that_is_kept_apart_belongs_to_its_work_tree(tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    git(app, "init", "--separate-git-dir", str(tmp_path / "apart.git"))
    assert look(str(app)).root == str(app)


def test_a_symbolic_link_leads_to_the_same_repository(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    (app / "src").mkdir()
    (tmp_path / "link").symlink_to(app / "src")
    assert look(str(tmp_path / "link")).root == str(app)


@pytest.mark.parametrize(
    ("config", "remotes"),
    [
        ('[remote "origin"]\n\turl = {0}\n[remote "upstream"]\n\turl = h:b', (REMOTE,)),
        ('[remote "mine"]\n\turl = {0}\n', (REMOTE,)),
        ('[remote "a"]\nurl = h:b\n[remote "b"]\nurl = h:a', ("h2/a", "h2/b")),
        ('[REMOTE "origin"] URL = "{0}" ; a comment', (REMOTE,)),
        ('[remote "origin"]\r\n\turl = {0}\r\n', (REMOTE,)),
        ('[remote "origin"]\n\turl = {0} # one\n\turl = h:second', (REMOTE,)),
        ('[remote "origin"]\n\tpushurl = {0}', ()),
        (
            '[remote "origin"]\n\turl = gh:me/app\n[url "git@github.com:"]\n\tinsteadOf = "gh:"',
            (REMOTE,),
        ),
        ('\ufeff[remote "origin"]\n\turl = git@github\\\n.com:me/app.git', (REMOTE,)),
        ("[include]\n\tpath = other\n", ()),
        ('[remote "origin"\nurl = {0}\n[[[\n\x00\n', ()),
        ("", ()),
    ],
)
def test_the_remote_that_counts_is_origin_or_the_only_one(
    config: str, remotes: tuple[str, ...]
) -> None:
    text = config.replace("{0}", ADDRESS).replace("h:", "h2:")
    files = {
        "/a": b"",
        "/a/.git": b"",
        "/a/.git/HEAD": b"ref: refs/heads/main\n",
        "/a/.git/config": text.encode(),
    }
    disk = replace(DISK, read=files.get, real=lambda path: path)
    assert look("/a", disk=disk) == Workplace(directory="/a", root="/a", remotes=remotes)


def test_what_a_client_recorded_counts_before_the_disk(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    recorded = Workplace(directory=str(app), remotes=("host/other",))
    assert settled(recorded) == recorded
    assert settled(Workplace(directory=str(app), root="/recorded")).remotes == (REMOTE,)
    gone = Workplace(directory=str(tmp_path / "gone"), root="/recorded")
    assert settled(gone) == gone


def test_a_directory_that_is_gone_belongs_to_no_repository(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    gone = str(app / "gone")
    assert look(gone) == Workplace(directory=gone)
    worktree = f"{app}/.claude/worktrees/gone"
    assert look(worktree) == Workplace(directory=worktree, root=str(app))


@pytest.mark.parametrize("directory", ["relative", "C:\\app", "/no\x00where", "~/app", ""])
def test_what_is_no_directory_of_this_disk_is_not_looked_up(directory: str) -> None:
    assert look(directory) == Workplace(directory=directory)


def test_a_damaged_git_file_hides_nothing_above_it(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    for name, text in {"a": "", "b": "no pointer", "c": "gitdir:\n"}.items():
        (app / name).mkdir()
        (app / name / ".git").write_text(text)
        assert look(str(app / name)).directory == str(app / name)
    (app / "d").mkdir()
    os.mkfifo(app / "d" / ".git")
    assert look(str(app / "d")).root == str(app)


def test_a_repository_far_above_is_not_looked_for(tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    deep = app.joinpath(*["d"] * (MAX_DEPTH + 1))
    deep.mkdir(parents=True)
    assert look(str(deep)).root is None
