#!/usr/bin/env python3
"""SQLite in a file, as a driver of Assay: exec:./sqlite_driver.py?p.path=FILE"""
import json, sqlite3
from assay_driver import Driver, serve

class Sqlite(Driver):
    name, version, in_flight, scan_order = "sqlite-python", sqlite3.sqlite_version, 64, "key"
    durability = "a commit survives kill -9, not a power cut: synchronous is normal"

    def open(self, options, worker):
        self.db = sqlite3.connect(options.get("path", "driver.db"), timeout=30, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = wal")
        self.db.execute("PRAGMA synchronous = normal")
        self.db.execute("CREATE TABLE IF NOT EXISTS r (t, k, v, PRIMARY KEY (t, k)) WITHOUT ROWID")

    def clear(self):
        self.db.execute("DELETE FROM r")

    def read(self, table, key, fields):
        row = self.db.execute("SELECT v FROM r WHERE t = ? AND k = ?", (table, key)).fetchone()
        return row and pick(row[0], fields)

    def insert(self, table, key, values):
        self.begin()
        text = json.dumps({name: value.decode("latin-1") for name, value in values.items()})
        self.db.execute("INSERT OR REPLACE INTO r VALUES (?, ?, ?)", (table, key, text))

    def update(self, table, key, values):
        self.begin()
        record = self.read(table, key, None)
        return False if record is None else self.insert(table, key, {**record, **values})

    def delete(self, table, key):
        self.begin()
        return self.db.execute("DELETE FROM r WHERE t = ? AND k = ?", (table, key)).rowcount > 0

    def scan(self, table, key, limit, fields):
        query = "SELECT v FROM r WHERE t = ? AND k >= ? ORDER BY k LIMIT ?"
        return [pick(row[0], fields) for row in self.db.execute(query, (table, key, limit))]

    def begin(self):
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")

    def commit(self):
        if self.db.in_transaction:
            self.db.execute("COMMIT")

def pick(text, fields):
    record = json.loads(text)
    return {name: record[name].encode("latin-1") for name in fields or record if name in record}

serve(Sqlite)
