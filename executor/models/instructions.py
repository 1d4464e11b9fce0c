"""Text on a page that speaks to the model instead of to a person: found, recorded, and given no power.

Rules: this is evidence and no defence; what stops an injected instruction are scope, policy, guards and the request
hold, which don't read the page's prose. Phrases after OWASP's LLM01 examples, in the languages of our screens.
"""

from __future__ import annotations

import re

MOST_FOUND = 5
MOST_SHOWN = 200
_ADDRESSED = re.compile(
    r"\b(ignore|disregard|forget|override)\b.{0,40}\b(instruction|prompt|rule|task|goal|policy|guard)"
    r"|\b(system|developer|assistant|admin(istrator)?)\s*(prompt|message|note|override|mode)?\s*[:>\]]"
    r"|\b(you are|you're) (now )?(an?|the) (ai|assistant|agent|model|bot)\b"
    r"|\b(dear |attention,? |note to )?(ai|llm|agent|assistant|chatgpt|claude|gemini|copilot)\b\s*[,:!]"
    r"|\b(new|updated|real) (instruction|task|goal|objective)s?\b"
    r"|</?(system|instructions?|tool_result|user)>|\[/?INST\]|<\|im_(start|end)\|>"
    r"|\b(before|instead of) (you )?(continu|finish|submitt)"
    r"|(忽略|无视|忘记).{0,20}(指令|指示|提示|规则|任务)|(系统|管理员)(提示|消息|指令)\s*[:：]|(你现在是|作为)\s*(AI|人工智能|智能体)"
    r"|(指示|命令|ルール|タスク).{0,12}(無視|忘れ)|システム(プロンプト|メッセージ)\s*[:：]"
    r"|(지시|명령|규칙|작업).{0,12}(무시|잊)|시스템\s*(프롬프트|메시지)\s*[:：]",
    re.IGNORECASE,
)


def page_instructions(text: str) -> tuple[str, ...]:
    """Lines of the page's text that address the model, shortened; at most five."""
    found = []
    for line in text.splitlines():
        words = " ".join(line.split())
        if words and _ADDRESSED.search(words):
            found.append(words[:MOST_SHOWN])
            if len(found) == MOST_FOUND:
                break
    return tuple(found)
