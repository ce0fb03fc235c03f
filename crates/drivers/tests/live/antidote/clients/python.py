"""The client that is published on PyPI, against the server at the port given."""

import sys

from antidotedb import AntidoteClient, Counter, Key, Map, Register, Set

client = AntidoteClient("127.0.0.1", int(sys.argv[1]))


def value(transaction, *key):
    return transaction.read_objects([Key(*key)])[0]


counter = Key("python", "counter", "COUNTER")
names = Key("python", "set", "ORSET")
register = Key("python", "register", "LWWREG")

static = client.start_static_transaction()
assert static.update_objects([
    Counter.IncOp(counter, 5), Set.AddOp(names, [b"a", b"b"]), Register.AssignOp(register, b"x"),
])
assert static.update_objects(Set.RemoveOp(names, [b"a"]))
assert value(static, "python", "counter", "COUNTER").value() == 5
assert list(value(static, "python", "set", "ORSET").values()) == [b"b"]
assert value(static, "python", "register", "LWWREG").value() == b"x"
assert value(static, "python", "never", "LWWREG").value() == b""

# What our driver wrote; then what it is to read.
ours = value(static, "assay", "usertable/user1", "GMAP").values()
assert {name: entry.value() for name, entry in ours.items()} == {
    b"field0": b"from", b"field1": b"us",
}, ours
assert static.update_objects(Map.UpdateOp(Key("assay", "usertable/user2", "GMAP"), [
    Register.AssignOp(b"field0", b"from", "LWWREG"),
    Register.AssignOp(b"field1", b"them", "LWWREG"),
]))

one, other = client.start_transaction(), client.start_transaction()
assert one.update_objects(Register.AssignOp(register, b"one"))
assert value(one, "python", "register", "LWWREG").value() == b"one"
assert value(other, "python", "register", "LWWREG").value() == b"x"
assert other.update_objects(Register.AssignOp(register, b"other"))
assert one.commit()
assert not other.commit(), "the first to commit wins"
later = client.start_transaction(min_snapshot=client.last_commit)
assert value(later, "python", "register", "LWWREG").value() == b"one"
assert later.commit()
client.close()
print("all is as it should be")
