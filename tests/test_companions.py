"""What travels beside the pictures: sound, subtitles, chapters, metadata, covers; and what happens when it cannot."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.stream import Disposition, Stream

from ssd_detect.errors import VideoError
from ssd_detect.media.video.companions import CompanionSettings, check_companions, companions_of
from ssd_detect.media.video.tracks import PacketClock, Span, kept_metadata
from tests.clips import H264, SOUND, facts, ffmpeg, furthest, pictures

FORMATS = {".mp4": "mp4", ".mov": "mov", ".mkv": "matroska", ".webm": "webm", ".avi": "avi", ".gif": "gif"}
ENCODERS = {".webm": "libvpx", ".avi": "mpeg4", ".gif": "gif"}
SHORTEST_TICK = {"movie_timescale": "90000"}
AS_TOLD = {"avoid_negative_ts": "disabled"}
OPTIONS = {".mp4": SHORTEST_TICK, ".mov": SHORTEST_TICK, ".mkv": AS_TOLD, ".webm": AS_TOLD}
VIDEO = f"{pictures(rate='10')} -c:v mpeg4"
CUES = [(300, 900, "Hello <i>world</i>"), (900, 1200, "second\nline"), (1500, 1933, "Grüße & more")]


def copy(source: Path, target: Path, **settings: Any) -> tuple[tuple[str, ...], str | None]:
    """Two seconds of grey frames with the companions of `source`; the notes and the losses."""
    suffix = target.suffix
    with av.open(str(target), "w", format=FORMATS[suffix], container_options=OPTIONS.get(suffix, {})) as output:
        video = output.add_stream(ENCODERS.get(suffix, "libx264"), 10)
        assert isinstance(video, av.VideoStream)
        video.width, video.height, video.pix_fmt = 64, 48, "rgb8" if suffix == ".gif" else "yuv420p"
        with companions_of(source, output, CompanionSettings(**settings)) as companions:
            output.start_encoding()
            for number in range(20):
                frame = av.VideoFrame(64, 48, "rgb24")
                frame.pts, frame.time_base = number, Fraction(1, 10)
                companions.write_until(Fraction(number, 10))
                output.mux(video.encode(frame))
            output.mux(video.encode(None))
            companions.write_until(None)
            return companions.notes, companions.losses


def heard(path: Path, rate: int = 48_000) -> dict[str, float]:
    """When the first audio track is first and last heard, in seconds, how loud it is, and on how many channels."""
    with av.open(str(path), "r") as container:
        frames = list(container.decode(container.streams.audio[0]))
    resampler = av.AudioResampler("flt", "mono", rate)
    samples = np.concatenate([part.to_ndarray().ravel() for frame in frames for part in resampler.resample(frame)])
    loud = np.flatnonzero(np.abs(samples) > 0.03)
    begin = frames[0].time or 0.0
    return {
        "begin": begin + loud[0] / rate,
        "end": begin + loud[-1] / rate,
        "level": float(np.sqrt(np.mean(samples[loud[0] : loud[-1]] ** 2))),
        "channels": frames[0].layout.nb_channels,
    }


def cues(path: Path, track: int = 0) -> list[tuple[int, int, str]]:
    """What ffmpeg makes of a track of subtitles: (begin, end, text), in milliseconds of the file's clock."""
    text = ffmpeg(f"-copyts -i {path} -map 0:s:{track} -f srt", path.with_suffix(".told")).read_text()
    found = re.findall(r"^([\d:,]+) --> ([\d:,]+)\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    return [(_milliseconds(begin), _milliseconds(end), words) for begin, end, words in found]


def _milliseconds(clock: str) -> int:
    hours, minutes, seconds = clock.replace(",", ".").split(":")
    return round((int(hours) * 3600 + int(minutes) * 60 + float(seconds)) * 1000)


def title(track: Stream) -> str:
    """The title of a track, which older FFmpegs do not read in an MP4: there it is the handler's name too."""
    told = track.metadata.get("title") or track.metadata.get("name") or track.metadata.get("handler_name", "")
    return told.replace("SubtitleHandler", "")


def subtitles(folder: Path) -> Path:
    path = folder / "in.srt"
    times = [(f"00:00:0{a // 1000},{a % 1000:03}", f"00:00:0{b // 1000},{b % 1000:03}", text) for a, b, text in CUES]
    path.write_text("\n".join(f"{n}\n{a} --> {b}\n{text}\n" for n, (a, b, text) in enumerate(times, start=1)))
    return path


class TestCopiedSound:
    @pytest.mark.parametrize(
        ("source", "codec", "target"),
        [
            *((".mp4", codec, ".mp4") for codec in ("aac", "libmp3lame", "ac3", "eac3", "alac", "flac", "libopus")),
            *((".mov", codec, ".mov") for codec in ("aac", "libmp3lame", "ac3", "eac3", "alac")),
            *((".mov", f"pcm_{kind}", ".mov") for kind in ("s16le", "s16be", "s24le", "s24be", "f32le")),
            *((".mkv", codec, ".mkv") for codec in ("aac", "libvorbis", "libopus", "flac", "pcm_s16le", "ac3")),
            (".mkv", "libopus", ".mp4"),
            (".mp4", "aac", ".mkv"),
            (".webm", "libopus", ".webm"),
            (".mkv", "libvorbis", ".webm"),
            (".avi", "libmp3lame", ".avi"),
            (".avi", "pcm_s16le", ".avi"),
            (".mov", "pcm_s16le", ".avi"),
            (".avi", "ac3", ".avi"),
            (".avi", "libmp3lame", ".mp4"),
        ],
    )
    def test_every_packet_stays_as_it_is(self, source: str, codec: str, target: str, tmp_path: Path) -> None:
        video = f"{pictures(rate='10')} -c:v {'libvpx' if source == '.webm' else 'mpeg4'}"
        clip = ffmpeg(f"{video} {SOUND} -c:a {codec}", tmp_path / f"in{source}")
        assert copy(clip, tmp_path / f"out{target}") == ((), None)
        (old,), (new,) = facts(clip).sound, facts(tmp_path / f"out{target}").sound
        assert new.codec == old.codec
        assert b"".join(new.packets) == b"".join(old.packets)
        if not codec.startswith("pcm"):  # of which a reader makes packets as it likes
            assert new.packets == old.packets
            assert furthest(new.times, old.times) <= 0.001

    @pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv"])
    @pytest.mark.parametrize(
        "arguments",
        [
            f"{pictures(rate='10')} -itsoffset 0.5 {SOUND}",
            f"-itsoffset 0.5 {pictures(rate='10')} {SOUND}",
            f"{pictures(rate='10')} -itsoffset -0.3 {SOUND} -avoid_negative_ts disabled",
            f"{pictures(rate='10')} -f lavfi -i sine=d=3",
            f"{pictures(rate='10')} -f lavfi -i sine=d=0.4",
        ],
    )
    def test_when_it_begins_and_ends_is_kept(self, arguments: str, suffix: str, tmp_path: Path) -> None:
        clip = ffmpeg(f"{arguments} -map 0 -map 1 -c:v mpeg4 -c:a aac", tmp_path / "in.mkv")
        copy(clip, tmp_path / f"out{suffix}")
        (old,), (new,) = facts(clip).sound, facts(tmp_path / f"out{suffix}").sound
        assert new.packets == old.packets
        # FFmpeg reads sound that a Matroska file stores before 0 up to 3 ms off.
        assert furthest(new.times, old.times) <= (0.003 if suffix == ".mkv" and old.times[0] < -0.1 else 0.001)

    @pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
    def test_tracks_keep_their_names_and_purposes(self, suffix: str, tmp_path: Path) -> None:
        clip = ffmpeg(
            f"{VIDEO} {SOUND} -f lavfi -i sine=f=880:d=2 -map 0 -map 1 -map 2 -c:a aac -metadata:s:a:0 language=spa"
            " -metadata:s:a:1 language=fra -metadata:s:a:1 title=Talk -disposition:a:0 0"
            " -disposition:a:1 default+comment",
            tmp_path / "in.mkv",
        )
        copy(clip, tmp_path / f"out{suffix}")
        old, new = facts(clip).sound, facts(tmp_path / f"out{suffix}").sound
        assert [track.packets for track in new] == [track.packets for track in old]
        assert [track.language for track in new] == ["spa", "fra"]
        with av.open(str(tmp_path / f"out{suffix}"), "r") as container:
            first, second = container.streams.audio
            assert title(second) == "Talk"
            assert not first.disposition & Disposition.default
            assert second.disposition & Disposition.default
            assert second.disposition & Disposition.comment

    @pytest.mark.parametrize("suffix", [".mp4", ".mov", ".mkv"])
    @pytest.mark.parametrize(("language", "told"), [("fra", {"fra"}), ("deu", {"deu", "ger"}), ("swe", {"swe", "sve"})])
    def test_languages(self, language: str, told: set[str], suffix: str, tmp_path: Path) -> None:
        """Two codes of one language are the same."""
        clip = ffmpeg(f"{VIDEO} {SOUND} -c:a aac -metadata:s:a language={language}", tmp_path / "in.mp4")
        copy(clip, tmp_path / f"out{suffix}")
        assert facts(tmp_path / f"out{suffix}").sound[0].language in told

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_none(self, suffix: str, tmp_path: Path) -> None:
        silent = ffmpeg(VIDEO, tmp_path / "silent.mkv")
        assert copy(silent, tmp_path / f"silent{suffix}") == ((), None)
        loud = ffmpeg(f"{VIDEO} {SOUND} -c:a aac", tmp_path / "loud.mkv")
        assert copy(loud, tmp_path / f"out{suffix}", audio=False) == ((), None)
        assert facts(tmp_path / f"out{suffix}").sound == facts(tmp_path / f"silent{suffix}").sound == []

    def test_a_gif_has_no_sound(self, tmp_path: Path) -> None:
        clip = ffmpeg(f"{VIDEO} {SOUND} {SOUND} -map 0 -map 1 -map 2 -c:a aac", tmp_path / "in.mkv")
        assert copy(clip, tmp_path / "out.gif") == (("a GIF has no sound",), None)
        assert len(facts(tmp_path / "out.gif").times) == 20


class TestEncodedSound:
    @pytest.mark.parametrize(
        ("source", "sound", "target", "codec", "note"),
        [
            (".mov", "-c:a pcm_s16le", ".mp4", "aac", "sound (pcm_s16le) becomes AAC"),
            (".mkv", "-c:a libvorbis", ".mp4", "aac", "sound (vorbis) becomes AAC"),
            (".mkv", "-c:a libopus", ".mov", "aac", "sound (opus) becomes AAC"),
            (".avi", "-c:a pcm_u8 -ar 11000", ".mp4", "aac", "sound (pcm_u8) becomes AAC"),
            (".mov", "-c:a pcm_s16le -ac 6", ".mp4", "aac", "sound (pcm_s16le) becomes AAC"),
            (".mp4", "-c:a aac", ".webm", "opus", "sound (aac) becomes Opus"),
            (".mov", "-c:a pcm_s16le -ac 6", ".webm", "opus", "sound (pcm_s16le) becomes Opus"),
            (".mkv", "-c:a flac -ar 8000", ".webm", "opus", "sound (flac) becomes Opus"),
            (".mkv", "-c:a flac", ".avi", "mp3float", "sound (flac) becomes MP3"),
            (".mkv", "-c:a flac -ar 8000 -ac 2", ".avi", "mp3float", "sound (flac) becomes MP3"),
            (
                ".mp4",
                "-c:a aac",
                ".avi",
                "mp3float",
                "sound (aac) is encoded as MP3: an .avi cannot say when a track begins",
            ),
        ],
    )
    @pytest.mark.parametrize("offset", ["0", "0.5"])
    def test_it_is_heard_when_and_as_it_was(
        self, source: str, sound: str, target: str, codec: str, note: str, offset: str, tmp_path: Path
    ) -> None:
        if source == ".avi" and offset != "0":
            source = ".mkv"
        clip = ffmpeg(f"{pictures(rate='10')} -itsoffset {offset} {SOUND} -c:v mpeg4 {sound}", tmp_path / f"in{source}")
        assert copy(clip, tmp_path / f"out{target}") == ((note,), None)
        old, new = heard(clip), heard(tmp_path / f"out{target}")
        assert facts(tmp_path / f"out{target}").sound[0].codec == codec
        # The first MP3 packet lacks one before it to overlap with, so that it fades in.
        fades_in = target == ".avi" and offset == "0"
        assert new["begin"] == pytest.approx(old["begin"], abs=0.012 if fades_in else 0.005)
        assert new["end"] == pytest.approx(old["end"], abs=0.005)
        assert new["level"] == pytest.approx(old["level"], rel=0.1)
        assert new["channels"] == old["channels"]

    @pytest.mark.parametrize("codec", ["libmp3lame", "pcm_s16le", "ac3"])
    def test_late_sound_in_an_avi_gets_silence_in_front(self, codec: str, tmp_path: Path) -> None:
        clip = ffmpeg(f"{pictures(rate='10')} -itsoffset 0.5 {SOUND} -c:v mpeg4 -c:a {codec}", tmp_path / "in.mkv")
        notes, _ = copy(clip, tmp_path / "out.avi")
        assert [note.split(": ")[1] for note in notes] == ["an .avi cannot say when a track begins"]
        assert heard(tmp_path / "out.avi")["begin"] == pytest.approx(heard(clip)["begin"], abs=0.005)

    def test_gaps_stay_silent(self, tmp_path: Path) -> None:
        """Half a second of packets is missing, so that what follows must not come earlier."""
        gap = "-bsf:a noise=drop=between(pts*tb\\,0.7\\,1.2)"
        clip = ffmpeg(f"{VIDEO} {SOUND} -c:a pcm_s24le {gap}", tmp_path / "in.mkv")
        for suffix in (".mp4", ".webm", ".avi"):
            copy(clip, tmp_path / f"out{suffix}")
            old, new = heard(clip), heard(tmp_path / f"out{suffix}")
            assert old["end"] < 1.6  # frames one behind the other, whatever their times say
            assert new["begin"] == pytest.approx(old["begin"], abs=0.012 if suffix == ".avi" else 0.005)
            assert new["end"] == pytest.approx(2, abs=0.005)

    def test_sound_of_all_around(self, tmp_path: Path) -> None:
        """What FFmpeg cannot convert for loudspeakers stays where it may, and is left out elsewhere."""
        sound = "-f lavfi -i aevalsrc=0.1|0|0|0:d=2:c=4c -c:a libopus -mapping_family 2"
        clip = ffmpeg(f"{pictures(rate='10')} {sound} -c:v mpeg4", tmp_path / "in.mkv")
        assert copy(clip, tmp_path / "out.mkv") == ((), None)
        note = "sound (opus, ambisonic 1) is left out: .mov does not take it"
        assert copy(clip, tmp_path / "out.mov") == ((note,), None)
        assert facts(tmp_path / "out.mkv").sound[0].packets == facts(clip).sound[0].packets
        assert facts(tmp_path / "out.mov").sound == []

    def test_a_track_that_changes_its_form(self, tmp_path: Path) -> None:
        one = ffmpeg("-f lavfi -i sine=d=1 -c:a ac3 -ac 1 -ar 48000", tmp_path / "one.ac3")
        two = ffmpeg("-f lavfi -i sine=d=1 -c:a ac3 -ac 2 -ar 44100", tmp_path / "two.ac3")
        (tmp_path / "both.ac3").write_bytes(one.read_bytes() + two.read_bytes())
        assert copy(tmp_path / "both.ac3", tmp_path / "out.webm") == (("sound (ac3) becomes Opus",), None)
        assert heard(tmp_path / "out.webm")["end"] == pytest.approx(2, abs=0.05)


class TestCut:
    SETTINGS = ((Fraction(1, 2), None), (None, Fraction(3, 2)), (Fraction(1, 3), Fraction(4, 3)), (Fraction(9), None))

    @pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
    @pytest.mark.parametrize(("start", "end"), SETTINGS)
    def test_copied_sound(self, start: Fraction | None, end: Fraction | None, suffix: str, tmp_path: Path) -> None:
        clip = ffmpeg(f"{VIDEO} {SOUND} -c:a aac", tmp_path / "in.mp4")
        copy(clip, tmp_path / f"out{suffix}", start=start, end=end)
        (old,), new = facts(clip).sound, facts(tmp_path / f"out{suffix}").sound
        inside = [i for i, time in enumerate(old.times) if (start or -9) <= time < (end or 99)]
        if not inside:
            assert [packet for track in new for packet in track.packets] == []
            return
        assert new[0].packets == [old.packets[i] for i in inside]
        assert furthest(new[0].times, [old.times[i] - (start or 0) for i in inside]) <= 0.001

    @pytest.mark.parametrize(("source", "target"), [(".mp4", ".mkv"), (".mkv", ".mp4"), (".ts", ".mkv")])
    def test_far_into_a_long_file(self, source: str, target: str, tmp_path: Path) -> None:
        long = f"{pictures(rate='2', seconds=200)} -f lavfi -i sine=r=8000:d=200 {H264} -g 10 -c:a aac"
        clip = ffmpeg(long, tmp_path / f"in{source}")
        start, end = Fraction(151), Fraction(153)
        copy(clip, tmp_path / f"out{target}", start=start, end=end)
        (old,), (new,) = facts(clip).sound, facts(tmp_path / f"out{target}").sound
        inside = [i for i, time in enumerate(old.times) if start <= time < end]
        if source != ".ts":  # whose packets have headers that go
            assert new.packets == [old.packets[i] for i in inside]
        assert furthest(new.times, [old.times[i] - start for i in inside]) <= 0.001

    def test_a_coarse_clock_is_moved_as_exactly(self, tmp_path: Path) -> None:
        """The clock of MP3 in AVI ticks once in 24 ms."""
        clip = ffmpeg(f"{VIDEO} {SOUND} -c:a libmp3lame", tmp_path / "in.avi")
        copy(clip, tmp_path / "out.mp4", start=Fraction(1, 3))
        (old,), (new,) = facts(clip).sound, facts(tmp_path / "out.mp4").sound
        assert furthest(new.times, [time - Fraction(1, 3) for time in old.times if time >= Fraction(1, 3)]) <= 0.001

    @pytest.mark.parametrize("suffix", [".mp4", ".webm", ".avi"])
    @pytest.mark.parametrize(("start", "end"), SETTINGS[:3])
    def test_encoded_sound_at_the_sample(
        self, start: Fraction | None, end: Fraction | None, suffix: str, tmp_path: Path
    ) -> None:
        beep = "-f lavfi -i aevalsrc=sin(2764*t)*between(t\\,0.7\\,1.1):d=2"
        for name, sound, begins, ends in (("beep", beep, 0.7, 1.1), ("tone", SOUND, 0.0, 2.0)):
            clip = ffmpeg(f"{VIDEO} {sound} -c:a pcm_s24le", tmp_path / f"{name}.mkv")
            copy(clip, tmp_path / f"{name}{suffix}", start=start, end=end)
            new, moved = heard(tmp_path / f"{name}{suffix}"), float(start or 0)
            fades_in = suffix == ".avi" and begins <= moved
            assert new["begin"] == pytest.approx(max(begins - moved, 0), abs=0.012 if fades_in else 0.005)
            assert new["end"] == pytest.approx(min(ends, end or 99) - moved, abs=0.005)

    def test_subtitles_and_chapters(self, tmp_path: Path) -> None:
        clip = ffmpeg(f"{VIDEO} -i {subtitles(tmp_path)} -i {told(tmp_path)} -map 0 -map 1 -map_chapters 2", tmp_path / "in.mkv")  # fmt: skip  # noqa: E501
        for suffix in (".mkv", ".mp4"):
            copy(clip, tmp_path / f"out{suffix}", start=Fraction(1, 2), end=Fraction(8, 5))
            assert cues(tmp_path / f"out{suffix}") == [
                (0, 400, CUES[0][2]),
                (400, 700, CUES[1][2]),
                (1000, 1100, CUES[2][2]),
            ]
            assert chapters(tmp_path / f"out{suffix}") == [(0, Fraction(1, 5), "One"), (Fraction(1, 5), Fraction(11, 10), "Two é")]  # fmt: skip  # noqa: E501
        copy(clip, tmp_path / "none.mkv", start=Fraction(3))
        assert (cues(tmp_path / "none.mkv"), chapters(tmp_path / "none.mkv")) == ([], [])


def told(folder: Path) -> Path:
    """Metadata and two chapters in FFmpeg's own form."""
    path = folder / "told.txt"
    facts = ("title=A film", "artist=Someone", "comment=With words", "creation_time=2024-05-06T07:08:09.000000Z")
    marks = ("START=0\nEND=700\ntitle=One", "START=700\nEND=2000\ntitle=Two é")
    path.write_text("\n".join([";FFMETADATA1", *facts, *(f"[CHAPTER]\nTIMEBASE=1/1000\n{mark}" for mark in marks), ""]))
    return path


def chapters(path: Path) -> list[tuple[Fraction, Fraction, str]]:
    with av.open(str(path), "r") as container:
        marks = [(mark, mark["time_base"] or Fraction(1)) for mark in container.chapters()]
        return [(mark["start"] * tick, mark["end"] * tick, mark["metadata"]["title"]) for mark, tick in marks]


class TestDamaged:
    def test_what_cannot_be_decoded_is_left_out_and_counted(self, tmp_path: Path) -> None:
        noise = "-bsf:a noise=amount='gte(n\\,10)*lt(n\\,20)*3'"
        clip = ffmpeg(f"{VIDEO} {SOUND} -c:a aac {noise}", tmp_path / "in.mkv")
        notes, losses = copy(clip, tmp_path / "out.webm")
        assert notes == ("sound (aac) becomes Opus",)
        assert re.fullmatch(r"\d+ damaged packets of sound were left out", str(losses))
        assert heard(tmp_path / "out.webm")["end"] == pytest.approx(2, abs=0.01)
        assert len(facts(tmp_path / "out.webm").times) == 20

    @pytest.mark.parametrize("source", ["in.mkv", "in.mp4 -movflags faststart"])
    @pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".webm"])
    def test_a_file_that_is_cut_off(self, source: str, suffix: str, tmp_path: Path) -> None:
        name, _, options = source.partition(" ")
        clip = ffmpeg(f"{VIDEO} {SOUND} -c:a flac {options}", tmp_path / name)
        (tmp_path / f"cut_{name}").write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
        _, losses = copy(tmp_path / f"cut_{name}", tmp_path / f"out{suffix}")
        assert losses == ("1 damaged packet of sound was left out" if name == "in.mp4" else None)
        assert 0.3 < heard(tmp_path / f"out{suffix}")["end"] < 1.7
        assert len(facts(tmp_path / f"out{suffix}").times) == 20

    @pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".webm"])
    def test_bytes_of_noise_anywhere(self, suffix: str, tmp_path: Path) -> None:
        clip = ffmpeg(f"{VIDEO} {SOUND} -i {subtitles(tmp_path)} -map 0 -map 1 -map 2 -c:a aac", tmp_path / "in.mkv")
        whole = clip.read_bytes()
        for seed in range(8):
            random = np.random.default_rng(seed)
            data = np.frombuffer(whole, np.uint8).copy()
            places = random.integers(len(data) // 4, len(data), 60)
            data[places] = random.integers(0, 256, 60)
            (tmp_path / "noise.mkv").write_bytes(data.tobytes())
            copy(tmp_path / "noise.mkv", tmp_path / f"out{suffix}")
            assert len(facts(tmp_path / f"out{suffix}").times) == 20

    @pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".webm", ".avi"])
    @pytest.mark.parametrize("wrong", [0, 200, 30_000_000])
    def test_time_stamps_that_jump(self, wrong: int, suffix: str, tmp_path: Path) -> None:
        """The second cluster of a Matroska file is stamped anew, in milliseconds."""
        clip = ffmpeg(f"{VIDEO} {SOUND} -c:a aac -cluster_time_limit 1000", tmp_path / "in.mkv")
        old = facts(clip).sound[0]
        data = bytearray(clip.read_bytes())
        mark = [match.start() for match in re.finditer(rb"\x1f\x43\xb6\x75.{1,8}?\xe7", data, re.DOTALL)][1]
        place = data.index(b"\xe7", mark)
        length = data[place + 1] & 0x7F
        data[place + 2 : place + 2 + length] = (wrong % 256**length).to_bytes(length, "big")
        (tmp_path / "jump.mkv").write_bytes(data)
        copy(tmp_path / "jump.mkv", tmp_path / f"out{suffix}")
        new = facts(tmp_path / f"out{suffix}").sound[0]
        if suffix in (".mkv", ".mp4"):
            assert new.packets == old.packets
            assert new.times == sorted(set(new.times))

    @pytest.mark.parametrize(
        ("stamps", "mended"),
        [
            ([], []),
            ([None, None], [0, 10]),
            ([-5, 5, 15], [-5, 5, 15]),
            ([0, None, 20], [0, 10, 20]),
            ([0, 10, 5, 6, 40], [0, 10, 20, 30, 40]),
            ([7, 7], [7, 17]),
        ],
    )
    def test_the_packet_clock(self, stamps: list[int | None], mended: list[int]) -> None:
        clock, found = PacketClock(), []
        for stamp in stamps:
            packet = av.Packet(b"x")
            packet.pts, packet.dts, packet.duration = stamp, stamp, 10
            clock.mend(packet)
            assert packet.pts == packet.dts
            found.append(packet.dts)
        assert found == mended


class TestSubtitles:
    @pytest.mark.parametrize(
        ("source", "codec", "target", "becomes", "note"),
        [
            (".mkv", "subrip", ".mkv", "subrip", None),
            (".mkv", "ass", ".mkv", "ass", None),
            (".mkv", "webvtt", ".mkv", "webvtt", None),
            (".mp4", "mov_text", ".mp4", "mov_text", None),
            (".mp4", "mov_text", ".mov", "mov_text", None),
            (".mkv", "webvtt", ".webm", "webvtt", None),
            (".mkv", "subrip", ".mp4", "mov_text", "subtitles (subrip) become mov_text"),
            (".mkv", "subrip", ".mov", "mov_text", "subtitles (subrip) become mov_text"),
            (".mkv", "ass", ".mp4", "mov_text", "subtitles (ass) become mov_text"),
            (".mkv", "webvtt", ".mp4", "mov_text", "subtitles (webvtt) become mov_text"),
            (".mkv", "subrip", ".webm", "webvtt", "subtitles (subrip) become webvtt"),
            (".mp4", "mov_text", ".webm", "webvtt", "subtitles (mov_text) become webvtt"),
            (".mp4", "mov_text", ".mkv", "subrip", "subtitles (mov_text) become subrip"),
        ],
    )
    def test_the_same_words_at_the_same_times(
        self, source: str, codec: str, target: str, becomes: str, note: str | None, tmp_path: Path
    ) -> None:
        clip = ffmpeg(
            f"{VIDEO} {SOUND} -i {subtitles(tmp_path)} -map 0 -map 1 -map 2 -c:a aac -c:s {codec}"
            " -metadata:s:s:0 language=fra -metadata:s:s:0 title=Words -disposition:s:0 forced",
            tmp_path / f"in{source}",
        )
        notes, losses = copy(clip, tmp_path / f"out{target}", audio=False)
        assert (notes, losses) == ((note,) if note else (), None)
        assert len(cues(clip)) == len(CUES)
        for one, other in zip(cues(clip), cues(tmp_path / f"out{target}"), strict=True):
            assert other == pytest.approx(one, abs=1) if isinstance(one, int) else other[2] == one[2]
            assert max(abs(other[0] - one[0]), abs(other[1] - one[1])) <= (10 if codec == "ass" else 1)
        with av.open(str(tmp_path / f"out{target}"), "r") as container:
            (track,) = container.streams.subtitles
            assert track.codec_context.codec.canonical_name == becomes
            assert track.language == "fra"
            with av.open(str(clip), "r") as original:
                assert title(track) == title(original.streams.subtitles[0])
            assert target == ".mov" or track.disposition & Disposition.forced  # QuickTime has no such mark

    def test_two_tracks(self, tmp_path: Path) -> None:
        words = subtitles(tmp_path)
        clip = ffmpeg(f"{VIDEO} -i {words} -itsoffset 0.05 -i {words} -map 0 -map 1 -map 2", tmp_path / "in.mkv")
        for suffix in (".mp4", ".mkv"):
            assert len(copy(clip, tmp_path / f"out{suffix}")[0]) == (suffix == ".mp4")
            assert cues(tmp_path / f"out{suffix}") == CUES
            later = [(begin + 50, end + 50, text) for begin, end, text in CUES]
            assert cues(tmp_path / f"out{suffix}", track=1) == later

    @pytest.mark.parametrize(
        ("codec", "target", "note"),
        [
            ("subrip", ".avi", "subtitles (subrip) are left out: .avi does not take them"),
            ("subrip", ".gif", "subtitles (subrip) are left out: .gif does not take them"),
            ("dvd_subtitle", ".mp4", "subtitles (dvd_subtitle) are left out: .mp4 does not take them"),
            ("dvd_subtitle", ".webm", "subtitles (dvd_subtitle) are left out: .webm does not take them"),
            ("dvd_subtitle", ".mkv", None),
        ],
    )
    def test_what_a_container_does_not_take(self, codec: str, target: str, note: str | None, tmp_path: Path) -> None:
        words = subtitles(tmp_path)
        if codec == "dvd_subtitle":
            words = bitmaps(tmp_path)
        clip = ffmpeg(f"{VIDEO} -i {words} -map 0 -map 1 -c:s copy", tmp_path / "in.mkv")
        assert copy(clip, tmp_path / f"out{target}") == ((note,) if note else (), None)
        assert (packets(tmp_path / f"out{target}") == packets(clip)) is (note is None)


def test_subtitles_that_lost_their_styles(tmp_path: Path) -> None:
    clip = ffmpeg(f"{VIDEO} -i {subtitles(tmp_path)} -map 0 -map 1 -c:s ass", tmp_path / "in.mkv")
    data = bytearray(clip.read_bytes())
    place = data.rindex(b"\x63\xa2", 0, data.index(b"[Script Info]"))  # Matroska's CodecPrivate
    data[place + 1] = 0xA3  # of which nobody knows
    clip.write_bytes(data)
    (note,), losses = copy(clip, tmp_path / "out.mp4")
    assert note.startswith("subtitles (ass) are left out: this build of PyAV cannot convert them (")
    assert (losses, len(facts(tmp_path / "out.mp4").times)) == (None, 20)


def bitmaps(folder: Path) -> Path:
    """A Matroska file with a track of DVD subtitles; their packets are never decoded."""
    with av.open(str(folder / "bitmaps.mkv"), "w") as output:
        stream = output.add_stream("dvdsub")
        for time in (300, 1500):
            packet = av.Packet(bytes(range(100)))
            packet.stream, packet.pts, packet.dts, packet.duration = stream, time, time, 400
            packet.time_base = Fraction(1, 1000)
            output.mux(packet)
    return folder / "bitmaps.mkv"


def packets(path: Path) -> list[tuple[Fraction, Fraction, bytes]]:
    """Time, duration and bytes of all subtitles."""
    with av.open(str(path), "r") as container:
        tracks = container.streams.subtitles
        read = [p for p in container.demux(*tracks) if p.size] if tracks else []
        return [((p.pts or 0) * p.time_base, (p.duration or 0) * p.time_base, bytes(p)) for p in read]


class TestFacts:
    @pytest.mark.parametrize("source", [".mkv", ".mp4", ".mov"])
    @pytest.mark.parametrize("target", [".mkv", ".mp4", ".mov", ".webm"])
    def test_metadata_and_chapters(self, source: str, target: str, tmp_path: Path) -> None:
        clip = ffmpeg(
            f"{VIDEO} {SOUND} -i {told(tmp_path)} -map 0 -map 1 -map_metadata 2 -map_chapters 2 -c:a aac"
            " -metadata:s:v language=fra -metadata creation_time=2024-05-06T07:08:09Z",
            tmp_path / f"in{source}",
        )
        notes, _ = copy(clip, tmp_path / f"out{target}")
        assert notes == (("sound (aac) becomes Opus",) if target == ".webm" else ())
        assert chapters(tmp_path / f"out{target}") == [(0, Fraction(7, 10), "One"), (Fraction(7, 10), 2, "Two é")]
        with av.open(str(tmp_path / f"out{target}"), "r") as container:
            found = {key.lower(): text for key, text in container.metadata.items()}
            assert container.streams.video[0].language == "fra"
        for key, text in {"title": "A film", "artist": "Someone", "comment": "With words"}.items():
            assert found[key] == text
        assert found["creation_time"] == "2024-05-06T07:08:09.000000Z"
        assert ("major_brand" in found) == (target in (".mp4", ".mov"))

    @pytest.mark.parametrize(
        ("metadata", "kept"),
        [
            ({}, {}),
            ({"ENCODER": "x", "DURATION": "00:02", "BPS": "9", "_STATISTICS_TAGS": "BPS", "rotate": "90"}, {}),
            ({"DURATION-eng": "00:02", "BPS-eng": "9", "NUMBER_OF_FRAMES-eng": "50"}, {}),
            ({"location": "+1+2/", "location-eng": "+1+2/"}, {"location": "+1+2/"}),
            ({"lyrics-eng": "la"}, {"lyrics-eng": "la"}),
            ({"Make": "Phone"}, {"Make": "Phone"}),
        ],
    )
    def test_what_is_true_of_a_copy(self, metadata: dict[str, str], kept: dict[str, str]) -> None:
        assert kept_metadata(metadata) == kept

    @pytest.mark.parametrize("target", [".mp4", ".mov", ".mkv", ".webm", ".avi", ".gif"])
    def test_covers(self, target: str, tmp_path: Path) -> None:
        picture = ffmpeg("-f lavfi -i testsrc=s=32x32 -frames:v 1", tmp_path / "cover.png")
        clip = ffmpeg(
            f"{VIDEO} {SOUND} -i {picture} -map 0 -map 1 -map 2 -c:a aac -c:v:1 copy -disposition:v:1 attached_pic",
            tmp_path / "in.mp4",
        )
        copy(clip, tmp_path / f"out{target}", audio=False)
        with av.open(str(tmp_path / f"out{target}"), "r") as container:
            covers = [s for s in container.streams.video if s.disposition & Disposition.attached_pic]
            kept = [bytes(packet) for cover in covers for packet in container.demux(cover) if packet.size]
        assert kept == ([picture.read_bytes()] if target in (".mp4", ".mkv") else [])

    @pytest.mark.parametrize(
        ("suffix", "notes"), [(".mkv", ()), (".avi", ("chapters are left out: .avi does not take them",))]
    )
    def test_chapters_that_are_lost_are_told(self, suffix: str, notes: tuple[str, ...], tmp_path: Path) -> None:
        words = ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1\nSTART=0\nEND=1\ntitle=one\n"
        (tmp_path / "words").write_text(words)
        clip = ffmpeg(f"{pictures()} -i {tmp_path / 'words'} -map 0 -map_chapters 1 -c:v mpeg4", tmp_path / "in.mp4")
        assert check_companions(clip, FORMATS[suffix], CompanionSettings()) == notes

    def test_covers_can_be_left_out(self, tmp_path: Path) -> None:
        picture = ffmpeg("-f lavfi -i testsrc=s=32x32 -frames:v 1", tmp_path / "cover.png")
        maps = "-map 0 -map 1 -c:v:0 mpeg4 -c:v:1 copy -disposition:v:1 attached_pic"
        clip = ffmpeg(f"{pictures()} -i {picture} {maps}", tmp_path / "in.mp4")
        copy(clip, tmp_path / "out.mp4", covers=False)
        with av.open(str(tmp_path / "out.mp4"), "r") as container:
            assert len(container.streams.video) == 1

    @pytest.mark.parametrize("target", [".mp4", ".mkv"])
    def test_other_pictures(self, target: str, tmp_path: Path) -> None:
        """A second film is left out with a word, and does not mix with a cover."""
        picture = ffmpeg("-f lavfi -i testsrc=s=32x32 -frames:v 1", tmp_path / "cover.png")
        clip = ffmpeg(
            f"{pictures()} -i {picture} -map 0 -map 0 -map 1 -c:v mpeg4 -c:v:2 copy -disposition:v:2 attached_pic"
            " -metadata:s:v:0 language=fra",
            tmp_path / "in.mp4",
        )
        assert copy(clip, tmp_path / f"out{target}") == (("another video track (mpeg4) is left out",), None)
        with av.open(str(tmp_path / f"out{target}"), "r") as container:
            film, cover = container.streams.video
            assert (film.codec_context.name, film.language) == ("h264", "fra")
            assert cover.disposition & Disposition.attached_pic

    def test_tracks_of_data_are_left_out_with_a_word(self, tmp_path: Path) -> None:
        clip = ffmpeg(f"{VIDEO} -timecode 01:00:00:00", tmp_path / "in.mov")
        notes, _ = copy(clip, tmp_path / "out.mp4")
        assert notes == ("a data track (TimeCodeHandler) is left out",)
        with av.open(str(tmp_path / "out.mp4"), "r") as container:
            assert [stream.type for stream in container.streams] == ["video"]

    def test_fonts_stay_in_matroska(self, tmp_path: Path) -> None:
        (tmp_path / "a.ttf").write_bytes(b"letters")
        attached = f"-attach {tmp_path / 'a.ttf'} -metadata:s:t mimetype=font/ttf"
        clip = ffmpeg(f"{VIDEO} {attached}", tmp_path / "in.mkv")
        for suffix, fonts in ((".mkv", [b"letters"]), (".mp4", [])):
            assert copy(clip, tmp_path / f"out{suffix}") == ((), None)
            with av.open(str(tmp_path / f"out{suffix}"), "r") as container:
                assert [bytes(font.data) for font in container.streams.attachments] == fonts


class TestCheck:
    @pytest.mark.parametrize("suffix", FORMATS)
    @pytest.mark.parametrize("arguments", ["", f"{SOUND} -c:a aac", f"{SOUND} -c:a libvorbis", "SUBTITLES", "-timecode 01:00:00:00"])  # fmt: skip  # noqa: E501
    def test_it_says_before_what_will_be_said(self, arguments: str, suffix: str, tmp_path: Path) -> None:
        words = arguments.replace("SUBTITLES", f"-i {subtitles(tmp_path)}")
        clip = ffmpeg(f"{VIDEO} {words}", tmp_path / ("in.mov" if "timecode" in words else "in.mkv"))
        notes = check_companions(clip, FORMATS[suffix], CompanionSettings())
        assert copy(clip, tmp_path / f"out{suffix}")[0] == notes

    @pytest.mark.parametrize("name", ["gone.mp4", "words.mp4", "."])
    def test_a_file_that_cannot_be_read(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "words.mp4").write_bytes(b"\0" * 100)
        with pytest.raises(VideoError, match="cannot be read"):
            check_companions(tmp_path / name, "mp4", CompanionSettings())

    def test_only_what_is_due_is_written(self, tmp_path: Path) -> None:
        clip = ffmpeg(f"{pictures(seconds=8)} -f lavfi -i sine=d=8 {H264} -c:a aac", tmp_path / "in.mkv")
        with (
            av.open(str(tmp_path / "out.mkv"), "w") as output,
            companions_of(clip, output, CompanionSettings()) as some,
        ):
            output.start_encoding()
            some.write_until(Fraction(1))
        times = facts_of_sound(tmp_path / "out.mkv")
        assert 0.9 < max(times) < 1.1


def facts_of_sound(path: Path) -> list[Fraction]:
    with av.open(str(path), "r") as container:
        return [p.pts * p.time_base for p in container.demux(audio=0) if p.pts is not None]


@pytest.mark.parametrize(
    ("span", "begin", "end", "left"),
    [
        (Span(), 1, 1, None),
        (Span(), 1, 2, (1, 2)),
        (Span(start=Fraction(1)), 0, 1, None),
        (Span(start=Fraction(1)), 0, 3, (0, 2)),
        (Span(end=Fraction(2)), 1, 3, (1, 2)),
        (Span(end=Fraction(2)), 2, 3, None),
        (Span(Fraction(1), Fraction(2)), 0, 9, (0, 1)),
    ],
)
def test_span(span: Span, begin: int, end: int, left: tuple[int, int] | None) -> None:
    found = span.cut(Fraction(begin), Fraction(end))
    assert (found and tuple(map(int, found))) == left
