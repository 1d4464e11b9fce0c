CREATE TABLE IF NOT EXISTS accounts (
    name TEXT PRIMARY KEY, tenant TEXT NOT NULL, role TEXT NOT NULL, display TEXT NOT NULL,
    salt BLOB NOT NULL, hash BLOB NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS sessions (
    token_hash TEXT PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts (name),
    csrf TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS counterparties (
    id TEXT PRIMARY KEY, name TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS bills (
    id TEXT PRIMARY KEY, tenant TEXT NOT NULL, counterparty_id TEXT NOT NULL, counterparty TEXT NOT NULL,
    month TEXT NOT NULL, amount_minor INTEGER NOT NULL, currency TEXT NOT NULL, status TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_by TEXT NOT NULL, updated_at TEXT NOT NULL,
    handled_counterparty_id TEXT, handled_amount_minor INTEGER, handled_currency TEXT, handled_month TEXT
);
CREATE INDEX IF NOT EXISTS bills_newest ON bills (tenant, created_at DESC, id DESC);
CREATE TABLE IF NOT EXISTS history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, bill_id TEXT NOT NULL REFERENCES bills (id), at TEXT NOT NULL,
    account TEXT NOT NULL, action TEXT NOT NULL, from_status TEXT NOT NULL, to_status TEXT NOT NULL,
    source TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS held (
    bill_id TEXT PRIMARY KEY REFERENCES bills (id), account TEXT NOT NULL, note TEXT NOT NULL, at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS hold_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, bill_id TEXT NOT NULL REFERENCES bills (id), at TEXT NOT NULL,
    account TEXT NOT NULL, done TEXT NOT NULL, note TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS hold_log_bill ON hold_log (bill_id, seq);
CREATE INDEX IF NOT EXISTS history_bill ON history (bill_id, seq);
CREATE TABLE IF NOT EXISTS ledger (
    line INTEGER PRIMARY KEY AUTOINCREMENT, bill_id TEXT NOT NULL REFERENCES bills (id), tenant TEXT NOT NULL,
    counterparty_id TEXT NOT NULL, counterparty TEXT NOT NULL, month TEXT NOT NULL, kind TEXT NOT NULL,
    amount_minor INTEGER NOT NULL, currency TEXT NOT NULL, at TEXT NOT NULL, account TEXT NOT NULL,
    source TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS ledger_month ON ledger (tenant, month, line);
CREATE TABLE IF NOT EXISTS versions (
    tenant TEXT PRIMARY KEY, version INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS faults (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, bill_id TEXT NOT NULL, params TEXT NOT NULL,
    remaining INTEGER, skip INTEGER NOT NULL DEFAULT 0, triggered INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS page_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, bill_id TEXT NOT NULL, params TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, due_at_ms INTEGER NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL,
    done_at TEXT
);
CREATE TABLE IF NOT EXISTS posts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, account TEXT NOT NULL, path TEXT NOT NULL,
    fields TEXT NOT NULL, status_code INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS consents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, account TEXT NOT NULL, tenant TEXT NOT NULL,
    notice TEXT NOT NULL
);
