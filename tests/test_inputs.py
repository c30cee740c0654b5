"""From arguments to pictures: files, folders, globs, lists, URLs, standard input; and the keys of their results."""

import itertools
import os
import random
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ssd_detect.media.decoding.kinds import HEAD_BYTES
from ssd_detect.media.sources.inputs import FoundInputs, find_inputs
from ssd_detect.media.sources.keys import Place, unique_keys
from ssd_detect.media.sources.signatures import is_picture_content, is_picture_suffix

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test in an empty current folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def make(*names: str, content: bytes = PNG) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content)


def find(*arguments: str, recursive: bool = False) -> FoundInputs:
    return find_inputs(arguments, recursive=recursive)


def names(found: FoundInputs) -> list[str]:
    assert found.errors == ()
    return [each.name for each in found.inputs]


def keys(*arguments: str, recursive: bool = False) -> dict[str, str]:
    found = find(*arguments, recursive=recursive)
    assert found.errors == ()
    return {each.name: str(each.key) for each in found.inputs}


def errors(*arguments: str, recursive: bool = False) -> list[str]:
    found = find(*arguments, recursive=recursive)
    assert found.inputs == ()
    return [str(error) for error in found.errors]


class TestFiles:
    def test_nothing(self) -> None:
        assert find() == FoundInputs((), 0, ())

    def test_one(self) -> None:
        make("x/person.jpg")
        (found,) = find("x/person.jpg").inputs
        assert (found.name, found.path, found.url) == ("x/person.jpg", Path("x/person.jpg"), None)
        assert found.key == PurePosixPath("person")

    @pytest.mark.parametrize(
        "name",
        [
            "notes.txt", "empty", ".hidden.png", "a b.png", "'\"%#.png", "фото ñ 测试.png", "caf\udce9.png", "-x.png",
            "a[1].jpg", "what?.png", "*.png", "@list.txt", "dot.", " blank ", "x" * 250 + ".png", "http:", "~",
        ],
    )  # fmt: skip
    def test_taken_whatever_it_is_and_whatever_its_name(self, name: str) -> None:
        make(name, content=b"")
        make("a1.jpg", "whatx.png", "list.txt")  # which a glob or a list would find
        (found,) = find(name).inputs
        assert (found.name, found.path) == (name, Path(name))
        assert find(f"./{name}").inputs == find(name).inputs

    def test_order_of_the_arguments(self) -> None:
        make("b.png", "a.png", "c.png")
        assert names(find("b.png", "c.png", "a.png")) == ["b.png", "c.png", "a.png"]

    def test_each_once_by_its_first_name(self, here: Path) -> None:
        make("a.png", "x/b.png")
        Path("link.png").symlink_to("a.png")
        Path("y").symlink_to("x")
        every = find("./a.png", "a.png", "x/../a.png", str(here / "a.png"), "link.png", "x/b.png", "y/b.png", ".")
        assert names(every) == ["a.png", "x/b.png"]
        assert names(find("link.png", "./a.png", "y/b.png", "x/b.png", "x")) == ["link.png", "y/b.png"]

    def test_a_pipe_given_by_name(self) -> None:
        os.mkfifo("pipe")
        assert names(find("pipe")) == ["pipe"]

    @pytest.mark.parametrize(
        ("argument", "message"),
        [
            ("", "an input has an empty name; expected a picture, a folder, a URL or -"),
            ("gone.jpg", "gone.jpg: no such file"),
            ("gone/gone.jpg", "gone/gone.jpg: no such file"),
            ("a.png/b.png", "a.png/b.png: no such file"),
            ("broken.png", "broken.png: no such file"),
            ("round.png", "round.png: no such file"),
            ("x" * 300, "x" * 300 + ": no such file"),
            ("nul\0.png", "nul\0.png: no such file"),
            ("nul\0*.png", "nul\0*.png: matches no file"),
            ("nul\0/**", "nul\0/**: matches no file"),
            ("@nul\0", "nul\0: the list of inputs cannot be read: no such file"),
        ],
    )
    def test_missing(self, argument: str, message: str) -> None:
        make("a.png")
        Path("broken.png").symlink_to("nowhere")
        Path("round.png").symlink_to("round.png")
        assert errors(argument) == [message]

    def test_place_that_must_not_be_looked_at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(path: Path, **options: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(Path, "stat", refuse)
        assert errors("locked/a.png") == ["locked/a.png: cannot be read: Permission denied"]

    def test_others_go_on(self) -> None:
        make("a.png", "b.png")
        found = find("a.png", "gone.png", "b.png", "gone.png")
        assert [each.name for each in found.inputs] == ["a.png", "b.png"]
        assert [str(error) for error in found.errors] == ["gone.png: no such file"]


class TestFolders:
    def test_empty(self) -> None:
        Path("x").mkdir()
        expected = ["x: is an empty folder, expected pictures in it"]
        assert errors("x") == errors("x", recursive=True) == expected

    def test_no_pictures(self) -> None:
        make("x/notes.txt", content=b"hello")
        make("x/.a.png")
        assert errors("x") == ["x: holds no pictures"]
        assert find("x").num_skipped == 2
        make("x/y/a.png")
        assert errors("x") == ["x: holds no pictures; use --recursive to read its sub-folders too"]
        assert names(find("x", recursive=True)) == ["x/y/a.png"]

    def test_by_content_or_suffix_in_any_case(self) -> None:
        make("x/a.jpg", "x/A.JPEG", "x/b.PNG", "x/no-suffix", "x/wrong.txt", "x/._a.jpg", "x/y/z.png")
        make("x/notes.txt", "x/Thumbs.db", "x/README", "x/.DS_Store", content=b"\xd0\xcf\x11\xe0 hello")
        make("x/empty.jpg", content=b"")
        make("x/text.gif", content=b"hello")
        expected = ["x/A.JPEG", "x/a.jpg", "x/b.PNG", "x/empty.jpg", "x/no-suffix", "x/text.gif", "x/wrong.txt"]
        found = find("x")
        assert names(found) == expected
        assert found.num_skipped == 5

    def test_recursive(self) -> None:
        make("x/b.png", "x/a/c.png", "x/a/b/a.png", "x/a-b/d.png", "x/.git/e.png", "x/z.png")
        make("x/a/notes.txt", content=b"")
        found = find("x", recursive=True)
        assert names(found) == ["x/a/b/a.png", "x/a/c.png", "x/a-b/d.png", "x/b.png", "x/z.png"]
        assert found.num_skipped == 1

    def test_skipped_are_counted_once(self) -> None:
        make("x/a.png")
        make("x/notes.txt", content=b"")
        assert find("x", "./x", "x/*", "x/../x").num_skipped == 1

    def test_hidden_folder_given_by_name(self) -> None:
        make(".x/a.png")
        assert names(find(".x")) == [".x/a.png"]

    def test_links(self) -> None:
        make("x/a.png", "elsewhere/b.png")
        Path("x/gone.png").symlink_to("nowhere")  # to be reported when it is read
        Path("x/gone").symlink_to("nowhere")
        Path("x/other").symlink_to("../elsewhere")
        Path("x/up").symlink_to("..")
        Path("x/self").symlink_to("self")
        found = find("x", recursive=True)
        assert names(found) == ["x/a.png", "x/gone.png", "x/other/b.png"]
        assert found.num_skipped == 2

    def test_folder_under_several_names(self) -> None:
        make("x/m/a.png")
        for name in "qwertzuiopasdfghjklyxcvbn":
            Path(f"x/{name}").symlink_to("m")
        assert names(find("x", recursive=True)) == names(find("x/**/a.png")) == ["x/a/a.png"]

    def test_many_links_round_and_round(self) -> None:
        make("x/a/a.png", "x/b/b.png")
        for folder, n in itertools.product("ab", range(10)):
            Path(f"x/{folder}/{n}").symlink_to("..")
        begin = time.monotonic()
        assert names(find("x", recursive=True)) == ["x/a/a.png", "x/b/b.png"]
        assert names(find("x/**/*.png")) == ["x/a/a.png", "x/b/b.png"]
        assert time.monotonic() - begin < 2

    def test_pipes_are_never_opened(self) -> None:
        make("x/a.png")
        os.mkfifo("x/pipe.png")
        found = find("x")
        assert (names(found), found.num_skipped) == (["x/a.png"], 1)

    def test_unreadable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make("x/a.png", "x/locked/b.png", "x/z/c.png")
        listed = Path.iterdir

        def refuse(folder: Path) -> Iterator[Path]:
            if folder.name == "locked":
                raise PermissionError(13, "Permission denied")
            return listed(folder)

        monkeypatch.setattr(Path, "iterdir", refuse)
        message = "x/locked: cannot be read: Permission denied"
        found = find("x", recursive=True)
        assert [each.name for each in found.inputs] == ["x/a.png", "x/z/c.png"]
        assert [str(error) for error in found.errors] == [message]
        assert errors("x/locked") == [message]

    def test_unreadable_file(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make("x/a.png", "x/b")

        def refuse(*args: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        found = find("x")
        assert (names(found), found.num_skipped) == (["x/a.png"], 1)

    def test_a_thousand_files(self) -> None:
        expected = [f"x/{n:04}.png" for n in range(1000)]
        make(*reversed(expected))
        assert names(find("x")) == expected


class TestGlobs:
    @pytest.fixture(autouse=True)
    def tree(self) -> None:
        make("p/a1.jpg", "p/a2.jpg", "p/b1.png", "p/x/a3.jpg", "p/x/y/a4.jpg", "p/.h.jpg", "p/.g/a5.jpg", "a0.jpg")
        make("p/notes.txt", content=b"hello")

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("*.jpg", ["a0.jpg"]),
            ("p/*.jpg", ["p/a1.jpg", "p/a2.jpg"]),
            ("p/?1.*", ["p/a1.jpg", "p/b1.png"]),
            ("p/[!a]?.png", ["p/b1.png"]),
            ("p/*/a?.jpg", ["p/x/a3.jpg"]),
            ("p/x/../[ab]1.*", ["p/x/../a1.jpg", "p/x/../b1.png"]),
            ("*/x/y/a4.jpg", ["p/x/y/a4.jpg"]),
            ("**/a?.jpg", ["a0.jpg", "p/a1.jpg", "p/a2.jpg", "p/x/a3.jpg", "p/x/y/a4.jpg"]),
            ("p/**/y/*", ["p/x/y/a4.jpg"]),
            ("p/**/**/a4.*", ["p/x/y/a4.jpg"]),
            ("p/.*.jpg", ["p/.h.jpg"]),
            ("p/.g/*", ["p/.g/a5.jpg"]),
            ("p/.[g]/*", ["p/.g/a5.jpg"]),
            ("p/x*", ["p/x/a3.jpg"]),
        ],
    )
    def test_matches(self, pattern: str, expected: list[str]) -> None:
        assert names(find(pattern)) == expected

    def test_absolute(self, here: Path) -> None:
        assert names(find(f"{here}/p/*1.jpg")) == [f"{here}/p/a1.jpg"]

    def test_folders_stand_for_what_is_in_them(self) -> None:
        assert names(find("p/*")) == ["p/a1.jpg", "p/a2.jpg", "p/b1.png", "p/x/a3.jpg"]
        assert names(find("p/**")) == names(find("p", recursive=True)) == names(find("[p]", recursive=True))

    def test_skipped_are_counted(self) -> None:
        assert find("p/*").num_skipped == 1
        assert find("p/a*").num_skipped == 0

    @pytest.mark.parametrize(
        ("pattern", "message"),
        [
            ("*.gif", "*.gif: matches no file"),
            ("q/*.jpg", "q/*.jpg: matches no file"),
            ("q/**", "q/**: matches no file"),
            ("a0.jpg/*", "a0.jpg/*: matches no file"),
            ("p/*/gone.jpg", "p/*/gone.jpg: matches no file"),
            ("p/*.txt", "p/*.txt: matches no pictures"),
        ],
    )
    def test_no_match(self, pattern: str, message: str) -> None:
        assert errors(pattern) == [message]


class TestLists:
    def test_names_nothing(self) -> None:
        for content in (b"", b"\xef\xbb\xbf", b"\n \n# a.png\n"):
            make("list.txt", content=content)
            assert errors("@list.txt") == ["list.txt: the list of inputs names none"]

    def test_all_kinds(self) -> None:
        make("a.png", "фото ñ.png", "caf\udce9.png", "x/b.png", "y/z/c.png", "d1.png")
        lines = ["\ufeff# a comment", "", "a.png", "  фото ñ.png\t", "x", "y", "d[0-9].png", "http://h/e.png", "-"]
        make("sub/list.txt", content="\r\n".join(lines).encode() + b"\r\ncaf\xe9.png")
        expected = ["a.png", "фото ñ.png", "x/b.png", "y/z/c.png", "d1.png", "http://h/e.png", "-", "caf\udce9.png"]
        assert names(find("@sub/list.txt", recursive=True)) == expected

    def test_names_count_from_the_current_folder(self) -> None:
        make("a.png", "sub/a.png", "sub/b.png")
        make("sub/list.txt", content=b"a.png\n\nb.png\n@more.txt\nempty\n")
        Path("empty").mkdir()
        found = find("@sub/list.txt", "gone.png")
        assert [each.path for each in found.inputs] == [Path("a.png")]
        where = "of sub/list.txt, where names count from the current folder)"
        assert [str(error) for error in found.errors] == [
            f"b.png: no such file (line 3 {where}",
            f"@more.txt: no such file, and a list cannot name another list (line 4 {where}",
            f"empty: is an empty folder, expected pictures in it (line 5 {where}",
            "gone.png: no such file",
        ]

    def test_unreadable(self) -> None:
        Path("folder").mkdir()
        make("photo.jpg")
        reason = "the list of inputs cannot be read: "
        assert errors("@gone.txt") == [f"gone.txt: {reason}No such file or directory"]
        assert errors("@folder") == [f"folder: {reason}Is a directory"]
        assert errors("@photo.jpg") == ["photo.jpg: is no list of inputs: expected text in UTF-8, one input a line"]


class TestUrlsAndStandardInput:
    def test_standard_input(self) -> None:
        make("./-", "stdin.jpg")
        found = find("-", "-", "./-", "stdin.jpg")
        assert [(each.name, each.path, each.url, str(each.key)) for each in found.inputs] == [
            ("-", None, None, "stdin"),
            ("-", Path("-"), None, "-"),
            ("stdin.jpg", Path("stdin.jpg"), None, "here/stdin"),
        ]

    @pytest.mark.parametrize(
        ("url", "key"),
        [
            ("http://h", "h"),
            ("http://h/?a/b.png", "h"),
            ("HTTPS://h/x/a.jpg?w=1&h=2#top", "a"),
            ("http://h/x/a", "a"),
            ("http://h/x/a.tar.png/", "a.tar"),
            ("http://h/a%20b%C3%A9.png", "a bé"),
            ("http://h/..%2F..%2Fetc%2Fpasswd", "..__"),
            ("http://h/%2e%2e", "__"),
            ("http://h/.", "_"),
            ("http://h/con.png", "_con"),
            ("http://h/a:b%00%FF*.png", "a_b_\ufffd_"),
            ("http://[::1]:80", "[__1]_80"),
            ("http://me:secret@h/", "h"),
            ("http://h/" + "é" * 200 + ".png", "é" * 100),
        ],
    )
    def test_key_of_a_url(self, url: str, key: str) -> None:
        (found,) = find(url).inputs
        assert (found.path, found.url, found.key) == (None, url, PurePosixPath(key))

    def test_each_once(self) -> None:
        assert len(find("http://h/a", "http://h/a", "http://h/a#b", "http://h/a?b").inputs) == 2

    def test_nothing_secret_in_its_name(self) -> None:
        (found,) = find("https://me:secret@h/a.png?id=1&token=secret").inputs
        assert found.name == "https://h/a.png?id=1&token=***"
        assert found.url == "https://me:secret@h/a.png?id=1&token=secret"

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("ftp://h/a.png", "ftp://h/a.png: only http:// and https:// addresses can be read"),
            ("file:///a.png", "file:///a.png: only http:// and https:// addresses can be read"),
            ("http://", "http://: is no valid address"),
            ("http://:80/a", "http://:80/a: is no valid address"),
            ("http://h:x/a", "http://h:x/a: is no valid address"),
            ("http://h:0/a", "http://h:0/a: is no valid address"),
            ("http://h:99999/a", "http://h:99999/a: is no valid address"),
            ("http://[::1/a", "http://[::1/a: is no valid address"),
            ("http://a b/", "http://a b/: is no valid address"),
            ("http://me:sec/ret@h/", "http://h/: is no valid address"),
        ],
    )
    def test_no_address(self, url: str, message: str) -> None:
        assert errors(url) == [message]


class TestKeys:
    def test_sub_folders_of_a_folder_are_kept(self) -> None:
        make("x/a.png", "x/y/a.png", "x/y/z.b/c.d.png")
        expected = {"x/a.png": "a", "x/y/a.png": "y/a", "x/y/z.b/c.d.png": "y/z.b/c.d"}
        assert keys("x", recursive=True) == keys("x/**/*.png") == expected
        assert keys(".", recursive=True) == {name: f"x/{key}" for name, key in expected.items()}

    @pytest.mark.parametrize(
        ("files", "expected"),
        [
            (["x/a.jpg", "y/a.jpg"], ["x/a", "y/a"]),
            (["x/a.jpg", "y/a.png", "y/b.png"], ["x/a", "y/a", "b"]),
            (["x/z/a.jpg", "y/z/a.jpg", "w/a.jpg"], ["x/z/a", "y/z/a", "w/a"]),
            (["a.jpg", "a.png", "b.png"], ["a_jpg", "a_png", "b"]),
            (["x/a.jpg", "y/a.jpg", "y/a.png"], ["x/a", "y/a_jpg", "y/a_png"]),
            (["A.jpg", "a.jpg"], ["A", "a_2"]),
            (["A.jpg", "a.jpg", "a.png"], ["A_jpg", "a_jpg_2", "a_png"]),
            (["A.jpg", "a.jpg", "a_2.jpg"], ["A", "a_3", "a_2"]),
            (["a.jpg", "a.png", "a_jpg.png"], ["a_jpg", "a_png", "a_jpg_2"]),
            (["X/a.jpg", "x/a.jpg"], ["a", "a_2"]),
            (["a", "a.png"], ["a", "a_png"]),
            (["a?.png", "a*.png", "a:.png"], ["a__3", "a_", "a__2"]),
            (["e\u0301.png", "é.png"], ["e\u0301", "é_2"]),
            (["straße.png", "STRASSE.png"], ["straße_2", "STRASSE"]),
            (["caf\udce9.png", "caf\udce8.png"], ["caf__2", "caf_"]),
            (["a..png", "a .png"], ["a__2", "a_"]),
        ],
    )  # fmt: skip
    def test_never_collide(self, files: list[str], expected: list[str]) -> None:
        make(*files)
        for order in itertools.permutations(range(len(files))):
            found = keys(*(files[i] for i in order))
            assert [found[file] for file in files] == expected

    def test_folders_and_urls(self) -> None:
        make("x/a.png", "x/b.png", "y/a.png", "y/s/c.png")
        assert keys("x", "y", "http://h/x/a.png", "http://g/a.png?1", "http://g/a.png?2", recursive=True) == {
            "x/a.png": "here/x/a",
            "x/b.png": "b",
            "y/a.png": "y/a",
            "y/s/c.png": "s/c",
            "http://h/x/a.png": "h/x/a",
            "http://g/a.png?1": "g/a",
            "http://g/a.png?2": "g/a_2",
        }

    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("", "_"), (".", "_"), ("..", "__"), ("...", "___"), ("a/b\\c", "a_b_c"), ("\x00\x1b\x7f", "___"),
            ('<>:"|?*', "_______"), ("a. ", "a__"), ("CON", "_CON"), ("nul.a.b", "_nul.a.b"), ("com1", "_com1"),
            ("lpt¹ .x", "_lpt¹ .x"), ("CONIN$", "_CONIN$"), ("console", "console"), ("com", "com"), (" .a", " .a"),
            ("\ud800x\udfff", "_x_"), ("a" * 300, "a" * 200), ("a" * 199 + ". b", "a" * 199 + "_"), ("~-é", "~-é"),
        ],
    )  # fmt: skip
    def test_names_that_every_system_can_take(self, name: str, key: str) -> None:
        assert unique_keys([Place("1", (name,), name, num_kept=1)]) == [PurePosixPath(key) / key]

    NAMES = st.text(st.sampled_from("aAbé. _2/\\:*\0\ud800") | st.characters(), max_size=4) | st.sampled_from(
        ["con", "NUL", "a_2", "a_jpg", "ß", "SS", "e\u0301", "..", "ﬁ", "ǰ", "x" * 220, "X" * 230]
    )
    PLACES = st.lists(
        st.tuples(st.lists(NAMES, max_size=3), NAMES, st.sampled_from(["", ".jpg", ".JPG", ".png"]), st.integers(0, 3)),
        max_size=12,
    )

    @settings(deadline=None)
    @given(PLACES, st.randoms(use_true_random=False))
    def test_unique_and_safe_whatever_the_names(
        self, drawn: list[tuple[list[str], str, str, int]], shuffler: random.Random
    ) -> None:
        places = [
            Place(f"{n}", tuple(folders), stem, suffix, min(kept, len(folders)))
            for n, (folders, stem, suffix, kept) in enumerate(drawn)
        ]
        found = unique_keys(places)
        assert len(found) == len(places)
        assert len({unicodedata.normalize("NFC", str(key).casefold()) for key in found}) == len(places)
        for key, place in zip(found, places, strict=True):
            assert len(key.parts) > place.num_kept
            assert all(is_safe(part) for part in key.parts)
        mixed = shuffler.sample(places, len(places))
        assert dict(zip(mixed, unique_keys(mixed), strict=True)) == dict(zip(places, found, strict=True))

    @settings(deadline=None)
    @given(st.lists(st.text(st.characters(exclude_characters="#\t\r\n"), max_size=8), max_size=8))
    def test_unique_and_safe_whatever_the_urls(self, paths: list[str]) -> None:
        found = find(*(f"http://h/{path}" for path in paths))
        assert len(found.inputs) == len(set(paths))
        assert len({str(each.key).casefold() for each in found.inputs}) == len(found.inputs)
        assert all(is_safe(part) for each in found.inputs for part in each.key.parts)

    def test_thousands_of_equal_names(self) -> None:
        begin = time.monotonic()
        found = unique_keys([Place(f"{n:05}", ("h",), "image") for n in range(5000)])
        assert found == [PurePosixPath(f"image_{n}" if n > 1 else "image") for n in range(1, 5001)]
        assert time.monotonic() - begin < 5


def is_safe(part: str) -> bool:
    """Microsoft's rules for names, which are the strictest, in words of our own; and room for a suffix."""
    device = part.split(".")[0].rstrip().upper()
    numbered = re.fullmatch("(COM|LPT)[0-9¹²³]", device)
    return (
        0 < len(part.encode()) <= 240
        and not set(part) & set('<>:"/\\|?*')
        and min(part) >= " "
        and part[-1] not in ". "
        and device not in ("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$")
        and numbered is None
    )


class TestSignatures:
    @pytest.mark.parametrize("name", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "JPEG2000", "PPM"])
    def test_what_pillow_writes(self, here: Path, name: str) -> None:
        Image.new("RGB", (32, 32), "red").save(here / "x", format=name)
        head = (here / "x").read_bytes()[:HEAD_BYTES]
        assert is_picture_content(head)
        assert not is_picture_content(b"x" + head)

    @pytest.mark.parametrize("brand", ["heic", "heix", "hevc", "heim", "mif1", "msf1", "avif", "avis"])
    def test_pictures_in_boxes(self, brand: str) -> None:
        assert is_picture_content(b"\0\0\0\x14ftyp" + brand.encode() + b"\0\0\0\0miaf")

    @pytest.mark.parametrize("head", [b"MM\0*", b"II+\0", b"\xff\x4f\xff\x51", b"P4\n# made by\n1 1\n"])
    def test_other_pictures(self, head: bytes) -> None:
        assert is_picture_content(head)

    @pytest.mark.parametrize(
        "head",
        [
            b"", b"\xff\xd8", b"hello", b"BMW is a maker of cars, not a picture", b"P1 is a page", b"RIFF....WAVE",
            b"%PDF", b"....ftypisom", b"....ftypmp42", b"PK\3\4", b"\0\0\1\xba", b"\0\1\0\0", b"\xd0\xcf\x11\xe0",
            b"<svg>",
        ],
    )  # fmt: skip
    def test_no_pictures(self, head: bytes) -> None:
        assert not is_picture_content(head)

    def test_suffixes(self) -> None:
        yes = (
            ".jpg .JPG .Jpeg .jpe .jfif .png .gif .bmp .tif .TIFF .webp .avif .heic .HEIF .hif .jp2 .ppm .pnm .tga .jxl"
        )
        assert [suffix for suffix in yes.split() if not is_picture_suffix(suffix)] == []
        no = ["", ".", "jpg", ".txt", ".pdf", ".mp4", ".jpgx", ".xjpg", ".json", ".xml", ".db", ".ico", ".jpg\n"]
        assert [suffix for suffix in no if is_picture_suffix(suffix)] == []


def test_imports_nothing_heavy() -> None:
    code = (
        "import sys, ssd_detect.media.sources.inputs as i\n"
        "i.find_inputs(['.', '-', 'http://h/a'], recursive=True)\n"
        "heavy = {'numpy', 'cv2', 'tensorflow', 'requests', 'PIL', 'av', 'ssl', 'http.client'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
