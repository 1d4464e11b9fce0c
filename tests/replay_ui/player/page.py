"""The page under test: what a page of the desk does with the player, and nothing else."""

from __future__ import annotations

import streamlit as st

from replay_ui.player import frame_to_query, player, run_urls

st.set_page_config(layout="wide", page_title="Replay")
tenant = st.query_params.get("tenant", "acme")
run = st.query_params.get("run", "run-1")
n = int(st.query_params.get("n", "40"))
urls = run_urls(tenant, run)
if st.button("Open frame 10"):
    st.query_params["frame"] = frame_to_query(9)
state = player(
    run_manifest_url=urls.manifest,
    frames_url=urls.frames,
    events_url=urls.events,
    n=n,
    query_param="frame",
    link={"run": run},
    key=f"player-{run}",
)
st.text(f"state {state.frame} {state.verified}")
