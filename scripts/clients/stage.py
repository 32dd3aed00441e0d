"""A fresh home with an empty ledger and the three clients, which talk to the mock model."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import asyncpg
from mock_model import SEARCH, Model, plan
from packages import Packages
from sqlalchemy import make_url

from memory import postgres
from memory.settings import Settings

__all__ = ["ROOT", "Session", "Stage", "stage"]

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PROGRAM: Final = ROOT / ".venv" / "bin" / "memory"
SECONDS: Final = 150  # for one run of a client
_UP_SECONDS: Final = 600  # for scripts/up, which may have packages to install
_PROVIDERS: Final = {
    ".codex/config.toml": """\
# Written by scripts/check-clients.
model_provider = "mock"
notify = ["touch", "{home}/notified"] # the user's own

[model_providers.mock]
name = "Mock"
base_url = "{url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
""",
    ".config/opencode/opencode.jsonc": """\
{{
  // Written by scripts/check-clients.
  "$schema": "https://opencode.ai/config.json",
  "model": "mock/mock",
  "provider": {{
    "mock": {{
      "npm": "@ai-sdk/openai-compatible",
      "name": "Mock",
      "options": {{"baseURL": "{url}/v1"}},
      "models": {{"mock": {{"tool_call": true, "limit": {{"context": 200000, "output": 8000}}}}}},
    }},
  }},
}}
""",
    ".claude/settings.json": '{{\n  "includeCoAuthoredBy": false\n}}\n',
}
_RUN: Final = {
    "claude": ["claude", "-p", "--allowedTools", "mcp__shared-memory", "--"],
    "codex": ["codex", "exec", "--skip-git-repo-check"],
    "opencode": ["opencode", "run"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of a client: what it was told and printed, when it ended, what its model was asked."""

    client: str
    words: str
    output: str
    ended_at: float
    requests: list[dict[str, Any]]

    def results(self) -> list[str]:
        """Return what the tools answered, as the model was told, in their order."""
        last: list[str] = []
        for body in self.requests:
            found = [json.dumps(each, ensure_ascii=False) for each in _results(body)]
            last = max(last, found, key=len)
        plain = [each.replace("\\", "") for each in last]
        return [each for each in plain if not each.startswith('[{"type": "tool_reference"')]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The fresh home and what is needed to run a client in it."""

    home: Path
    project: Path
    ledger: Path
    packages: Packages
    model: Model

    def environment(self) -> dict[str, str]:
        """Return a clean environment: a fake key, no update, nothing of the caller's."""
        return {
            "PATH": f"{self.packages.clients}:{self.packages.node.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "MEMORY_HOME": str(self.ledger),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "fake",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "MOCK_KEY": "fake",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def run(
        self, *command: str | Path, seconds: float = SECONDS, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the project, in that environment."""
        try:
            return subprocess.run(
                list(map(str, command)),
                env=self.environment() | extra,
                cwd=self.project,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no end in {seconds} s")

    def memory(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run this program. Raises RuntimeError when it fails."""
        done = self.run(PROGRAM, *arguments, **extra)
        if done.returncode:
            raise RuntimeError(f"memory {shlex.join(arguments)}: {done.stdout}{done.stderr}")
        return done

    def session(self, client: str, words: str, *calls: tuple[str, dict[str, Any]]) -> Session:
        """Let a client have a conversation in which its model calls these tools.

        Claude Code does not wait for a server before it asks the model: it tells that one is still
        starting, and the model is to search for its tools.
        """
        before = len(self.model.requests)
        if client == "claude" and calls:
            names = ",".join(f"mcp__shared-memory__{name}" for name, _ in calls)
            calls = ((SEARCH, {"query": f"select:{names}"}), *calls)
        done = self.run(*_RUN[client], f"{words} {plan(*calls)}" if calls else words)
        return Session(
            client=client,
            words=words,
            output=done.stdout + done.stderr,
            ended_at=time.time(),
            requests=self.model.requests[before:],
        )

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Keep an importer running meanwhile, as users do."""
        with subprocess.Popen(
            [PROGRAM, "watch"],
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                yield
            finally:
                process.terminate()

    def settings(self) -> Settings:
        """Return the settings of the ledger."""
        return Settings.from_environment(self.environment())

    async def recorded_at(self, client: str, words: str) -> float | None:
        """Return when a message with these words came into the ledger, None for not yet."""
        url = make_url(postgres.application_url(self.settings())).set(drivername="postgresql")
        connection = await asyncpg.connect(url.render_as_string(hide_password=False))
        try:
            found = await connection.fetchval(
                "SELECT extract(epoch FROM min(recorded_at))::float8 FROM entries"
                " WHERE kind = 'message' AND source_client = $1 AND position($2 in content) > 0",
                client,
                words,
            )
        finally:
            await connection.close()
        return None if found is None else float(found)


@contextlib.contextmanager
def stage(packages: Packages) -> Iterator[Stage]:
    """Make the home, with the ledger set up, and remove everything at the end."""
    base = Path(tempfile.mkdtemp(prefix="check-clients-"))
    base.chmod(0o755)  # the server's own account has to reach the ledger when this runs as root
    with Model() as model:
        found = Stage(
            home=base / "home",
            project=base / "project",
            ledger=base / "ledger",
            packages=packages,
            model=model,
        )
        found.project.mkdir()
        for name, text in _PROVIDERS.items():
            path = found.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(url=model.url, home=found.home), "utf-8")
        # What OpenCode does once for each user, which takes minutes where the network is slow.
        for name in ("node_modules", "package.json", "package-lock.json"):
            command = ["cp", "-a", packages.plugins / name, found.home / ".config" / "opencode"]
            subprocess.run(command, check=True)
        try:
            done = found.run(ROOT / "scripts" / "up", "--no-import", seconds=_UP_SECONDS)
            if done.returncode:
                raise RuntimeError(f"scripts/up: {done.stdout}{done.stderr}")
            yield found
        finally:
            found.run(PROGRAM, "pg", "stop")
            if "KEEP" not in os.environ:
                shutil.rmtree(base, ignore_errors=True)


def _results(body: dict[str, Any]) -> Iterator[Any]:
    """Yield the results of tools in what a client sends to any of the three interfaces."""
    for message in body.get("messages") or []:
        content = message.get("content")
        if message.get("role") == "tool":
            yield content
        elif isinstance(content, list):
            yield from (each["content"] for each in content if each.get("type") == "tool_result")
    for item in body.get("input") or []:
        if str(item.get("type")).endswith("_call_output"):
            yield item.get("output")
