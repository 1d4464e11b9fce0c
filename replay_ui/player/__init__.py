"""The frame player: a packaged Streamlit component, its data contract and its addresses."""

from replay_ui.player.component import Beside, PlayerState, player
from replay_ui.player.urls import aligned_url, frame_from_query, frame_to_query, run_urls

__all__ = ["Beside", "PlayerState", "aligned_url", "frame_from_query", "frame_to_query", "player", "run_urls"]
