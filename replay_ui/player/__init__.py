"""The frame player: a packaged Streamlit component, its data contract and its addresses."""

from replay_ui.player.component import PlayerState, player
from replay_ui.player.urls import frame_from_query, frame_to_query, run_urls

__all__ = ["PlayerState", "frame_from_query", "frame_to_query", "player", "run_urls"]
