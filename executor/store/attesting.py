"""Carrying checkpoints out of the house: to witnesses, and to a time-stamping authority.

Rules: nothing here is on the way of an append; an authority that is away is a ``WorldError`` of this call alone and
its word is recorded when it comes. A witness that has seen more than the record holds, or something else, is an
``IntegrityError``: the record was set back or rewritten.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import httpx
from rfc3161_client import HashAlgorithm, TimeStampRequest, TimestampRequestBuilder, decode_timestamp_response
from sqlalchemy import func, select

from domain import notes
from domain.errors import IntegrityError, WorldError
from executor.store import schema
from executor.store.signing import keep_attestation
from executor.store.tree import derive_consistency
from executor.store.witness import SIZE_TYPE, format_request

if TYPE_CHECKING:
    from domain.ids import TenantId
    from domain.ports import Clock
    from executor.store.log import RecordLog

TIMEOUT_S: Final = 30.0
_REFUSAL_BYTES: Final = 256
"""A refusal is short: a status and a few words."""
_TRIES: Final = 2
"""The witness names its last size in the first answer; the second request starts from there."""


def submit_to_witness(
    log: RecordLog, tenant: TenantId, note: str, *, url: str, witness: notes.VerifierKey, clock: Clock
) -> str:
    """The witness's cosignature line for a checkpoint, checked and kept.

    Raises ``IntegrityError`` when the witness knows a longer or another log, ``WorldError`` when it can't be asked.
    """
    checkpoint = notes.parse_checkpoint(notes.split_note(note)[0])
    where = f"log of {tenant}"
    old = _last_witnessed(log, tenant, witness.name)
    for _ in range(_TRIES):
        proof = derive_consistency(log, tenant, old, checkpoint.size)
        answer = _post(f"{url.rstrip('/')}/add-checkpoint", format_request(old, proof, note))
        if answer.status_code != HTTPStatus.CONFLICT:
            break
        if answer.headers.get("content-type", "").partition(";")[0] != SIZE_TYPE:
            raise WorldError(f"witness {witness.name} gave no size", remedy="check its URL")
        seen = int(answer.text)
        if seen > checkpoint.size:
            what = f"witness {witness.name} has seen {seen} events, this record has {checkpoint.size}: an older copy"
            raise IntegrityError(what, where=where, remedy="find where the newer record went")
        if seen == checkpoint.size == old:
            raise IntegrityError(f"witness {witness.name} has seen another log of {seen} events", where=where)
        old = seen
    if answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY:
        what = f"witness {witness.name} refuses: this log does not continue the one it has seen"
        raise IntegrityError(what, where=where)
    if answer.status_code != HTTPStatus.OK:
        raise WorldError(
            f"witness {witness.name} answered {answer.status_code}",
            remedy="check that it knows this log's key",
        )
    line = answer.text
    notes.open_note(note + line, [witness], where=f"cosignature of {witness.name}")
    keep_attestation(
        log,
        tenant,
        checkpoint.size,
        kind="cosignature",
        signer=witness.name,
        content=line.encode(),
        now_us=clock.now_us(),
    )
    return line


def timestamp_checkpoint(log: RecordLog, tenant: TenantId, note: str, *, url: str, clock: Clock) -> bytes:
    """An RFC 3161 response over the checkpoint's text, checked for what was asked and kept.

    Whether the authority is to be believed is the verifier's question, who brings its certificate.
    """
    text = notes.split_note(note)[0]
    request = (
        TimestampRequestBuilder()
        .data(text.encode())
        .hash_algorithm(HashAlgorithm.SHA256)
        .nonce(nonce=True)
        .build()
    )
    answer = _post(url, request.as_bytes(), media_type="application/timestamp-query")
    if answer.status_code != HTTPStatus.OK:
        raise WorldError(f"the time-stamping authority answered {answer.status_code}", remedy="check its URL")
    _require_answer(answer.content, request, where=f"log of {tenant}")
    checkpoint = notes.parse_checkpoint(text)
    keep_attestation(
        log,
        tenant,
        checkpoint.size,
        kind="rfc3161",
        signer=httpx.URL(url).host,
        content=answer.content,
        now_us=clock.now_us(),
    )
    return answer.content


def _require_answer(content: bytes, request: TimeStampRequest, *, where: str) -> None:
    """Raise unless ``content`` is a time stamp for this very request.

    A refusal holds no imprint and an old answer another nonce. Authorities that send their chain often order it
    against DER, which the strict parser refuses and ``openssl ts`` accepts; such an answer is kept when it holds the
    imprint and the nonce.
    """
    imprint, nonce = request.message_imprint.message, request.nonce
    try:
        token = decode_timestamp_response(content).tst_info
        same = token.message_imprint.message == imprint and token.nonce == nonce
    except ValueError:
        wanted = (nonce or 0).to_bytes(((nonce or 0).bit_length() + 7) // 8, "big")
        same = imprint in content and wanted in content
        if imprint not in content and len(content) < _REFUSAL_BYTES:
            raise WorldError(
                "the time-stamping authority refused", remedy="check its URL and policy"
            ) from None
    if not same:
        raise IntegrityError("the time stamp is not for this checkpoint", where=where, remedy="ask again")


def _last_witnessed(log: RecordLog, tenant: TenantId, witness: str) -> int:
    table = schema.attestation
    rows = log.fetch(
        select(func.max(table.c.size)).where(
            table.c.tenant == tenant, table.c.kind == "cosignature", table.c.signer == witness
        )
    )
    return rows[0][0] or 0


def _post(url: str, content: bytes, media_type: str = "text/plain") -> httpx.Response:
    try:
        return httpx.post(url, content=content, headers={"content-type": media_type}, timeout=TIMEOUT_S)
    except httpx.HTTPError as error:
        host = httpx.URL(url).host
        raise WorldError(
            f"{host} can't be reached: {type(error).__name__}", remedy="try again later"
        ) from error
