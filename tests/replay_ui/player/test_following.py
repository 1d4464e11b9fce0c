"""Who moves the player: the viewer or the page."""

from __future__ import annotations

from typing import Final

from replay_ui.player.following import Memory, Seen, begin, follow

NOWHERE: Final = Seen(None, 0)


def test_a_link_opens_its_frame() -> None:
    turn = begin(Memory(), "8", NOWHERE, default=None, n=40)
    assert turn == (Memory("8", 1, 7), 7)


def test_without_a_link_the_default_opens_once() -> None:
    first = begin(Memory(), None, NOWHERE, default=3, n=40)
    assert (first.memory, first.open_at) == (Memory(None, 1, 3), 3)
    again = begin(first.memory, None, Seen(12, 1), default=3, n=40)
    assert (again.memory, again.open_at) == (first.memory, 12)


def test_asking_for_the_same_frame_again_does_not_drag_the_viewer_back() -> None:
    memory = Memory("8", 1, 7)
    assert begin(memory, "8", Seen(20, 1), default=None, n=40) == (memory, 20)


def test_what_was_written_for_the_viewer_is_no_wish_but_another_value_is() -> None:
    written = follow(Memory("8", 1, 7), Seen(20, 1))
    assert written.asked == "21"
    assert begin(written, "21", Seen(23, 1), default=None, n=40).memory.nonce == 1
    back = begin(written, "8", Seen(20, 1), default=None, n=40)
    assert back == (Memory("8", 2, 7), 7)


def test_what_the_browser_had_not_heard_of_when_it_spoke_is_no_wish() -> None:
    """Two writes are under way; the browser knows the first of them only, and says where the viewer went on to."""
    first = follow(begin(Memory(), None, Seen(1, 0, 11, None), default=None, n=40).memory, Seen(1, 0))
    second = follow(begin(first, None, Seen(2, 0, 12, None), default=None, n=40).memory, Seen(2, 0))
    assert second.asked == "3"
    turn = begin(second, "2", Seen(3, 0, 13, "2"), default=None, n=40)
    assert (turn.memory.nonce, turn.open_at) == (0, 3)
    assert follow(turn.memory, Seen(3, 0)).asked == "4"


def test_the_same_value_is_a_wish_when_the_browser_said_nothing_new() -> None:
    heard = begin(Memory("4", 0, None, 12), "4", Seen(3, 0, 13, "4"), default=None, n=40).memory
    back = begin(heard, "2", Seen(3, 0, 13, "4"), default=None, n=40)
    assert (back.memory.nonce, back.open_at) == (1, 1)


def test_news_from_before_a_wish_neither_cancels_it_nor_rewrites_the_link() -> None:
    wished = begin(Memory("21", 1, 20), "8", Seen(20, 1), default=None, n=40).memory
    late = begin(wished, "8", Seen(20, 1), default=None, n=40)
    assert late.open_at == 7
    assert follow(late.memory, Seen(20, 1)).asked == "8"


def test_a_link_to_no_frame_of_the_run_moves_nothing() -> None:
    turn = begin(Memory("8", 1, 7), "41", Seen(20, 1), default=None, n=40)
    assert (turn.memory.nonce, turn.open_at) == (1, 20)
