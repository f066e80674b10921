# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/cached: an object is taken from the cache, except where the assembler took in a file."""

import os
import pathlib
import shutil
import subprocess

import pytest

CACHED = pathlib.Path(__file__).parents[2] / "kernel" / "cached"
TAKES_IN = {"wrap.S": '.incbin "image"\n', "config.c": 'asm(".incbin \\"image\\"");\n'}

if not shutil.which("ccache"):
    pytest.skip("no ccache: install-packages kernel", allow_module_level=True)


def _compile(source: pathlib.Path) -> bytes:
    """As kernel/build has it compiled."""
    built = source.with_suffix(".o")
    built.unlink(missing_ok=True)
    subprocess.run([CACHED, "gcc", f"-Wp,-MMD,{source}.d", "-c", "-o", built.name, source.name],
                   cwd=source.parent, check=True,
                   env={**os.environ, "CCACHE_DIR": str(source.parent / "cache"),
                        "CCACHE_DEPEND": "yes"})
    return built.read_bytes()


@pytest.mark.parametrize("name", TAKES_IN)
def test_another_file_makes_another_object(tmp_path: pathlib.Path, name: str) -> None:
    (tmp_path / name).write_text(TAKES_IN[name])
    for image in (b"the image before", b"the image behind"):
        (tmp_path / "image").write_bytes(image)
        assert image in _compile(tmp_path / name)


def test_what_takes_in_nothing_is_compiled_once(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("int plain;\n")
    first = _compile(source)
    assert _compile(source) == first
    counts = subprocess.run(["ccache", "--print-stats"], capture_output=True, text=True, check=True,
                            env={**os.environ, "CCACHE_DIR": str(tmp_path / "cache")}).stdout
    assert "direct_cache_hit\t1\n" in counts


def test_a_failed_compilation_fails(tmp_path: pathlib.Path) -> None:
    (tmp_path / "wrong.c").write_text("int wrong(\n")
    with pytest.raises(subprocess.CalledProcessError):
        _compile(tmp_path / "wrong.c")
