"""Tokens whose issuer gave them a prefix of their own."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from memory.crud_secret.anchors import Places
from memory.crud_secret.values import is_wordy

__all__ = ["ANCHORS", "find_prefixed", "starts_token"]

LONGEST_TOKEN: Final = 4096
"""A longer run is data in base64 that a prefix occurs in by chance."""

# What may stand before a token although it ends in a letter or digit: an escape in JSON or a
# source file, a percent-encoded byte, a terminal's colour.
_ESCAPE_BEFORE: Final = re.compile(
    r"(?:\\[nrtbfv0]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\x1b\[[0-9;]{0,12}m)\Z"
)
_ESCAPE_LENGTH: Final = 16


@dataclass(frozen=True, slots=True)
class _Rule:
    """A token begins with one of the anchors; the pattern is matched there."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    glued: bool = True  # may follow a letter or digit directly
    exact: bool = False  # length and alphabet say enough; the body may look like a word


def _rule(
    kind: str,
    anchors: str,
    pattern: str,
    *,
    glued: bool = True,
    exact: bool = False,
) -> _Rule:
    compiled = re.compile(pattern, re.ASCII)
    return _Rule(kind, tuple(anchors.split()), compiled, glued, exact)


_BODY: Final = r"[\w-]{16,}"

# Forms as the issuers' documentation and their tokens show them. A body is taken to the end of
# its run, so that no rest of a longer token stays behind.
_RULES: Final = (
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{10,}"),
    _rule("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", rf"[rs]k_(?:live|test)_{_BODY}"),
    _rule("stripe-webhook-secret", "whsec_", r"whsec_[\w+/=-]{16,}"),
    _rule(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"gh[pousr]_(?:[A-Za-z0-9]{20,}|\d+_eyJ[\w.-]{20,})",
    ),
    _rule("github-token", "github_pat_", r"github_pat_\w{20,}"),
    _rule(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt-",
        r"gl[a-z]{2,5}-[\w-]{16,}(?:\.[a-z0-9]{2}\.[a-z0-9]{7,12})?",
    ),
    _rule(
        "aws-key-id", "AKIA ASIA", r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9+/])", glued=False, exact=True
    ),
    _rule("google-key", "AIza", r"AIza[\w-]{35,45}(?![\w-])", glued=False, exact=True),
    _rule("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    _rule("google-oauth-token", "ya29.", r"ya29\.[\w-]{20,}(?:\.[\w-]+)*"),
    _rule("google-oauth-token", "1//0", r"1//0[\w-]{30,}", glued=False),
    _rule(
        "slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxr- xoxs-", r"xox[a-s]-[\w%-]{10,}"
    ),
    _rule("slack-token", "xapp-", r"xapp-\d-[\w-]{10,}"),
    _rule(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,}",
    ),
    _rule(
        "discord-webhook",
        "/api/webhooks/",
        r"/api/webhooks/\d{10,}/[\w-]{40,}",
        exact=True,
    ),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{30,}", glued=False),
    _rule("pypi-token", "pypi-", r"pypi-[\w-]{32,}"),
    _rule("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}", glued=False),
    _rule(
        "sendgrid-key",
        "SG.",
        r"SG\.[\w-]{16,32}\.[\w-]{32,}",
        glued=False,
        exact=True,
    ),
    _rule("twilio-key", "SK", r"SK[0-9a-f]{32}(?![\w-])", glued=False, exact=True),
    _rule("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{32,}"),
    _rule(
        "databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![\w-])", glued=False, exact=True
    ),
    _rule("azure-sas", "sig=", r"sig=[A-Za-z0-9%+/]{40,}={0,2}", glued=False),
    _rule("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    _rule("telegram-token", ":AA", r"(?<=\d{8}):(AA[\w-]{33})(?![\w-])", exact=True),
    _rule("vault-token", "hvs. hvb.", r"hv[sb]\.[\w-]{20,}", glued=False),
    _rule("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}(?![\w-])", glued=False, exact=True),
    # Prefixes of further issuers, alike in form.
    _rule(
        "service-token",
        "gsk_ xai- pplx- ntn_ lin_api_ shpat_ shpss_ shpca_ shppa_ glsa_ glc_ sntrys_ sntryu_"
        " dckr_pat_ PMAK- pul- sbp_ sb_secret_ pscale_tkn_ pscale_pw_ NRAK- ATATT3x tskey- figd_"
        " CCIPAT_ rubygems_ HRKU- nfp_ sq0atp- sq0csp- fm2_ phx_ lsv2_ tvly- nvapi-",
        r"[\w-]{20,}={0,2}",
        glued=False,
    ),
    # OpenAI's form, which many others copied (sk-proj-…, sk-or-v1-…, sk-…).
    _rule("openai-key", "sk-", r"sk-[\w-]{20,}", glued=False),
    _rule("service-token", "sk_", r"sk_[A-Za-z0-9]{32,}", glued=False),
)


_NUMBERED: Final = {
    anchor: (number, rule)
    for number, (anchor, rule) in enumerate(
        (anchor, rule) for rule in _RULES for anchor in rule.anchors
    )
}
ANCHORS: Final = tuple(_NUMBERED)


def find_prefixed(text: str, places: Places) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of every token with a known prefix."""
    for anchor in sorted(places.keys() & _NUMBERED.keys(), key=_NUMBERED.__getitem__):
        yield from _find(text, _NUMBERED[anchor][1], anchor, places[anchor])


def _find(
    text: str, rule: _Rule, anchor: str, starts: Iterable[int]
) -> Iterator[tuple[str, int, int]]:
    resume = 0
    for start in starts:
        if start < resume or not (rule.glued or starts_token(text, start)):
            continue
        found = rule.pattern.match(text, start)
        if found:
            # The body is looked at from the anchor's end: a prefix is made of words.
            if len(found[0]) <= LONGEST_TOKEN and _is_token(
                found[0][len(anchor) :], exact=rule.exact
            ):
                yield rule.kind, found.start(found.lastindex or 0), found.end()
            resume = found.end()


def starts_token(text: str, start: int) -> bool:
    """Tell whether a token may begin here: not in the middle of a word."""
    if start == 0:
        return True
    before = text[start - 1]
    if not (before.isascii() and before.isalnum()):
        return True
    reach = max(0, start - _ESCAPE_LENGTH)
    tail = text[reach:start]
    if not ("\\" in tail or "%" in tail or "\x1b" in tail):
        return False
    return _ESCAPE_BEFORE.search(tail) is not None


def _is_token(body: str, *, exact: bool) -> bool:
    return "EXAMPLE" not in body.upper() and (exact or not is_wordy(body))
