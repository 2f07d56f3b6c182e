"""Who published a file: signatures hold for one file and one key, and nothing else."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from cli._calling import call
from discreet.domain import InputError
from discreet.release import Signature, sign, signature_path, verify
from release._making import random_release


@pytest.fixture
def path(tmp_path: Path) -> Path:
    random_release().save(tmp_path / "films.discreet")
    return tmp_path / "films.discreet"


def test_a_signature_is_of_one_file_and_one_key(path: Path, tmp_path: Path) -> None:
    made = sign(path, tmp_path / "a.key")
    assert verify(path, made.public_key) == verify(path, made.public_key.upper()) == made
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    assert sign(path, tmp_path / "a.key") == made  # the key is kept, and Ed25519 has no chance
    other = sign(path, tmp_path / "b.key")
    assert other.public_key != made.public_key
    with pytest.raises(InputError, match="is signed with another key"):
        verify(path, made.public_key)
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)
    with pytest.raises(InputError, match="was changed since"):
        verify(path, other.public_key)


def test_a_signature_of_another_file_is_refused_though_it_names_this_one(path: Path) -> None:
    made = sign(path, path.with_name("a.key"))
    other = path.with_name("other.discreet")
    random_release(seed=2).save(other)
    theirs = sign(other, path.with_name("a.key"))
    mixed = Signature(made.public_key, made.sha256, theirs.signature)
    assert not mixed.is_of(made.sha256) and not theirs.is_of(made.sha256)
    assert made.is_of(made.sha256)


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"public_key": 3}', "\x00",
        # Digits enough, but a number.
        f'{{"public_key": "{"0" * 64}", "sha256": "{"0" * 64}", "signature": {"1" * 128}}}',
    ],
)  # fmt: skip
def test_what_is_no_signature_is_refused(path: Path, content: str) -> None:
    signature_path(path).write_text(content)
    with pytest.raises(InputError, match="is not the signature of a release"):
        verify(path, "0" * 64)


def test_openssl_agrees(path: Path, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is absent")
    made = sign(path, tmp_path / "a.key")
    (tmp_path / "message").write_bytes(b"discreet release 1\n" + bytes.fromhex(made.sha256))
    (tmp_path / "signature").write_bytes(bytes.fromhex(made.signature))
    told = ["openssl", "pkeyutl", "-verify", "-rawin", "-inkey", str(tmp_path / "a.key"), "-in",
            str(tmp_path / "message"), "-sigfile", str(tmp_path / "signature")]  # fmt: skip
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    assert "Verified Successfully" in done.stdout, done


def test_the_commands_sign_and_verify(path: Path, tmp_path: Path) -> None:
    done = call("sign", path, "--key", tmp_path / "a.key")
    assert done.code == 0 and "keep it safe" in done.err
    key = json.loads(signature_path(path).read_text())["public_key"]
    assert key in done.out
    shown = call("verify", path, "--public-key", key)
    assert shown.code == 0 and key in shown.out and "no guarantee" in shown.out
    assert "another key" in call("verify", path, "--public-key", "0" * 64).complaint()
    assert "64 hexadecimal" in call("verify", path, "--public-key", "abc").complaint()
    (tmp_path / "b.key").write_text("no key")
    assert "is not an Ed25519 key" in call("sign", path, "--key", tmp_path / "b.key").complaint()
    signature_path(path).unlink()
    assert "cannot be read" in call("verify", path, "--public-key", key).complaint()
