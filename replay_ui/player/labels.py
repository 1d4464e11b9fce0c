"""Every word that the player shows, in English.

Rules enforced here:

- The frontend has no words of its own: it gets all of them from here, so a translation is complete or it
  fails loudly.
- ``{name}`` in a text is replaced in the browser, as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from domain.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGLISH: Final[Mapping[str, str]] = {
    "player": "Replay of a recorded run",
    "player_hint": "Arrow keys step through the frames, space plays, question mark shows all keys",
    "stage": "Recorded screen, frame {frame}",
    "toolbar": "Replay controls",
    "loading": "Loading the run…",
    "no_frames": "This run has no frames.",
    "frame_of": "Frame {frame} of {total}",
    "slider": "Position in the run",
    "film": "Frames around this one",
    "go_first": "First frame",
    "go_last": "Last frame",
    "go_prev": "Previous frame",
    "go_next": "Next frame",
    "go_prev_stop": "Previous blocked or failed step",
    "go_next_stop": "Next blocked or failed step",
    "play": "Play",
    "pause": "Pause",
    "speed": "Playback speed",
    "skip_idle": "Skip idle time",
    "marker": "Click marker",
    "boxes": "Target and compared regions",
    "changes": "Changed tiles",
    "compare_swipe": "Before and after: swipe",
    "compare_blink": "Before and after: blink",
    "mark_region": "Mark a part of the frame",
    "zoom_in": "Zoom in",
    "zoom_out": "Zoom out",
    "zoom_fit": "Fit the whole frame",
    "copy_link": "Copy link to this frame",
    "link_copied": "Link copied",
    "link_manual": "Copy this link:",
    "copy_hash": "Copy the hash",
    "hash_copied": "Hash copied",
    "beside_none": "This run has no such step",
    "help": "Keyboard help",
    "close": "Close",
    "legend_target": "target",
    "legend_roi": "compared around the point",
    "legend_row": "row",
    "legend_changes": "{changed} of {tiles} tiles changed since frame {other}",
    "comparing": "Compared with frame {other} ({role})",
    "comparing_none": "There is no earlier frame to compare with",
    "before": "before",
    "after": "after",
    "hash_checking": "Checking the hash…",
    "hash_match": "Hash matches the record",
    "hash_differs": "Hash differs from the record: these bytes are not what was recorded",
    "hash_missing": "Frame not available: withheld, removed or out of reach",
    "hash_unchecked": "Hash not checked: the browser checks hashes on HTTPS or localhost only",
    "hash_withheld": "Parts withheld: this is the rendition that is on record",
    "hash_deleted": "Deleted: the bytes are gone, their hash stays on record",
    "undecodable": "These bytes are not a picture that can be shown.",
    "manifest_failed": "The run could not be loaded ({reason}). Reload the page to try again.",
    "panel_verdict": "Verdict",
    "panel_frame": "Frame",
    "panel_event": "Event",
    "no_verdict": "No verdict at this frame",
    "no_guards": "No guard was asked at this frame.",
    "expected": "expected",
    "found": "found",
    "sha256": "SHA-256",
    "computed": "computed",
    "role": "Role",
    "size": "Size",
    "media_type": "Format",
    "event_name": "Name",
    "position": "Log position",
    "time": "Time (UTC)",
    "principal": "Principal",
    "task": "Task",
    "bill": "Bill",
    "step": "Step",
    "action": "Action",
    "key": "Idempotency key",
    "stored_event": "Stored event",
    "stored_event_failed": "The stored event is not available.",
    "role_observed": "observed",
    "role_before": "before the action",
    "role_after": "after the action",
    "role_readback": "readback",
    "role_planned": "planned on",
    "tone_ok": "ok",
    "tone_stopped": "stopped",
    "tone_failed": "failed",
    "tone_unknown": "unknown",
    "tone_none": "no verdict",
    "key_step": "one frame",
    "key_step10": "ten frames",
    "key_ends": "first, last frame",
    "key_play": "play, pause",
    "key_shuttle": "backward, pause, forward (again: faster)",
    "key_stops": "previous, next blocked or failed step",
    "key_swipe": "before and after: swipe",
    "key_blink": "before and after: blink",
    "key_changes": "changed tiles",
    "key_overlays": "marker, regions",
    "key_zoom": "zoom; wheel and drag work too",
    "key_fit": "fit the whole frame",
    "key_region": "mark a part of the frame",
    "key_link": "copy link to this frame",
    "key_help": "this help",
}
"""Key to English text; the keys are the contract for translations."""


def complete(overrides: Mapping[str, str] | None) -> dict[str, str]:
    """English with ``overrides`` laid over it.

    Raises:
        ConfigError: a key that the player doesn't have, which would be a text that never shows.
    """
    if not overrides:
        return dict(ENGLISH)
    unknown = sorted(set(overrides) - set(ENGLISH))
    if unknown:
        raise ConfigError(
            f"player label {unknown[0]!r} does not exist",
            remedy="use the keys of replay_ui.player.labels.ENGLISH",
        )
    return {**ENGLISH, **overrides}
