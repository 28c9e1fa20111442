"""Hostile changes to good files: of bytes, of text and of the values in JSON."""

import copy
import json
import pathlib
import random
from collections.abc import Callable

# Each list a line; what is too long for one is added here.
LISTS = json.loads(pathlib.Path(__file__).with_name("hostile.json").read_text(encoding="utf-8"))
NUMBERS = LISTS["numbers"]
WORDS = [*LISTS["words"], "x" * 70000]
VALUES = (None, True, False, [], {}, [[]], [None], {"": None}, [1], ["a"], {"a": {}})
# JSON that Python would not write.
RAW = [*LISTS["raw"], "[" * 70 + "]" * 70, "[" * 90000, '{"a":' * 90000, "0." + "3" * 4000]
HOLE = '"\\u0001hole"'
BYTES = [text.encode("latin-1") for text in LISTS["bytes"]]

Path = list  # of keys and indices
Node = tuple[dict | list, object]


def nodes(document) -> list[Node]:
    """Every (container, key) in a document."""
    found: list[Node] = []
    waiting = [document]
    while waiting:
        part = waiting.pop()
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        for key in keys:
            found.append((part, key))
            if isinstance(part[key], (dict, list)):
                waiting.append(part[key])
    return found


def choose_node(document, draw: random.Random) -> Node | None:
    """Any value, each as likely; or on a way down that ends early, so that few keys with many values
    in them are met, too."""
    if not isinstance(document, (dict, list)) or not document:
        return None
    if draw.random() < 0.5:
        return draw.choice(nodes(document))
    part = document
    while True:
        key = draw.choice(list(part) if isinstance(part, dict) else range(len(part)))
        inner = part[key]
        if not isinstance(inner, (dict, list)) or not inner or draw.random() < 0.15:
            return part, key
        part = inner


def hostile_value(draw: random.Random):
    """A value of its own, which later changes may change."""
    return copy.deepcopy(draw.choice(draw.choice((NUMBERS, WORDS, VALUES))))


def change_json(document, draw: random.Random) -> None:
    """One change in place: a value, a key, an order, a length, a type."""
    node = choose_node(document, draw)
    if node is None:
        return
    part, key = node
    how = draw.randrange(12)
    if how == 0:
        del part[key]
    elif how == 1 and isinstance(part, dict):
        part[draw.choice(WORDS)] = part.pop(key)
    elif how == 2 and isinstance(part, list):
        few = isinstance(part[key], (dict, list))  # lists of lists of lists would not end
        part.extend([part[key]] * draw.choice((1, 2, 4 if few else 1000)))
    elif how == 3 and isinstance(part, list):
        draw.shuffle(part)
    elif how == 4:
        part[key] = [part[key]]
    elif how == 5:
        others = nodes(document)
        other, at = draw.choice(others)
        part[key] = json.loads(json.dumps(other[at]))
    elif how >= 6 and isinstance(part[key], (int, float)):
        part[key] = draw.choice(
            (-part[key], part[key] + 1, part[key] * 1e6, str(part[key]), draw.choice(NUMBERS))
        )
    elif how >= 6 and isinstance(part[key], str):
        text = part[key]
        part[key] = draw.choice(
            (text + draw.choice(WORDS), text[: len(text) // 2], text.upper(), draw.choice(WORDS))
        )
    else:
        part[key] = hostile_value(draw)


def json_text(document) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def hostile_json(document, draw: random.Random) -> bytes:
    """A document with a few changes; now and then one that is no JSON, or other bytes."""
    document = json.loads(json.dumps(document))
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        change_json(document, draw)
    kind = draw.random()
    if kind < 0.08 and (node := choose_node(document, draw)):
        node[0][node[1]] = "\x01hole"
        text = json.dumps(document).replace(HOLE, draw.choice(RAW))
        return text.encode("utf-8", "surrogatepass")
    text = json_text(document).encode("utf-8", "surrogatepass")
    return hostile_bytes(text, draw) if kind < 0.15 else text


def hostile_bytes(content: bytes, draw: random.Random) -> bytes:
    """A few changes of bytes: flipped, put in, cut out, cut short, said twice."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(data) + 1)
        how = draw.randrange(6)
        if how == 0 and at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            data[at:at] = draw.choice(BYTES)
        elif how == 2:
            del data[at : at + draw.choice((1, 2, 16, 400))]
        elif how == 3:
            del data[at:]
        elif how == 4:
            data[at:at] = data[max(0, at - draw.choice((1, 8, 300))) : at]
        else:
            data[at : at + 8] = draw.choice((0, 1, 2**31, 2**63, 2**64 - 1)).to_bytes(8, "little")
    return bytes(data)


def hostile_words(good: list[str], draw: random.Random, more: Callable[[], str] | None = None) -> str:
    """A list of an option's language, such as 0-3,5, with odd parts and separators."""
    parts = [draw.choice(good) for _ in range(draw.choice((1, 1, 1, 2, 5)))]
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        at = draw.randrange(len(parts))
        part = parts[at]
        odd = draw.choice((*map(str, NUMBERS), *WORDS))
        cut = draw.randrange(len(part) + 1)
        parts[at] = draw.choice(
            (odd, part + odd, part[:cut] + odd + part[cut:], part[:cut], part + part, more() if more else odd)
        )
    text = draw.choice((",",) * 20 + (",,", ";", " ", ":", "-", "\n")).join(parts)
    # What no command line can hold, or what the system would refuse for its length.
    return text.replace("\x00", "\x01").encode("utf-8", "replace").decode()[:100000]
