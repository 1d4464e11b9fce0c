"""The guards' script for the browser: three files, one closure, one configuration. No transport here.

The script runs in a world of its own in every frame (X1): the page's scripts share the document with it, but
neither its variables nor its listeners.
"""

from __future__ import annotations

import functools
from importlib.resources import files

import orjson

from executor.tools.base import SiteRules

WORLD = "proofreel"
PARTS = ("observe.js", "gate.js", "screens.js")
PRIVATE_NAMES = r"csrf|xsrf|token|secret|passw|pwd|passphrase|otp$|^pin$|cvv|session|nonce|api[-_]?key"
"""Field and query names whose values are never recorded."""
VERBS = (
    "确定|确认|是|同意|提交|删除|继续|支付|退款|ok|yes|confirm|delete|submit|continue|pay|refund|approve"
    "|はい|削除|確認|確定|送信|返金|확인|예|삭제|제출|환불|승인"
)
CANCELS = (
    "取消|否|关闭|返回|再想想|cancel|no|close|back|keep|いいえ|キャンセル|戻る|閉じる|취소|아니|뒤로|닫기"
)
"""First words of the buttons of a confirmation screen, in Chinese, English, Japanese and Korean."""


@functools.cache
def _source() -> str:
    folder = files("executor.guards")
    return "\n".join((folder / part).read_text(encoding="utf-8") for part in PARTS)


def build(rules: SiteRules, *, binding: str, mark: str) -> str:
    """The script for one page.

    Args:
        rules: what is secret, volatile and worth reading on this site.
        binding: name of the function by which the script reports.
        mark: type of the event by which an element is handed into the script's world; unguessable.
    """
    config = {
        "binding": binding,
        "mark": mark,
        "secretWords": PRIVATE_NAMES,
        "secretFields": list(rules.secret_fields),
        "volatile": list(rules.volatile_selectors),
        "mask": list(rules.mask_selectors),
        "account": rules.account_selector,
        "toast": rules.toast_selector,
        "loginPath": rules.login_path,
        "permissionWords": list(rules.permission_words),
        "verbs": VERBS,
        "cancels": CANCELS,
    }
    text = orjson.dumps(config).decode()
    return f"(() => {{\nif (globalThis.__proofreel) return;\nconst C = {text};\n{_source()}\n}})();"


def call(function: str, *args: object) -> str:
    """An expression that calls the script; arguments travel as JSON."""
    return f"__proofreel.{function}({', '.join(orjson.dumps(a).decode() for a in args)})"
