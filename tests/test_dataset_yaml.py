"""The small YAML reader against PyYAML, which the development tools bring along."""

import json
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from ssd_detect.datasets.writing_yolo import data_yaml
from ssd_detect.datasets.yaml_subset import parse_yaml_subset

KEYS = ("path", "train", "val", "test", "names", "nc")

TEXTS = [
    "",
    "# nothing but a comment\n---\n",
    "path: ../datasets/coco # dataset root dir\ntrain: images/train\nval: images/val\ntest: # optional\nnames: [a]\n",
    "names:\n  0: person\n  1: traffic light\n  2: it's\n",
    "names:\n- person\n- 'traffic light'\nval: x\n",
    'names:\n  - person\n  -   "a, b"\n',
    "names: ['person', \"bi: cycle\", it's, a-b, plain words here]\n",
    "names: [\n  person,\n  car, # one more\n  dog,\n]\nval: x\n",
    "names: {0: person, 1: 'a: b', 2: \"c\"}\n",
    "names:\n  ['a',\n   'b']\n",
    "names: []\nval: ''\n",
    "'names': ['don''t', \"\\u00e9\\n\"]\n",
    "train:\n  - a/images\n  - b/images\n",
    "roboflow:\n  workspace: x\n  deep:\n    - 1\n    - {a: [b]}\nval: x\n",
    "val: x\ndownload: |\n  import os\n  # run it\n  os.x()\n",
    "val: a#b\ntrain: 'a # b' # c\n",
    "val: C:\\data\\images\ntest: http://x/y\n",
    "\ufeffval: x\r\nnames: [a]\r\n".lstrip("\ufeff"),
    "names: [a , b]\n...\n",
    "val: ~\ntest: null\nnames: [a, b]\n",
]


def as_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): as_texts(v) for k, v in value.items()}
    if isinstance(value, list):
        return [as_texts(v) for v in value]
    return "" if value is None else str(value)


@pytest.mark.parametrize("text", TEXTS)
def test_says_what_pyyaml_says(text: str) -> None:
    theirs = yaml.safe_load(text) or {}
    assert parse_yaml_subset(text, KEYS) == {k: as_texts(v) for k, v in theirs.items() if k in KEYS}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("names: [a\n", "line 1: expected one pair of brackets"),
        ("names: [a, [b]]\n", "line 1: expected one pair of brackets"),
        ("names: [a, {b: c}]\n", "line 1: expected one pair of brackets"),
        ("names: [a b: c]\n", "line 1: expected texts with commas"),
        ("names: {a, b}\n", "line 1: expected texts with commas"),
        ("names: [a,, b]\n", "line 1: expected texts with commas"),
        ("names:\n  0: a\n    more\n", "line 2: expected a list or a mapping"),
        ("names:\n  - a\n  0: b\n", "line 3: '0: b', expected an item"),
        ("names:\n  - a: b\n", "line 2: '- a: b' is a mapping within a list"),
        ("names:\n  a\n  b\n", "line 2: 'a', expected a key"),
        ("val: a\n  b\n", "line 2: a text of several lines"),
        ("val: |\n  b\n", "line 2: a text of several lines"),
        ("val: &a b\n", "line 1: '&a b' is of a form"),
        ("val: !!str b\n", "line 1: '!!str b' is of a form"),
        ("val: 'a\n", 'line 1: "\'a" is no quoted text'),
        ('val: "a\\q"\n', "line 1: .* is no quoted text"),
        ("\tval: x\n", "line 1: a tab"),
        ("- a\n- b\n", "line 1: '- a', expected a key"),
        ("names:\n  0: a\n  0: b\n", "line 3: the key '0' stands there twice"),
        ("names: {0: a, '0': b}\n", "line 1: the key '0' stands there twice"),
        ("val: a\nnames: [a]\n'val': b\n", "line 3: the key 'val' stands there twice"),
        ("just words\n", "line 1: 'just words', expected a key"),
    ],
)
def test_what_is_not_understood_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        parse_yaml_subset(text, KEYS)


PLAIN = st.text(alphabet=" ab0'\"#:,[]{}-&*!|>%@`?é", max_size=8)


@given(st.lists(PLAIN, max_size=4), st.sampled_from(["flow", "block", "mapping", "braces"]), st.booleans())
def test_never_says_other_than_pyyaml(words: list[str], form: str, quoted: bool) -> None:
    """For any text: an error, or the same."""
    shown = [json.dumps(w, ensure_ascii=False) if quoted else w for w in words]
    text = {
        "flow": f"names: [{', '.join(shown)}]\n",
        "block": "names:\n" + "".join(f"- {w}\n" for w in shown),
        "mapping": "names:\n" + "".join(f"  {i}: {w}\n" for i, w in enumerate(shown)),
        "braces": "names: {" + ", ".join(f"{i}: {w}" for i, w in enumerate(shown)) + "}\n",
    }[form]
    try:
        ours = parse_yaml_subset(text, KEYS)
    except ValueError:
        assert not quoted
        return
    try:
        theirs = yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError:
        return  # more is read than YAML allows, such as a text with a bracket in a list
    assert ours == (theirs or {})


@given(st.lists(st.text(min_size=1, max_size=12), max_size=5), st.sampled_from([None, "train", "test", "odd"]))
def test_what_convert_writes_is_yaml(names: list[str], split: str | None) -> None:
    text = data_yaml(("background", *names), split).decode()
    theirs = yaml.load(text, yaml.BaseLoader)
    assert parse_yaml_subset(text, KEYS) == {k: v or "" for k, v in theirs.items()}
    assert list((theirs["names"] or {}).values()) == names
