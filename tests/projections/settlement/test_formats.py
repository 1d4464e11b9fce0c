"""Bank and wallet files are read whole by their ready profiles, hostile ones are refused."""

from __future__ import annotations

import io
import os
import zipfile
from datetime import datetime
from pathlib import Path

import openpyxl
import pytest

from domain.errors import ConfigError
from projections.settlement.importer import read_settlement
from projections.settlement.lines import SettlementFile
from projections.settlement.profiles import load_profile, ready_profiles

DATA = Path(__file__).parents[3] / "data" / "settlement"
SAMPLES = (
    Path(os.environ.get("PROOFREEL_SAMPLES", Path(__file__).parents[4] / "shared" / "samples")) / "settlement"
)
"""Public files of other projects, read where they are and never copied."""

MT940 = """:20:STMT1
:25:10020030/1234567
:28C:5/1
:60F:C261101EUR1000,00
:61:2611281128D800,NTRFORDER-1//55555
:86:008?00DAUERAUFTRAG?20Miete?32MUELLER
:61:2611281128C300,50NTRFNONREF//NONREF
:86:051?00UEBERWEISUNG
:61:2611291129RC10,00NTRFORDER-2
:62F:C261130EUR490,50
-
"""
BAI2 = """01,121140399,121140399,261130,0754,1,,,2/
02,121140399,121140399,1,261130,,EUR,2/
03,1234567890,JPY,010,900,,/
88,100,600,1,/
16,142,600,V,261130,,BANK1,ORDER-1,WITH A
88, LONG TEXT/
16,475,250,,BANK2,ORDER-2/
16,890,,,,/
49,2350,7/
98,2350,1,9/
99,2350,1,11/
"""
CAMT = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<Stmt><Id>1</Id>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">100.00</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">115.00</Amt><CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Ntry><Amt Ccy="EUR">30.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
 <BookgDt><Dt>2026-11-28</Dt></BookgDt>
 <NtryDtls><Btch><NbOfTxs>2</NbOfTxs></Btch>
  <TxDtls><Refs><EndToEndId>ORDER-1</EndToEndId></Refs><Amt Ccy="EUR">10.00</Amt>
   <RltdPties><Dbtr><Pty><Nm>Northwind</Nm></Pty></Dbtr></RltdPties></TxDtls>
  <TxDtls><Refs><EndToEndId>ORDER-2</EndToEndId></Refs><Amt Ccy="EUR">20.00</Amt></TxDtls>
 </NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">15.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
 <NtryDtls><TxDtls><Refs><EndToEndId>B</EndToEndId></Refs><Amt Ccy="EUR">15.00</Amt></TxDtls>
 <TxDtls><Refs><EndToEndId>C</EndToEndId></Refs><Amt Ccy="EUR">15.00</Amt></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">99.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>PDNG</Cd></Sts></Ntry>
</Stmt></BkToCstmrStmt></Document>
"""
BOMB = """<?xml version="1.0"?>
<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<Document><BkToCstmrStmt><Stmt><Ntry><Amt Ccy="EUR">&b;</Amt></Ntry></Stmt></BkToCstmrStmt></Document>
"""
EXTERNAL = """<?xml version="1.0"?>
<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>
<Document><BkToCstmrStmt><Stmt><Ntry><Amt Ccy="EUR">&x;</Amt></Ntry></Stmt></BkToCstmrStmt></Document>
"""
STRIPE = """balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category,source_id,payment_metadata\
[order_id]
txn_1,2026-11-28 10:00:00,jpy,1200,40,1160,charge,ch_1,ORDER-1
txn_2,2026-11-28 10:00:01,usd,-12.00,0.00,-12.00,refund,re_1,ORDER-2
txn_3,2026-11-28 10:00:02,usd,-0.30,0.00,-0.30,fee,fee_1,
"""


def _read(text: str | bytes, profile: str) -> SettlementFile:
    data = text.encode() if isinstance(text, str) else text
    file = read_settlement(data, load_profile(profile))
    assert file.counts.balanced
    return file


def test_every_ready_profile_loads_under_its_own_name() -> None:
    names = ready_profiles()
    assert [load_profile(name).name for name in names] == list(names)
    assert {"portal", "generic-csv", "generic-xlsx", "mt940", "camt", "bai2", "stripe-balance"} <= set(names)


def test_an_mt940_statement_gives_a_line_for_each_entry_and_balances() -> None:
    file = _read(MT940, "mt940")
    assert [(x.bill_id, x.amount_minor, x.currency, x.line) for x in file.lines] == [
        ("ORDER-1", -80_000, "EUR", 5),
        ("", 30_050, "EUR", 7),
        ("ORDER-2", -1_000, "EUR", 9),
    ]
    assert file.findings == ()


def test_an_mt940_balance_that_is_off_is_a_finding() -> None:
    file = _read(MT940.replace("EUR490,50", "EUR491,50"), "mt940")
    assert [(f.code, f.declared, f.found) for f in file.findings] == [("total_mismatch", -50_850, -50_950)]


def test_an_mt940_entry_that_cannot_be_read_is_refused_and_not_lost() -> None:
    file = _read(MT940.replace(":61:2611291129RC10,00NTRFORDER-2", ":61:garbage"), "mt940")
    assert len(file.lines) + len(file.refused) == 3
    assert "field 61" in file.refused[0].reason


def test_a_bai2_file_is_read_with_continuations_funds_types_and_its_controls() -> None:
    file = _read(BAI2, "bai2")
    assert [(x.bill_id, x.line_id, x.amount_minor, x.currency) for x in file.lines] == [
        ("ORDER-1", "BANK1", 600, "JPY"),
        ("ORDER-2", "BANK2", -250, "JPY"),
    ]
    assert file.findings == ()
    wrong = _read(BAI2.replace("49,2350,7", "49,2351,7").replace("1,11/", "1,12/"), "bai2")
    assert [f.code for f in wrong.findings] == ["control_mismatch", "control_mismatch"]


def test_a_camt_batch_is_split_only_when_its_parts_sum_to_it() -> None:
    file = _read(CAMT, "camt")
    assert [(x.bill_id, x.amount_minor, x.booked, x.line) for x in file.lines] == [
        ("ORDER-1", 1_000, True, 6),
        ("ORDER-2", 2_000, True, 6),
        ("", -1_500, True, 13),
        ("", 9_900, False, 16),
    ]
    assert file.lines[0].counterparty == "Northwind"
    assert file.totals == {"EUR": 1_500}
    assert file.findings == ()


@pytest.mark.parametrize("text", [BOMB, EXTERNAL, "<Document", "not xml"])
def test_xml_that_cannot_be_trusted_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a camt document"):
        _read(text, "camt")


def test_a_stripe_report_keeps_yen_whole_and_codes_upper_case() -> None:
    file = _read(STRIPE, "stripe-balance")
    assert [(x.bill_id, x.kind, x.amount_minor, x.currency) for x in file.lines] == [
        ("ORDER-1", "process", 1_200, "JPY"),
        ("ORDER-2", "refund", -1_200, "USD"),
        ("", "fee", -30, "USD"),
    ]


def _workbook(rows: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in rows:
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_a_workbook_gives_exact_amounts_and_refuses_ids_that_lost_digits() -> None:
    file = _read(
        _workbook(
            [
                ["A title"],
                ["bill id", "amount", "currency", "date", "type"],
                [
                    "B1",
                    28.16,
                    "CNY",
                    datetime(2026, 11, 28, 10),  # noqa: DTZ001 - a workbook has no zones
                    "payment",
                ],
                [20261128000, -3, "JPY", "2026-11-28", "refund"],
                [4.2000009252021e27, 1, "CNY", "2026-11-28", "payment"],
                ["Total", 1],
            ]
        ),
        "generic-xlsx",
    )
    assert [(x.bill_id, x.kind, x.amount_minor, x.line) for x in file.lines] == [
        ("B1", "process", 2_816, 3),
        ("20261128000", "refund", -3, 4),
    ]
    assert [(r.line, r.column) for r in file.refused] == [(5, "bill id")]
    assert "spreadsheet" in file.refused[0].reason


def test_a_workbook_that_is_a_bomb_or_none_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 20_000_000)
    with pytest.raises(ConfigError, match="unpacks to"):
        _read(out.getvalue(), "generic-xlsx")
    with pytest.raises(ConfigError, match="not an XLSX"):
        _read(b"bill id,amount", "generic-xlsx")


def test_a_wallets_neutral_movements_are_lines_in_no_total() -> None:
    head = "微信支付账单明细\n共3笔记录\n----\n交易时间,交易类型,交易对方,收/支,金额(元),当前状态,交易单号,商户单号\n"
    rows = (
        '2026-11-28 10:00:00,商户消费,甲,支出,¥28.16,支付成功,"100\t","S1\t"\n'
        "2026-11-28 10:00:01,退款,甲,收入,¥8.16,已退款,101,S1\n"
        "2026-11-28 10:00:02,零钱提现,乙,/,¥100.00,提现已到账,102,/\n"
    )
    file = _read(head + rows, "wechat-personal")
    assert [(x.bill_id, x.kind, x.amount_minor, x.booked) for x in file.lines] == [
        ("S1", "process", -2_816, True),
        ("S1", "refund", 816, True),
        ("", "other", 10_000, False),
    ]
    assert file.totals == {"CNY": -2_000}
    assert file.findings == ()


def test_a_merchant_bill_takes_refunds_from_their_own_column() -> None:
    text = (
        "交易时间,商户订单号,用户标识,交易状态,货币种类,应结订单金额,退款金额\n"
        "`2026-11-28 10:00:00,`S1,`u,`SUCCESS,`CNY,`5.00,`0.00\n"
        "`2026-11-28 11:00:00,`S1,`u,`REFUND,`CNY,`0.00,`2.00\n"
        "总交易单数,应结订单总金额,退款总金额\n`2,`5.00,`2.00,\n"
    )
    file = _read(text, "wechat-merchant")
    assert [(x.kind, x.amount_minor) for x in file.lines] == [("process", 500), ("refund", -200)]
    assert file.findings == ()


def test_public_files_of_other_projects_are_read_whole() -> None:
    wanted = {
        "cn/wechat-merchant-v3-all.csv": ("wechat-merchant", 3, 0, {"CNY": 3}),
        "cn/wechat-personal.csv": ("wechat-personal", 27, 0, {"CNY": -287_604}),
        "cn/wechat-personal.xlsx": ("wechat-personal-xlsx", 27, 0, {"CNY": -287_604}),
        "cn/alipay-personal.gbk.csv": ("alipay-personal", 10, 0, {"CNY": 22_201_686}),
        "camt/camt053.v2.multi.statement.xml": ("camt", 2, 0, {"EUR": 185}),
        "camt/camt053.v4.xml": ("camt", 1, 0, {"EUR": 885}),
        "bai2/nwb_example.bai2": ("bai2", 5, 0, {"GBP": -2_676}),
        "bai2/svb_us_example.bai2": ("bai2", 2, 0, {"USD": 1_395_996}),
        "mt940/cmxl-mt940.sta": ("mt940", 16, 0, {"DEM": 8_730, "EUR": 220_000, "PLN": 1_004_000}),
        "mt940/betterplace-empty_entry_date.sta": ("mt940", 0, 1, {}),
    }
    for name, (profile, accepted, refused, totals) in wanted.items():
        path = SAMPLES / name
        if path.exists():
            file = _read(path.read_bytes(), profile)
            assert (file.counts.accepted, file.counts.refused, file.totals) == (accepted, refused, totals), (
                name
            )
            assert not [f for f in file.findings if f.code == "control_mismatch"], name
