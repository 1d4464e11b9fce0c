"""The script that Streamlit runs for the desk: who looks, in which language, at which tenant, on which page.

Rules enforced here:

- Nothing is shown before it is known who looks; a tenant that the viewer may not read is as if it did not exist.
- A followed link is opened only if it leads to a page of the desk.
- The mark of the single-user mode is on every page while no access control is configured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import streamlit as st
from PIL import Image, ImageDraw

from domain.errors import ProofreelError
from domain.ids import TenantId
from replay_ui.components.blocks import page_path, when
from replay_ui.components.sheet import follow, take_followed
from replay_ui.i18n import LANGUAGES, Words, choose
from replay_ui.session import account, opened, readable_tenants, viewer
from replay_ui.views import (
    alerts,
    cases,
    chain,
    export,
    integrity,
    metrics,
    month,
    queue,
    replay,
    runs,
    search,
)
from replay_ui.views.common import (
    ALERTS,
    CASES,
    CHAIN,
    EXPORT,
    INTEGRITY,
    METRICS,
    MONTH,
    QUEUE,
    REPLAY,
    RUNS,
    SEARCH,
    View,
)

if TYPE_CHECKING:
    from replay_ui.roles import Viewer

# Path → title, icon and content of each page. A string here would be shown: Streamlit runs this file as a script.
PAGES: Final[dict[str, tuple[str, str, Callable[[View], None]]]] = {
    CASES: ("cases.title", ":material/inbox:", cases.page),
    RUNS: ("runs.title", ":material/view_list:", runs.page),
    REPLAY: ("replay.title", ":material/play_circle:", replay.page),
    MONTH: ("month.title", ":material/account_balance:", month.page),
    CHAIN: ("chain.title", ":material/timeline:", chain.page),
    QUEUE: ("queue.title", ":material/person_alert:", queue.page),
    ALERTS: ("alerts.title", ":material/notification_important:", alerts.page),
    METRICS: ("metrics.title", ":material/monitoring:", metrics.page),
    INTEGRITY: ("integrity.title", ":material/verified_user:", integrity.page),
    EXPORT: ("export.title", ":material/folder_zip:", export.page),
    SEARCH: ("search.title", ":material/search:", search.page),
}
_STYLE: Final = """<style>
[data-testid="stMainBlockContainer"] { padding: 1.4rem 2rem 3rem; max-width: 1560px; }
[data-testid="stHeader"] { height: 2.2rem; min-height: 0; background: transparent; pointer-events: none; }
[data-testid="stHeader"] button { pointer-events: auto; }
[data-testid="stMain"] h1 { font-size: 1.4rem; line-height: 1.25; padding: 0 0 .35rem; letter-spacing: -.015em; }
[data-testid="stMain"] [data-testid="stHeading"] { margin-bottom: .35rem; }
[data-testid="stSidebarHeader"] { height: 2.9rem; align-items: center; }
[data-testid="stSidebarHeader"]::before { content: "Proofreel"; font-weight: 700; font-size: 1.15rem;
  letter-spacing: -.02em; color: #1f57b8; }
[data-testid="stSidebarNav"] { margin-top: .2rem; }
[data-testid="stVerticalBlock"] { gap: .8rem; }
[data-testid="stWidgetLabel"] p { font-size: 12px; color: #5c667a; }
</style>"""


def main() -> None:
    """Show the page that the URL names."""
    words = Words(language())
    st.set_page_config(page_title="Proofreel", page_icon=icon(), layout="wide")
    st.html(_STYLE)
    who = viewer()
    counts = waiting(who) if who else {}
    pages = {path: a_page(path, words, counts.get(path, 0)) for path in PAGES}
    current = st.navigation(list(pages.values()), position="sidebar" if who else "hidden")
    followed = take_followed()
    if followed is not None and followed[0] in pages:
        path, parameters = followed
        if pages[path].url_path == current.url_path:
            st.query_params.from_dict(parameters)
        else:
            st.switch_page(pages[path], query_params=parameters)
    current.run()


@lru_cache(maxsize=1)
def icon() -> Image.Image:
    """Icon of the tab, drawn: an icon by its name would be fetched from somewhere else."""
    made = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    pen = ImageDraw.Draw(made)
    pen.rounded_rectangle((2, 2, 62, 62), 14, fill="#1f57b8")
    pen.line(((17, 34), (28, 45), (48, 20)), fill="white", width=8, joint="curve")
    return made


def language() -> str:
    """Language that was picked, else the one in the URL, else the browser's.

    What the page says of itself goes first: a browser need not send its languages along when it opens a WebSocket.
    """
    asked = st.session_state.get("language") or st.query_params.get("lang")
    offers = (st.context.locale, st.context.headers.get("Accept-Language"))
    return choose(asked, ",".join(filter(None, offers)))


def waiting(who: Viewer) -> dict[str, int]:
    """How much waits on a page, for the navigation; nothing where it can't be known, because the page says why."""
    try:
        tenant = asked_tenant(readable_tenants(who))
        desk = opened().desk
        return {QUEUE: desk.count_waiting(tenant), ALERTS: len(desk.letters(tenant))} if tenant else {}
    except ProofreelError:
        return {}


def a_page(path: str, words: Words, count: int = 0) -> st.Page:
    """One page of the navigation, with how much waits there."""
    title, icon, content = PAGES[path]
    shown = f"{words(title)} ({count:,})" if count else words(title)

    def run() -> None:
        framed(path, words, content)

    run.__name__ = path or "cases"
    return st.Page(run, title=shown, icon=icon, url_path=path or None, default=path == CASES)


def framed(path: str, words: Words, content: Callable[[View], None]) -> None:
    """The page between its title and the sidebar; an error of ours is one line with its remedy."""
    try:
        who = viewer()
        if who is None:
            sign_in(words)
            return
        st.title(words(PAGES[path][0]), anchor=False)
        tenants = readable_tenants(who)
        tenant = pick_tenant(tenants)
        sidebar(words, tenant, tenants, who)
        if tenant is None:
            st.info(words("no_tenant"))
            return
        content(
            View(
                desk=opened().desk,
                tenant=tenant,
                words=words,
                now_us=time.time_ns() // 1000,
                actions=opened().actions,
                viewer=who,
                openings=opened().openings,
            )
        )
    except ProofreelError as error:
        st.error(str(error).replace("[", "\\["))


def sign_in(words: Words) -> None:
    """What is shown to somebody whom the desk doesn't know: the way in, and nothing else."""
    name = account()
    _, middle, _ = st.columns((3, 4, 3))
    with middle, st.container(border=True):
        st.title("Proofreel", anchor=False)
        if name:
            st.info(words("sign_in.unlisted", account=name.replace("[", "\\[")))
            st.button(words("sign_in.leave"), on_click=st.logout)
        else:
            st.text(words("sign_in.why"))
            st.button(words("sign_in.enter"), type="primary", on_click=st.login)


def asked_tenant(tenants: list[TenantId]) -> TenantId | None:
    """Tenant of the URL, else of the session, else the only or first one; None when the asked one isn't there."""
    asked = st.query_params.get("tenant") or st.session_state.get("tenant")
    if asked:
        return TenantId(asked) if asked in tenants else None
    return next(iter(tenants), None)


def pick_tenant(tenants: list[TenantId]) -> TenantId | None:
    """The asked tenant, kept for the session and in the URL; None when it isn't there."""
    tenant = asked_tenant(tenants)
    if tenant is None:
        st.session_state.pop("tenant", None)
    else:
        st.session_state["tenant"] = tenant
        if st.query_params.get("tenant") != tenant:
            st.query_params["tenant"] = tenant
    return tenant


def sidebar(words: Words, tenant: TenantId | None, tenants: list[TenantId], who: Viewer) -> None:
    """Tenant, language, how far the desk sees, and who looks."""
    with st.sidebar:
        if tenant is not None:
            st.text_input(
                words("search.title"),
                key="sidebar-search",
                on_change=look_up,
                type="search",
                max_chars=400,
                placeholder=words("search.label"),
            )
        if len(tenants) > 1:
            st.session_state["tenant-picker"] = tenant
            st.selectbox(
                words("tenant"), tenants, key="tenant-picker", on_change=switch_tenant, placeholder="–"
            )
        st.session_state["language-picker"] = words.language
        st.selectbox(
            words("language"),
            list(LANGUAGES),
            key="language-picker",
            format_func=LANGUAGES.__getitem__,
            on_change=switch_language,
        )
        if tenant is not None:
            standing = opened().desk.standing(tenant)
            st.caption(words("standing", events=f"{standing.events:,}", when=when(standing.last_at_us)))
        st.button(words("refresh"), icon=":material/refresh:", width="stretch")
        if opened().access.local_only:
            st.caption(f":material/computer: {words('local_mode')}")
        else:
            signed_in(words, tenant, who)


def signed_in(words: Words, tenant: TenantId | None, who: Viewer) -> None:
    """Who looks, as what, and the way out."""
    st.text(who.name)
    if tenant is not None:
        st.caption(" · ".join(words.of("role_of", role) for role in who.roles_at(tenant)))
    st.button(words("sign_in.leave"), icon=":material/logout:", width="stretch", on_click=st.logout)


def look_up() -> None:
    """What was typed into the sidebar is searched for on the page Search."""
    asked = str(st.session_state["sidebar-search"]).strip()
    if asked:
        follow(page_path(SEARCH, tenant=st.session_state.get("tenant"), q=asked))
        st.session_state["sidebar-search"] = ""


def switch_tenant() -> None:
    """Another tenant: nothing that the URL named before belongs to it."""
    tenant = st.session_state["tenant-picker"]
    st.session_state["tenant"] = tenant
    st.query_params.from_dict({"tenant": tenant})


def switch_language() -> None:
    """Another language, for this session and in the links that are shared."""
    st.session_state["language"] = st.session_state["language-picker"]


if __name__ == "__main__":  # Streamlit runs the script under this name; tests import it
    main()
