"""Where configuration becomes a working executor: the one place (beside the command line) that composes everything."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo

from playwright.sync_api import Browser, Playwright, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from domain.errors import ConfigError
from domain.ids import TenantId
from domain.policy import ActionRule, ReadbackSource, RungName
from domain.policy_rules import WriteRule
from executor.config import Config, Secret, digest, rules_of, secret_of
from executor.detail_readback import DetailReadback, PageMap
from executor.notify import configured
from executor.readback import ApiReadback, HttpSession, Readback, ReadLane
from executor.recipe import Recipe, load_recipe
from executor.runtime.batch import Setting
from executor.runtime.behind import BlobsBehind, LogAfterBlobs
from executor.runtime.jobs import Runner
from executor.runtime.kit import UTC, Kit
from executor.runtime.system import SystemClock, SystemIds
from executor.runtime.vision import Around, vision_rung
from executor.settlement_readback import Booking, Meaning, SettlementMonth, SettlementReadback
from executor.store.blobs import open_blobs
from executor.store.log import open_record
from executor.tools.browser import BrowserTool
from executor.tools.browser_hands import BrowserHands
from executor.tools.chromium import choose_chromium, find_chromium, launch
from executor.tools.computer_use import VisionHands
from executor.tools.opening import callers_of, check_readbacks
from executor.write_rules import write_rules, zone_of
from projections.settlement.importer import read_settlement
from projections.settlement.lines import SettlementFile
from projections.settlement.profiles import load_profile

LOCALES: Mapping[str, str] = {"zh": "zh-CN", "en": "en-US", "ja": "ja-JP", "ko": "ko-KR"}
SCREENS: frozenset[RungName] = frozenset({"browser", "computer_use"})
"""Rungs that need a browser."""
AGENT = f"proofreel {version('proofreel')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A configured target: its recipe, rules and secrets."""

    config: Config
    recipe: Recipe
    rules: Mapping[str, ActionRule]
    service_secret: Secret
    readback_secret: Secret
    write_rules: Sequence[WriteRule] = ()
    zone: ZoneInfo = UTC


def open_target(config: Config, config_path: Path) -> Target:
    """Read the recipe and the secrets; ``ConfigError`` names what is missing."""
    recipe = load_recipe(config.target.recipe, beside=config_path.parent)
    if config.target.language not in recipe.labels:
        raise ConfigError(
            f"recipe {recipe.name} has no labels for language {config.target.language!r}",
            file=str(config_path),
            remedy=f"use one of {', '.join(sorted(recipe.labels))}",
        )
    check_readbacks(config, recipe, str(config_path))
    rules = rules_of(recipe.rules(), config, str(config_path))
    section = config.write_policy
    return Target(
        config=config,
        recipe=recipe,
        rules=rules,
        write_rules=write_rules(section.rules, config_path, actions=rules, approvers=config.approvers()),
        zone=zone_of(section.timezone, config_path),
        service_secret=secret_of(config.target.service),
        readback_secret=secret_of(config.target.readback),
    )


class Workshop:
    """Everything that is open while an executor works; a context manager that closes it all."""

    def __init__(self, target: Target, *, store: str, blobs: str, own_model: bool = True) -> None:
        """``own_model``: the configured model, if the ladder has one, takes part; else the caller brings another."""
        self.target = target
        self._own_model = own_model
        self._store = store
        self._blobs = blobs
        self._stack = contextlib.ExitStack()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._hands: BrowserHands | None = None
        self._kit: Kit | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # A browser that a Ctrl-C or a crash has closed needs no closing, and must not hide what happened.
        with contextlib.suppress(PlaywrightError):
            self._stack.close()

    # -- what the kit is made of -----------------------------------------------------------------

    def kit(self) -> Kit:
        """Log, blobs, policy and readback sources; opened once."""
        if self._kit is None:
            self._kit = self._new_kit()
        return self._kit

    def _new_kit(self) -> Kit:
        target = self.target
        config = target.config
        log = open_record(self._store)
        self._stack.callback(log.close)
        blobs = BlobsBehind(open_blobs(self._blobs))
        self._stack.callback(blobs.close)
        session = self.http_session()
        return Kit(
            tenant=TenantId(config.tenant),
            identity=config.domain_identity(),
            log=LogAfterBlobs(log, blobs),
            blobs=blobs,
            clock=SystemClock(),
            ids=SystemIds(),
            recipe=target.recipe,
            rules=target.rules,
            policy=config.domain_policy(),
            budget=config.domain_budget(),
            notifier=configured(config.notify.webhook, config.notify.command),
            readbacks=self._readbacks(config.write_policy.readback_sources, session),
            later_readbacks=self._readbacks(config.write_policy.later_sources, session),
            readback_deadline_s=config.write_policy.readback_deadline_ms / 1000,
            origin=config.target.origin,
            language=config.target.language,
            write_rules=target.write_rules,
            zone=target.zone,
            ladder=config.tools.ladder,
            trace=config.browser.trace,
            callers=callers_of(config, target.recipe, target.service_secret, self._stack),
            runners=self._runners(session),
        )

    def _runners(self, session: HttpSession) -> Mapping[RungName, Callable[[], Runner]]:
        """The model's rung, where the ladder has it."""
        config, section = self.target.config, self.target.config.tools.computer_use
        if section is None or "computer_use" not in config.tools.ladder or not self._own_model:
            return {}
        around = Around(
            kit=self.kit,
            open_hands=self.vision_hands,
            session=session,
            writer=config.target.service.account,
        )
        return {"computer_use": vision_rung(section, around, self._stack)}

    def http_session(self) -> HttpSession:
        """A session of the readback account."""
        config, login = self.target.config.target, self.target.recipe.site.login
        session = HttpSession(
            config.origin,
            account=config.readback.account,
            secret=self.target.readback_secret,
            login_path=login.path,
            account_field=login.account_field,
            secret_field=login.secret_field,
        )
        self._stack.callback(session.close)
        return session

    def read_lane(self, session: HttpSession) -> ReadLane:
        """The list of bills, for reading only."""
        read = self.target.recipe.read
        return ReadLane(session, read.list_path, self.target.recipe.json_map(), rows=read.list_rows)

    def _readbacks(self, names: Sequence[ReadbackSource], session: HttpSession) -> list[Readback]:
        makers: dict[ReadbackSource, Callable[[], Readback]] = {
            "api": lambda: self._api(session),
            "list": lambda: self.read_lane(session),
            "detail": self._detail,
            "settlement_file": lambda: self._settlement(session),
        }
        return [makers[name]() for name in names]

    def _settlement(self, session: HttpSession) -> Readback:
        read = self.target.recipe.read
        if not (read.settlement_path and read.settlement_profile):
            raise ConfigError(
                f"recipe {self.target.recipe.name} doesn't say where its settlement file is and how it is read",
                remedy="give read.settlement_path and read.settlement_profile",
            )
        profile = load_profile(read.settlement_profile)
        (bills,) = self._readbacks(self.target.config.write_policy.readback_sources[:1], session)
        statuses: dict[str, str] = {
            effect.kind: self.target.rules[name].target_status
            for name, effect in profile.effects.items()
            if name in self.target.rules
        }
        undoing = frozenset(effect.kind for effect in profile.effects.values() if effect.sign == 0)
        return SettlementReadback(
            session,
            read.settlement_path,
            parse=lambda data, month: _month_of(read_settlement(data, profile, month)),
            meaning=Meaning(statuses=statuses, undoing=undoing, initial=read.settlement_initial),
            bills=bills,
        )

    def _api(self, session: HttpSession) -> Readback:
        recipe = self.target.recipe
        return ApiReadback(session, recipe.read.api_path, recipe.json_map())

    def _detail(self) -> Readback:
        config, recipe = self.target.config, self.target.recipe
        origin, language = config.target.origin, config.target.language
        return DetailReadback(
            lambda: self.browser().new_context(
                locale=LOCALES.get(language, "en-US"),
                viewport={"width": config.browser.viewport_width, "height": config.browser.viewport_height},
                service_workers="block",
            ),
            form=recipe.login_form(origin),
            account=config.target.readback.account,
            secret=self.target.readback_secret,
            where=PageMap(
                url=origin + recipe.read.detail_path,
                selectors=recipe.read.detail_selectors,
                statuses=recipe.statuses[language],
            ),
        )

    # -- the browser -----------------------------------------------------------------------------

    def browser(self) -> Browser:
        """The browser, started on first use; ``WorldError`` when there is none."""
        if self._browser is None:
            section = self.target.config.browser
            self._playwright = self._stack.enter_context(sync_playwright())
            choice = (
                find_chromium(section.executable, bundled=self._playwright.chromium.executable_path or "")
                if section.executable
                else choose_chromium(self._playwright)
            )
            browser = launch(
                self._playwright,
                choice,
                headless=section.headless,
                origins=(self.target.config.target.origin,),
            )
            self._stack.callback(browser.close)
            self._browser = browser
        return self._browser

    def hands(self) -> BrowserHands:
        """A logged-in page of the service account, the same one while its session lives."""
        if self._hands is None:
            hands = self._new_hands()
            try:
                hands.log_in()
            except BaseException:
                hands.close()
                raise
            self._hands = hands
        return self._hands

    def drop_hands(self) -> None:
        """Close the page, so that the next order starts with a new log-in."""
        hands, self._hands = self._hands, None
        if hands is not None:
            hands.close()

    def _new_hands(self) -> BrowserHands:
        config = self.target.config
        return BrowserHands(
            self._new_tool(),
            form=self.target.recipe.login_form(config.target.origin),
            account=config.target.service.account,
            secret=self.target.service_secret,
        )

    def vision_hands(self) -> VisionHands:
        """A fresh page that a model's points are turned into elements on; not logged in yet."""
        config = self.target.config
        return VisionHands(
            self._new_tool(),
            form=self.target.recipe.login_form(config.target.origin),
            account=config.target.service.account,
            secret=self.target.service_secret,
        )

    def _new_tool(self) -> BrowserTool:
        config, section = self.target.config, self.target.config.browser
        return BrowserTool.open(
            self.browser(),
            self.target.recipe.site_rules(config.target.origin),
            clock=SystemClock(),
            viewport=(section.viewport_width, section.viewport_height),
            locale=LOCALES.get(config.target.language, "en-US"),
        )

    def watched_pages(self, count: int) -> tuple[BrowserTool, ...]:
        """Record-only pages of one session of the service account, for a loop that isn't ours."""
        config, recipe = self.target.config, self.target.recipe
        rules = recipe.site_rules(config.target.origin)
        first = BrowserTool.open(
            self.browser(),
            rules,
            clock=SystemClock(),
            viewport=(config.browser.viewport_width, config.browser.viewport_height),
            locale=LOCALES.get(config.target.language, "en-US"),
            mode="record_only",
        )
        self._stack.callback(first.close)
        form = recipe.login_form(config.target.origin)
        first.login(form, config.target.service.account, self.target.service_secret[:])
        context = first.page.context
        others = [
            BrowserTool(
                context.new_page(), rules, clock=SystemClock(), account=first.account, mode="record_only"
            )
            for _ in range(count - 1)
        ]
        return (first, *others)

    def setting(self, goal: str, *, agent: str = AGENT) -> Setting:
        """What ``run.started`` says."""
        section = self.target.config.browser
        screen = not SCREENS.isdisjoint(self.target.config.tools.ladder) or not self._own_model
        return Setting(
            agent=agent,
            goal=goal,
            browser=f"chromium {self.browser().version}" if screen else "",
            viewport_width=section.viewport_width,
            viewport_height=section.viewport_height,
            config_sha256=digest(self.target.config),
        )


def _month_of(file: SettlementFile) -> SettlementMonth:
    """The importer's file as the readback needs it."""
    refused = (f"line {row.line} was refused: {row.reason}" for row in file.refused)
    return SettlementMonth(
        bookings=[
            Booking(
                bill_id=line.bill_id,
                kind=line.kind,
                amount_minor=line.amount_minor,
                currency=line.currency,
                counterparty=line.counterparty,
                account=line.account,
            )
            for line in file.lines
            if line.booked
        ],
        doubts=(*(finding.what for finding in file.findings), *refused),
    )
