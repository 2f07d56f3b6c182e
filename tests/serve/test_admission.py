"""Enrolments that an operator limits: invitations, work, and tokens that somebody else signs."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from discreet.domain import InputError
from discreet.protocols.common import has_worked, work
from discreet.protocols.common.http import Refusal, ServiceClient
from discreet.serve import Invitations, SignedTokens, Work
from discreet.serve._changes import Enrol, Forget
from discreet.serve._store import Store
from serve._running import make_report, make_settings, running

_NOW = 1_800_000_000
_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_CODES = ("0123456789abcdef", "fedcba9876543210")


def part(content: Any) -> str:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def token(key: Ed25519PrivateKey = _KEY, alg: str = "EdDSA", **said: Any) -> str:
    payload = {"sub": "ada", "aud": "discreet", "exp": _NOW + 60} | said
    signed = f"{part({'alg': alg, 'typ': 'JWT'})}.{part(payload)}"
    return f"{signed}.{part(key.sign(signed.encode()))}"


def signed_tokens(folder: Path, *, pem: bool = True) -> SignedTokens:
    public, path = _KEY.public_key(), folder / "key"
    if pem:
        path.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    else:
        path.write_text(public.public_bytes_raw().hex())
    return SignedTokens(path, clock=lambda: _NOW)


def invitations(folder: Path) -> Invitations:
    path = folder / "codes"
    path.write_text("\n".join(_CODES))
    return Invitations(path)


def test_an_invitation_enrols_once(tmp_path: Path) -> None:
    with running(make_settings(tmp_path, admission=invitations(tmp_path))) as talk:
        assert talk.ask("GET", "/v1/enrolments").json() == {"admission": "invitation"}
        assert talk.ask("POST", "/v1/enrolments").status == 403
        wrong = talk.ask("POST", "/v1/enrolments", {"invitation": "a" * 16})
        assert wrong.status == 403 and "not known" in wrong.reason
        assert talk.ask("POST", "/v1/enrolments", {"code": "x"}).status in (403, 422)
        assert talk.ask("POST", "/v1/enrolments", b"[" * 9000).status == 413
        made = talk.ask("POST", "/v1/enrolments", {"invitation": _CODES[0]})
        assert made.status == 201
        again = talk.ask("POST", "/v1/enrolments", {"invitation": _CODES[0]})
        assert again.status == 403 and "already" in again.reason
        me = made.json()["capability"]
        assert talk.send(me, make_report()).status == 204
        # To leave does not open the door again: one invitation is one report at a time, ever.
        assert talk.ask("DELETE", "/v1/enrolment", secret=me).status == 204
        assert talk.ask("POST", "/v1/enrolments", {"invitation": _CODES[0]}).status == 403
        # The file may grow while the service runs.
        with (tmp_path / "codes").open("a") as file:
            file.write("\nanother-invitation\n")
        more = talk.ask("POST", "/v1/enrolments", {"invitation": "another-invitation"})
        assert more.status == 201


def test_whoever_misses_the_answer_asks_again(tmp_path: Path) -> None:
    mine, other = "m" * 43, "o" * 43
    with running(make_settings(tmp_path, admission=invitations(tmp_path))) as talk:
        asked = {"invitation": _CODES[0], "capability": mine}
        for _ in range(2):
            answer = talk.ask("POST", "/v1/enrolments", asked)
            assert (answer.status, answer.json()) == (201, {"capability": mine})
        assert talk.send(mine, make_report()).status == 204
        # It is nobody else's, and no way to a second enrolment.
        for wrong in ({"capability": other}, {}):
            again = talk.ask("POST", "/v1/enrolments", {"invitation": _CODES[0]} | wrong)
            assert again.status == 403 and "already" in again.reason
        for odd in ("short", 7, "é" * 43):
            answer = talk.ask("POST", "/v1/enrolments", asked | {"capability": odd})
            assert answer.status == 422
        assert talk.statistics()["enrolled"] == 1
        # A capability that was deleted is not brought back by its invitation.
        assert talk.ask("DELETE", "/v1/enrolment", secret=mine).status == 204
        assert talk.ask("POST", "/v1/enrolments", asked).status == 403


def test_the_client_shows_an_invitation_and_does_the_work(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with (
        running(make_settings(tmp_path / "one", admission=invitations(tmp_path))) as talk,
        ServiceClient(talk.url, tmp_path / "state") as client,
    ):
        with pytest.raises(Refusal, match="invitation"):
            client.enroll()
        assert client.enroll(_CODES[1]) and not client.enroll(_CODES[1])
    (tmp_path / "two").mkdir()
    with (
        running(make_settings(tmp_path / "two", admission=Work(6))) as talk,
        ServiceClient(talk.url, tmp_path / "other") as client,
    ):
        assert client.enroll()
        client.report(make_report())
    (tmp_path / "three").mkdir()
    with running(make_settings(tmp_path / "three")) as talk:
        assert talk.ask("GET", "/v1/enrolments").json() == {"admission": "open"}
        with ServiceClient(talk.url, tmp_path / "third") as client:
            assert client.enroll()


def test_work_is_for_one_enrolment_and_a_while() -> None:
    now = [1000.0]
    rule = Work(8, clock=lambda: now[0])
    asked = rule.ask()
    challenge = asked["challenge"]
    assert asked["bits"] == 8 and asked["admission"] == "work"
    nonce = work(challenge, 8)
    assert has_worked(challenge, nonce, 8)
    good = {"challenge": challenge, "nonce": nonce}
    once = rule.admit(good)
    # Work for the same challenge, spelt without its padding, is the same admission.
    bare = challenge.rstrip("=")
    assert bare != challenge
    assert rule.admit({"challenge": bare, "nonce": work(bare, 8)}) == once
    idle = next(str(n) for n in range(10**6) if not has_worked(challenge, str(n), 8))
    with pytest.raises(InputError, match="8 zero bits"):
        rule.admit(good | {"nonce": idle})
    for forged in (Work(8, clock=lambda: now[0]).ask()["challenge"], "", "A" * 54, "é"):
        with pytest.raises(InputError, match="not from here"):
            rule.admit({"challenge": forged, "nonce": work(forged, 8)})
    now[0] += 601
    with pytest.raises(InputError, match="too old"):
        rule.admit(good)
    for bits in (0, 33):
        with pytest.raises(InputError, match="bits"):
            Work(bits)


@pytest.mark.parametrize("pem", [True, False])
def test_a_token_enrols_whom_it_names_once(tmp_path: Path, pem: bool) -> None:
    rule = signed_tokens(tmp_path, pem=pem)
    once = rule.admit({"invitation": token()})
    assert rule.admit({"invitation": token(exp=_NOW + 99, aud=["x", "discreet"])}) == once
    assert rule.admit({"invitation": token(sub="grace")}) != once
    assert rule.admit({"invitation": token(iss="elsewhere")}) != once
    assert rule.admit({"invitation": token(sub="\ud800")}) != once


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (token(Ed25519PrivateKey.generate()), "not signed"),
        (token() + "x", "not signed"),
        ("." + token(), "not signed"),
        ("a.b", "not signed"),
        ("é.é.é", "not signed"),
        ("", "not signed"),
        (token(alg="none"), "EdDSA"),
        (token(aud="other"), "another service"),
        (token(aud=None), "another service"),
        (token(exp=_NOW), "not valid now"),
        (token(exp=None), "not valid now"),
        (token(nbf=_NOW + 1), "not valid now"),
        (token(sub=""), "who it is for"),
        (token(sub=7), "who it is for"),
    ],
)
def test_other_tokens_do_not(tmp_path: Path, made: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        signed_tokens(tmp_path).admit({"invitation": made})
    assert not made or made not in str(caught.value)


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for rule in (Invitations, SignedTokens):
        with pytest.raises(InputError, match="file"):
            rule(path)
    path.write_text("short")
    with pytest.raises(InputError, match="16 or more"):
        Invitations(path)
    with pytest.raises(InputError, match="Ed25519"):
        SignedTokens(path)


def test_an_admission_counts_once_within_a_group_and_later(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "db"))
    one, two, three, four = (bytes([n]) * 32 for n in range(4))
    group = [Enrol(one, b"x" * 32), Enrol(two, b"x" * 32), Enrol(three)]
    assert store.submit(group).result(10) == [True, None, True]
    assert store.submit([Enrol(four, b"x" * 32)]).result(10) == [None]
    assert store.enrolled({one, two, three, four}) == {one, three}
    store.close()


def test_asking_again_before_the_answer_uses_an_admission_up_once(tmp_path: Path) -> None:
    """A client that waited too long asks again while its first request is still to be written."""
    store = Store(str(tmp_path / "db"))
    mine, other, code, spare = (bytes([n]) * 32 for n in range(4))
    group = [Enrol(mine, code), Enrol(mine, code), Enrol(other, code), Enrol(mine, spare)]
    assert store.submit(group).result(10) == [True, True, None, True]
    assert store.submit([Enrol(mine, code), Enrol(mine, spare)]).result(10) == [True, True]
    assert store.enrolled({mine, other}) == {mine}
    # The spare one was not needed, and admits somebody else.
    assert store.submit([Enrol(other, spare)]).result(10) == [True]
    # Who has left is not brought back.
    assert store.submit([Forget(mine), Enrol(mine, code)]).result(10) == [True, None]
    assert store.submit([Enrol(mine, code)]).result(10) == [None]
    store.close()
