#!/usr/bin/env python3
"""Records in a dictionary of the driver's process, to see what the protocol itself costs."""
from assay_driver import Driver, serve

class Dictionary(Driver):
    name, in_flight, workers, persistent = "dictionary", 64, 1, False
    durability = "none: everything ends with the process"

    def open(self, options, worker):
        self.records = {}

    def clear(self):
        self.records.clear()

    def read(self, table, key, fields):
        record = self.records.get((table, key))
        return record and {name: record[name] for name in fields or record}

    def insert(self, table, key, values):
        self.records[table, key] = values

    def update(self, table, key, values):
        record = self.records.get((table, key))
        return False if record is None else record.update(values)

    def delete(self, table, key):
        return self.records.pop((table, key), None) is not None

serve(Dictionary)
